"""The configuration of an evaluation. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os
from collections.abc import Mapping

from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What to evaluate, and where to write it.

    The help text of each field describes it; `python -m anchornet_tf.evaluate --help` shows them
    all. `options` holds further options of descriptors and matchers, by name; an option with the
    prefix `NAME.` reaches only the descriptor or matcher NAME.
    """

    benchmark: str = option(
        "parts_world",
        "Which pairs of images, and how they are scored.",
        choices=BENCHMARKS.names,
    )
    data_dir: Path | None = option(
        None, "Folder of the benchmark as its makers publish it; parts_world needs none."
    )
    features: tuple[str, ...] = option(
        ("hc",),
        "Descriptors to compare; also taps:TRUNK/TAP, such as taps:dinov2_small/block9.",
        choices=DESCRIPTORS.names,
    )
    matchers: tuple[str, ...] = option(
        ("nearest",), "Matchers to run on each.", flag="matcher", choices=MATCHERS.names
    )
    output: Path | None = option(
        None, "Folder for everything that is written; runs/evaluate-BENCHMARK by default."
    )
    classes: tuple[str, ...] | None = option(
        None, "Only pairs of images of these classes; by default all.", flag="class"
    )
    limit: int | None = option(
        None,
        "Only this many pairs, drawn evenly from the groups, for a quick look; 0 for all.",
        none=0,
    )
    seed: int = option(0, "Seed of the pairs that are drawn and of the resamples.")
    measures: tuple[str, ...] | None = option(
        None,
        "Any of regions (AuC of PCR and of mIoU@k; box matchers only), pck, and parts (weighted "
        "part IoU); by default those of the benchmark. Box matchers need the dense flow for pck "
        "and parts, which takes longer than the matching itself.",
        flag="metrics",
    )
    normalize_by: str | None = option(
        None,
        "What PCK errors are divided by: image, bbox, bbox_kp, or bbox_kp_padded (only to compare "
        "with inflated figures); by default the benchmark's own.",
    )
    thresholds: tuple[float, ...] | None = option(
        None, "Thresholds of PCK; by default the benchmark's own."
    )
    num_boxes: int = option(1000, "Box proposals per image, for box matchers.")
    model: Path | None = option(
        None, "Folder of an AnchorNet or name of a preset, for anchornet and anchornet-class."
    )
    banks: Path | None = option(
        None, "Folder of <class>.npz banks (RUN/banks), for anchornet-class without a model."
    )
    trunk: str | None = option(None, "The trunk of hc, see docs/trunks.md; resnet50 by default.")
    weights: Path | None = option(
        None,
        "Weights of the trunk of hc, taps:... and anchornet-class: a file or folder; by default "
        "those that its makers publish, or those that a bank was trained with.",
    )
    image_size: int | None = option(
        224, "Side that networks see images at; 0 for the images' own sizes.", none=0
    )
    subset: str | None = option(
        None, "tune or report: one of two halves of pf_willow without an image in common."
    )
    split: str | None = option(None, "Split of spair or pf_pascal; test by default.")
    cross_category: bool = option(
        False, "Match images of different classes (pascal_parts, parts_world)."
    )
    num_pairs: int | None = option(
        None,
        "Pairs to draw where a benchmark draws them; 0 for the benchmark's own number.",
        none=0,
    )
    workers: int | None = option(None, "Processes for box matchers; -1 for one per core.", none=-1)
    num_resamples: int = option(
        1000,
        "Resampled benchmarks that the intervals come from; 0 for no intervals.",
        flag="bootstrap",
    )
    resampled: str = option(
        "pairs",
        "What is drawn again for the intervals. Pairs share images: those over images are wider.",
        choices=("pairs", "images"),
    )
    with_pictures: bool = option(True, "Draw the best, median and worst pairs.", flag="pictures")
    options: Mapping = dataclasses.field(default_factory=dict)

    @property
    def output_folder(self) -> Path:
        """The folder for everything that is written."""
        return self.output or f"runs/evaluate-{self.benchmark}"

    @property
    def benchmark_options(self) -> dict:
        """The arguments of the benchmark's reader that were given."""
        names = ("subset", "split", "cross_category", "num_pairs")
        given = {name: getattr(self, name) for name in names}
        if "seed" in BENCHMARKS.options(self.benchmark):
            given["seed"] = self.seed
        return {name: value for name, value in given.items() if value or name == "seed"}
