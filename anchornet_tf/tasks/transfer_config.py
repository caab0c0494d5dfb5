"""The configuration of a transfer. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os
import pathlib
from collections.abc import Mapping

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike


@dataclasses.dataclass(frozen=True)
class TransferConfig:
    """What to carry, where from, where to.

    The help text of each field describes it; `python -m anchornet_tf.transfer --help` shows them
    all. `options` holds further options of the descriptor and the matcher, by name.

    Raises:
        ValueError: If a value is out of its range.
    """

    references: Path | None = option(
        None,
        "What you have marked: a COCO file, a LabelMe file or a folder of them, or a CSV file with "
        "the columns image,name,x,y.",
    )
    images: Path = option(
        "", "Where to carry it: a folder of images, a pattern such as 'frames/*.png', or a video."
    )
    output: Path | None = option(
        None,
        "The file to write, in the format of --references (for LabelMe a folder); by default "
        "transferred.json, transferred.csv or the folder transferred.",
    )
    threshold: float = option(
        0.5, "Points that are less likely to be right than this are marked as not labelled."
    )
    references_per_image: int = option(
        5, "How many references, the most similar ones, are asked for each image."
    )
    mirror: bool = option(
        True, "Also try references mirrored, where that looks more like the image."
    )
    smooth: float = option(
        0.0, "For the frames of a video: how strongly to smooth along time; 0 for not at all."
    )
    suggest: int = option(
        0,
        "Name this many images to annotate next, so that the others get surer. Without "
        "--references: to annotate first.",
    )
    recursive: bool = option(False, "Also take the images in sub-folders of --images.")
    report: bool = option(
        True, "Write a page and a picture that show what was found, the least sure first."
    )
    features: str = option(
        "anchornet", f"The descriptor: {', '.join(DESCRIPTORS.names)}, or taps:TRUNK/TAP."
    )
    matcher: str = option("hough", "The matcher.", choices=MATCHERS.names)
    model: Path | None = option(
        None, "Folder of an AnchorNet or name of a preset, for --features=anchornet."
    )
    options: Mapping = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        DESCRIPTORS.check(self.features)
        if not self.images:
            raise ValueError(
                "Expected --images=...: a folder of images, a pattern or a video. Received: nothing"
            )
        if self.references is None and not self.suggest:
            raise ValueError(
                "Expected --references=... with what you have marked, or --suggest=5 to be told "
                "what to mark. Received: neither"
            )
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"`threshold` must be from 0 to 1. Received: {self.threshold}")
        for name, least in (("references_per_image", 1), ("suggest", 0), ("smooth", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(
                    f"`{name}` must be at least {least}. Received: {getattr(self, name)}"
                )

    def output_path(self, format: str) -> pathlib.Path:
        """Returns where the results of a format go.

        Raises:
            ValueError: If nothing can be written there, or the references are there.
        """
        usual = {"csv": "transferred.csv", "labelme": "transferred"}
        path = pathlib.Path(self.output or usual.get(format, "transferred.json"))
        if os.path.realpath(path) == os.path.realpath(self.references):
            raise ValueError(
                "Expected another --output than --references, which would be lost among what is "
                f"carried. Received: {path}"
            )
        if format == "labelme":
            fits = path.suffix.lower() not in (".json", ".csv") and not path.is_file()
            expected = "a folder for LabelMe files, whose name does not end in .json"
        else:
            suffix = ".csv" if format == "csv" else ".json"
            fits = path.suffix.lower() == suffix and not path.is_dir()
            expected = f"a file whose name ends in {suffix}, as that of the references"
        if not fits or not path.name:
            raise ValueError(f"Expected --output to be {expected}. Received: {path}")
        return path

    def matcher_options(self) -> dict:
        """Returns the options of the `Matcher`."""
        return dict(self.options) | ({} if self.model is None else {"model": self.model})
