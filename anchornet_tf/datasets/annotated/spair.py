"""SPair-71k: 12,234 test pairs of 18 classes with large changes of view and scale."""

import json
import os
import pathlib

import numpy as np

from anchornet_tf.datasets.annotated import reading
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, Protocol

NAME = "spair"
SIZES = {"trn": 53340, "val": 5384, "test": 12234}
_SPLITS = {"train": "trn", "trn": "trn", "val": "val", "test": "test"}
CONTENTS = (
    f"the folders PairAnnotation/test ({SIZES['test']} .json files) and JPEGImages (18 classes, "
    "1,800 images) of SPair-71k"
)
INSTRUCTIONS = (
    "Get SPair-71k.tar.gz (https://cvlab.postech.ac.kr/research/SPair-71k), unpack it and name its "
    "folder."
)
PROTOCOL = Protocol(
    measures=("pck",),
    normalize_by=("bbox", "image", "bbox_kp"),
    thresholds=(0.05, 0.1, 0.15),
)
_KEYS = ("src_imname", "trg_imname", "category", "src_kps", "trg_kps", "src_bndbox", "trg_bndbox")


def read(data_dir: str | os.PathLike | None, split: str = "test") -> Benchmark:
    """Reads SPair-71k.

    Args:
        data_dir: folder of SPair-71k, or the one that holds it.
        split: `"test"`, `"val"` or `"trn"`.

    Returns:
        Benchmark.

    Raises:
        DataMissing: If the annotations or an image are not there.
        ValueError: If an annotation is malformed.
    """
    if split not in _SPLITS:
        raise ValueError(f"`split` must be test, val or trn. Received: split={split!r}")
    split = _SPLITS[split]
    folder = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    if (folder / "SPair-71k").is_dir():
        folder = folder / "SPair-71k"
    paths = _pair_files(folder, split)
    if not paths:
        raise reading.missing(CONTENTS, INSTRUCTIONS, f"{folder} without pairs of {split}")
    pairs = sorted((_pair(folder, path) for path in paths), key=lambda pair: pair.group)
    notes = []
    if len(pairs) != SIZES[split]:
        notes.append(f"not the {SIZES[split]} {split} pairs of SPair-71k, but {len(pairs)}")
    return Benchmark(NAME, tuple(pairs), PROTOCOL, tuple(notes))


def _pair_files(folder: pathlib.Path, split: str) -> list[pathlib.Path]:
    """Returns the annotations that the layout lists, or without a layout all of the split."""
    annotations = folder / "PairAnnotation" / split
    layout = folder / "Layout" / "large" / f"{split}.txt"
    if layout.is_file():
        names = [line.strip() for line in reading.text_of(layout).splitlines() if line.strip()]
        return [reading.existing(annotations / f"{name}.json") for name in names]
    return sorted(annotations.glob("*.json"))


def _pair(folder: pathlib.Path, path: pathlib.Path) -> Pair:
    try:
        values = json.loads(reading.text_of(path))
        category = values["category"]
        sides = []
        for side in ("src", "trg"):
            points = np.array(values[f"{side}_kps"], np.float64).reshape(-1, 2)
            sides.append((values[f"{side}_imname"], points, tuple(values[f"{side}_bndbox"])))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Expected a JSON object with {', '.join(_KEYS)}. Received: {path} ({error!r})"
        ) from error
    if len(sides[0][1]) != len(sides[1][1]):
        raise ValueError(
            "Expected as many keypoints in both images. Received: "
            f"{len(sides[0][1])} and {len(sides[1][1])} in {path}"
        )
    source, target = (_annotation(folder, category, *side) for side in sides)
    return Pair(path.stem, source, target, category)


def _annotation(folder, category, image_name, points, box) -> Annotation:
    path = reading.existing(folder / "JPEGImages" / category / image_name)
    return Annotation(
        name=path.stem,
        image_key=f"{category}/{image_name}",
        class_name=category,
        path=path,
        points=points,
        point_names=tuple(str(number) for number in range(len(points))),
        visible=np.ones(len(points), bool),
        box=box,
    )
