"""The configuration of the paper's tables. Needs no TensorFlow: `--help` answers at once."""

import dataclasses
import os

from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike

# The tables that each set of images can fill.
TABLES_OF = {
    "parts_world": (1, 2, 3, 4, 5),
    "pf_willow": (3,),
    "pascal_parts": (1, 2, 4),
    "animal_parts": (5,),
}
QUICK_CLASSES = ("bicycle", "motorbike", "cat", "dog")
_QUICK_PAIRS, _QUICK_IMAGES = 2, 5


@dataclasses.dataclass(frozen=True)
class PaperRun:
    """Which tables to fill, with what, and where to write them.

    The help text of each field describes it; `python -m anchornet_tf.reproduce_paper --help` shows
    them all.
    """

    tables: tuple[str, ...] | None = option(
        None, "Numbers of the paper's tables; by default all that the data can fill."
    )
    data: str = option(
        "parts_world",
        "The images. parts_world is embedded and fills all tables, with drawings in place of "
        "photographs; pf_willow fills table 3, pascal_parts 1, 2 and 4, animal_parts 5.",
        choices=tuple(TABLES_OF),
    )
    data_dir: Path | None = option(
        None, "Folder of the data as its makers publish it; parts_world needs none."
    )
    rows: tuple[str, ...] | None = option(
        None,
        "Some rows, such as none, flowweb, dsp+anchornet or patterns such as 'lom+*'; by default "
        "all. A wrong one lists them.",
    )
    classes: tuple[str, ...] | None = option(
        None, "Only columns of these classes; by default all.", flag="class"
    )
    quick: bool = option(False, "Two pairs per column, few columns: a look in a few minutes.")
    pairs: int | None = option(
        20, "Pairs per column, drawn at random; more go on from fewer. 0 for all.", none=0
    )
    images: int | None = option(
        20,
        "In tables 1 and 2, pairs are of the first so many images of each set, which FlowWeb "
        "aligns; 0 for all.",
        none=0,
    )
    model: Path | None = option(
        None, "Folder of an AnchorNet or name of a preset; by default voc20."
    )
    banks_without_diversity: Path | None = option(
        None, "Folder of <class>.npz banks trained without L_Div (RUN/banks)."
    )
    constellations: Path | None = option(
        None, "Folder of <class>.npz files of `trainers.constellation` (RUN/constellations)."
    )
    num_boxes: int = option(1000, "Box proposals per image, for Proposal Flow.")
    workers: int | None = option(None, "Processes for Proposal Flow; -1 for one per core.", none=-1)
    seed: int = option(0, "Seed of the pairs that are drawn and of the resamples.")
    num_resamples: int = option(
        1000, "Resamples that the intervals come from; 0 for no intervals.", flag="bootstrap"
    )
    resampled: str = option(
        "pairs",
        "What is drawn again for the intervals. Pairs share images: those over images are wider.",
        choices=("pairs", "images"),
    )
    output: Path | None = option(
        None, "Folder for everything that is written; runs/paper-DATA by default."
    )

    def __post_init__(self):
        if self.data not in TABLES_OF:
            raise ValueError(f"`data` must be one of {', '.join(TABLES_OF)}. Received: {self.data}")
        there = [str(number) for number in TABLES_OF[self.data]]
        unknown = [number for number in self.tables or () if number not in there]
        if unknown:
            raise ValueError(
                f"Expected tables that {self.data} can fill: {', '.join(there)}. "
                f"Received: {', '.join(unknown)}"
            )
        for name in ("pairs", "images"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"`{name}` must be positive, or 0 for all. Received: {value}")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the tables to fill, in order."""
        wanted = self.tables or map(str, TABLES_OF[self.data])
        return tuple(sorted({int(number) for number in wanted}))

    @property
    def pairs_per_column(self) -> int | None:
        """Pairs per column; None for all."""
        return _smaller(self.pairs, _QUICK_PAIRS) if self.quick else self.pairs

    @property
    def images_per_set(self) -> int | None:
        """Images of each set in tables 1 and 2; None for all."""
        return _smaller(self.images, _QUICK_IMAGES) if self.quick else self.images

    @property
    def output_folder(self) -> Path:
        """The folder for everything that is written."""
        return self.output or f"runs/paper-{self.data}{'-quick' if self.quick else ''}"


def _smaller(given: int | None, quick: int) -> int:
    return quick if given is None else min(given, quick)
