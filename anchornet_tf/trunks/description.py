"""What a trunk is, as plain data: how it is made, what it wants to see, and which taps it gives."""

import dataclasses
from collections.abc import Callable, Sequence

MOST_TAPS = 4
# Which networks there are to make: see `anchornet_tf.trunks.networks`.
FAMILIES = ("keras_applications", "keras_model", "dinov2", "dinov3")
# What becomes of RGB from 0 to 255: see `anchornet_tf.trunks.preprocessing`.
PREPROCESSINGS = ("none", "caffe", "torch", "tf")

Size = tuple[int | None, int | None]


@dataclasses.dataclass(frozen=True)
class Tap:
    """A layer of the trunk whose activations are used.

    Attributes:
        name: str. What the tap is called.
        layer: str. The layer whose output it is; `"LAYER:input"` for what goes into that layer,
            `"output"` for the output of the network. Of vision transformers, `"block9"` for the
            tokens after the ninth block and `"norm"` for the last ones, normalised.
        stride: int. Pixels of the image per cell.
        channels: int.
    """

    name: str
    layer: str
    stride: int
    channels: int


@dataclasses.dataclass(frozen=True)
class TrunkDescription:
    """A trunk: everything except the values of its weights.

    Attributes:
        name: str.
        family: str. What makes the network, one of `FAMILIES`.
        architecture: dict of JSON values: the arguments of what makes the network.
        taps: one to four `Tap`s, finest first.
        preprocessing: str. One of `PREPROCESSINGS`.
        multiple: int. The sides of what the network sees are rounded to multiples of this.
        input_size: `(height, width)` of a network that sees one size alone; None for any size.
        license: str. The terms of its published weights.
        source: str. Where its published weights come from.

    Raises:
        ValueError: If the taps are too many, out of order or of one name, or a word is unknown.
    """

    name: str
    family: str
    architecture: dict
    taps: tuple[Tap, ...]
    preprocessing: str = "none"
    multiple: int = 1
    input_size: tuple[int, int] | None = None
    license: str = "that of the network's makers"
    source: str = "a file of yours"

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(
                f"`family` must be one of {', '.join(FAMILIES)}. Received: {self.family!r}"
            )
        if self.preprocessing not in PREPROCESSINGS:
            raise ValueError(
                f"`preprocessing` must be one of {', '.join(PREPROCESSINGS)}. "
                f"Received: {self.preprocessing!r}"
            )
        if not 1 <= len(self.taps) <= MOST_TAPS or len(set(self.tap_names)) != len(self.taps):
            raise ValueError(
                f"Expected one to {MOST_TAPS} different taps. "
                f"Received: {', '.join(self.tap_names) or 'none'}"
            )
        if list(self.strides) != sorted(self.strides):
            shown = ", ".join(f"{tap.name} of stride {tap.stride}" for tap in self.taps)
            raise ValueError(f"Expected the finest tap first. Received: {shown}")

    @property
    def tap_names(self) -> tuple[str, ...]:
        """The names of the taps, finest first."""
        return tuple(tap.name for tap in self.taps)

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of the taps, finest first."""
        return tuple(tap.stride for tap in self.taps)

    @property
    def channels(self) -> tuple[int, ...]:
        """The channels of the taps, finest first."""
        return tuple(tap.channels for tap in self.taps)

    def depths(self, dimensions: int) -> tuple[int, ...]:
        """Returns how many channels of each tap are kept where at most `dimensions` are."""
        return tuple(min(dimensions, channels) for channels in self.channels)

    def seen_size(self, height, width, largest: Callable = max):
        """Returns the size that the network sees an image at: rounded to `multiple`.

        This is the only place that rounds. Maps cover the whole image whatever the network saw, so
        that flows stay in pixels of the original.

        Args:
            height: int, None where it is unknown, or a scalar tensor.
            width: As `height`.
            largest: What takes the larger of two of them: `tf.maximum` for tensors.
        """
        if self.input_size is not None:
            return self.input_size
        return tuple(_rounded(side, self.multiple, largest) for side in (height, width))

    def grids(self, height: int | None, width: int | None) -> tuple[Size, ...]:
        """Returns the rows and columns of each tap for images of a size."""
        size = self.seen_size(height, width)
        return tuple(
            tuple(None if side is None else -(-side // stride) for side in size)
            for stride in self.strides
        )

    def to_json(self) -> dict:
        """Returns the description as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> "TrunkDescription":
        """Returns what `to_json` was called on.

        Raises:
            ValueError: If the values are something else.
        """
        try:
            size = values.get("input_size")
            return cls(
                **{
                    **values,
                    "taps": tuple(Tap(**tap) for tap in values["taps"]),
                    "input_size": None if size is None else tuple(size),
                }
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(
                f"Expected the description of a trunk ({error}). Received: {values!r:.200}"
            ) from error


def _rounded(side, multiple: int, largest: Callable):
    """Returns the multiple that is nearest to a side, at least one of them."""
    if side is None or multiple == 1:
        return side
    return largest(1, (2 * side + multiple) // (2 * multiple)) * multiple


def differences(first: TrunkDescription, second: TrunkDescription) -> Sequence[str]:
    """Returns in which numbers of their architectures two trunks of one family differ."""
    names = sorted({*first.architecture, *second.architecture} - {"layer_scale_init_value"})
    return [
        f"{name} {first.architecture.get(name)!r} against {second.architecture.get(name)!r}"
        for name in names
        if first.architecture.get(name) != second.architecture.get(name)
    ]
