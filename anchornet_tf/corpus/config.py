"""The configurations of the programs. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os

from anchornet_tf.models import presets
from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike
# Cells. Chosen on the training pictures of parts_world, where 1 and 2 are nearly as good.
BLUR = 1.5


@dataclasses.dataclass(frozen=True)
class DescribeConfig:
    """Which images to describe, and what to keep of them.

    The help text of each field describes it; `python -m anchornet_tf.corpus.describe --help` shows
    them all.

    Raises:
        ValueError: If a value is out of its range.
    """

    images: Path = option(
        dataclasses.MISSING,
        "The images: a folder, a pattern such as 'photos/**/*.jpg', a .csv file with a column "
        "`path`, or a .txt file with one path per line.",
        required=True,
    )
    output: Path = option("corpus", "Folder of the corpus; the same command continues it.")
    model: Path = option(
        presets.DEFAULT,
        "Name of a preset, folder of an AnchorNet, or what export.saved_model wrote: a version, or "
        "the folder of all, of which the newest counts.",
    )
    peaks: int | None = option(
        128, "Keep this many anchors of each image, those that fire strongest; 0 for all.", none=0
    )
    dense: bool = option(
        False, "Also keep the descriptors of all cells, which corpus.match needs (200 KB an image)."
    )
    shard_size: int = option(64, "Images per file. A stopped run repeats at most these.")
    batch_size: int = option(8, "Images per pass of the network.")
    image_size: int = option(224, "Images are squashed to squares of this many pixels per side.")
    blur: float = option(
        BLUR,
        "Smooth the descriptors of places by a Gaussian of this many cells, which finds parts more "
        "often; those of --dense stay as they are. 0 for none.",
    )
    max_pixels: int | None = option(
        None,
        "Images of more pixels are not decoded; 0 for 67,108,864, or what the environment variable "
        "ANCHORNET_MAX_PIXELS says.",
        none=0,
    )
    limit: int | None = option(None, "Take only the first so many images; 0 for all.", none=0)

    def __post_init__(self):
        _at_least(self, peaks=1, shard_size=1, batch_size=1, image_size=32, limit=1, max_pixels=1)
        if not 0 <= self.blur < float("inf"):
            raise ValueError(f"`blur` must be at least 0. Received: {self.blur}")


@dataclasses.dataclass(frozen=True)
class MatchConfig:
    """Which pairs of a corpus to match.

    Raises:
        ValueError: If a value is out of its range.
    """

    pairs: Path = option(
        dataclasses.MISSING,
        "A .csv file with columns source and target, keys of the corpus. With columns x and y too, "
        "each line is a point of the source that is carried; without, flows are written.",
        required=True,
    )
    corpus: Path = option("corpus", "Folder that corpus.describe wrote with --dense.")
    output: Path = option("matches", "Folder of the results; the same command continues it.")
    matcher: str = option(
        "hough", "How to compare: a matcher that works on a grid.", choices=("hough", "nearest")
    )

    def __post_init__(self):
        if not os.fspath(self.pairs).endswith(".csv"):
            raise ValueError(f"Expected --pairs to be a .csv file. Received: {self.pairs}")


@dataclasses.dataclass(frozen=True)
class IndexConfig:
    """How to index a corpus.

    Raises:
        ValueError: If a value is out of its range.
    """

    corpus: Path = option("corpus", "Folder that corpus.describe wrote.")
    output: Path | None = option(None, "Folder of the index; by default CORPUS/index.")
    kind: str = option(
        "auto",
        "flat compares with everything; ivfpq looks into a few of many lists, at compressed "
        "descriptors. auto takes flat up to 200,000 places.",
        choices=("auto", "flat", "ivfpq"),
    )
    seed: int = option(0, "Chooses what the lists of ivfpq are learnt from.")

    def __post_init__(self):
        _at_least(self, seed=0)


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """What to search an index for.

    Raises:
        ValueError: If a value is out of its range, or not one of a point and a filter is asked for.
    """

    index: Path = option("corpus/index", "Folder that corpus.index wrote.")
    image: Path | None = option(None, "The image that shows the part.")
    point: tuple[float, ...] | None = option(
        None, "X,Y: where the part is in the image, in pixels from its upper left corner."
    )
    filter: str | None = option(
        None, "CLASS:NUMBER, such as bird:12: all images by how strongly this filter fires."
    )
    top: int = option(20, "How many images to find.")
    output: Path = option("found", "Folder of found.json and found.png.")

    def __post_init__(self):
        _at_least(self, top=1)
        by_point = self.image is not None and self.point is not None
        if by_point == (self.filter is not None) or (self.image is None) != (self.point is None):
            raise ValueError(
                "Expected --image with --point=X,Y, or --filter=CLASS:NUMBER. Received: "
                f"image={self.image}, point={self.point}, filter={self.filter}"
            )
        if self.point is not None and len(self.point) != 2:
            raise ValueError(f"Expected --point=X,Y. Received: {self.point}")
        if self.filter is not None and not self.filter.rpartition(":")[2].isdigit():
            raise ValueError(
                f"Expected --filter=CLASS:NUMBER, such as bird:12. Received: {self.filter}"
            )


@dataclasses.dataclass(frozen=True)
class EqualizersConfig:
    """What the equalizers of a model are fitted on.

    Raises:
        ValueError: If a value is out of its range.
    """

    data: str = option(
        dataclasses.MISSING,
        "Images with labels: folder:DIR, manifest:FILE.csv, tfds:NAME or parts_world. Every class "
        "of the model must occur.",
        required=True,
    )
    output: Path = option("equalized", "Folder of the model to write; it must not exist.")
    model: Path = option(presets.DEFAULT, "Name of a preset, or folder of an AnchorNet.")
    image_size: int = option(224, "Images are squashed to squares of this many pixels per side.")
    batch_size: int = option(16, "Images per pass of the network.")
    stride: int = option(3, "Every so many-th row and column of the maps counts.")
    limit: int | None = option(None, "Take only so many images of each class; 0 for all.", none=0)

    def __post_init__(self):
        _at_least(self, image_size=32, batch_size=1, stride=1, limit=1)
        if os.path.exists(self.output):
            raise ValueError(f"Expected --output not to exist yet. Received: {self.output}")


def _at_least(config, **least) -> None:
    for name, smallest in least.items():
        value = getattr(config, name)
        if value is not None and value < smallest:
            raise ValueError(f"`{name}` must be at least {smallest}. Received: {value}")
