"""CUB-200-2011: birds with fifteen named parts; random pairs within the test split."""

import os
import pathlib

import numpy as np

from anchornet_tf.datasets.annotated import reading
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Protocol
from anchornet_tf.datasets.annotated.pair_drawing import draw_pairs

NAME = "cub"
NUM_PARTS, NUM_TEST_IMAGES, NUM_PAIRS = 15, 5794, 1000
FILES = (
    "images.txt",
    "train_test_split.txt",
    "bounding_boxes.txt",
    "parts/parts.txt",
    "parts/part_locs.txt",
)
CONTENTS = (
    f"{', '.join(FILES)} and images/ of CUB-200-2011 (11,788 images, {NUM_TEST_IMAGES} of them for "
    "testing)"
)
INSTRUCTIONS = (
    "Get CUB_200_2011.tgz (https://www.vision.caltech.edu/datasets/cub_200_2011), unpack it and "
    "name its folder."
)
PROTOCOL = Protocol(
    measures=("pck",), normalize_by=("bbox", "image", "bbox_kp"), thresholds=(0.05, 0.1)
)


def read(
    data_dir: str | os.PathLike | None, num_pairs: int | None = None, seed: int = 0
) -> Benchmark:
    """Reads CUB-200-2011.

    Args:
        data_dir: folder of CUB_200_2011, or the one that holds it.
        num_pairs: int. Random pairs of test images of any species with a visible part in common,
            1000 by default.
        seed: int, for those.

    Returns:
        Benchmark.

    Raises:
        DataMissing: If a table or an image is not there.
        ValueError: If a table is malformed.
    """
    folder = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    if (folder / "CUB_200_2011").is_dir():
        folder = folder / "CUB_200_2011"
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise reading.missing(CONTENTS, INSTRUCTIONS, f"{folder} without {', '.join(absent)}")
    names = {int(key): " ".join(rest) for key, *rest in _lines(folder / FILES[0], 2)}
    test = [int(key) for key, training in _lines(folder / FILES[1], 2) if training == "0"]
    boxes = {int(key): np.float64(box) for key, *box in _lines(folder / FILES[2], 5)}
    parts = {int(key): " ".join(rest) for key, *rest in _lines(folder / FILES[3], 2)}
    points: dict[int, dict[int, tuple]] = {}
    for key, part, x, y, visible in _lines(folder / FILES[4], 5):
        points.setdefault(int(key), {})[int(part)] = (float(x), float(y), visible == "1")
    wrong = [key for key in test if not (key in names and key in boxes and key in points)]
    if wrong:
        raise ValueError(
            "Expected a name, a box and parts for each test image. "
            f"Received: none for {wrong[:5]} in {folder}"
        )
    images = [_annotation(folder, names[key], boxes[key], points[key], parts) for key in test]
    pairs = draw_pairs(images, images, num_pairs or NUM_PAIRS, "bird", (seed,))
    for pair in pairs:
        reading.existing(folder / "images" / pair.source.image_key)
        reading.existing(folder / "images" / pair.target.image_key)
    notes = []
    if len(images) != NUM_TEST_IMAGES:
        notes.append(f"not the {NUM_TEST_IMAGES} test images of CUB-200-2011, but {len(images)}")
    return Benchmark(NAME, tuple(pairs), PROTOCOL, tuple(notes))


def _lines(path: pathlib.Path, fields: int) -> list[list[str]]:
    """Returns the words of each line: `fields` numbers, or a number and a name of any length."""
    lines = [line.split() for line in reading.text_of(path).splitlines() if line.strip()]
    exact = fields > 2
    for number, words in enumerate(lines, start=1):
        numbers = words if exact else words[:1]
        if (
            len(words) < fields
            or exact
            and len(words) > fields
            or not all(map(_is_number, numbers))
        ):
            raise ValueError(
                f"Expected {fields} values per line. "
                f"Received: {' '.join(words)!r}, line {number} of {path}"
            )
    return lines


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _annotation(folder, name, box, points, parts) -> Annotation:
    unknown = sorted(set(points) - set(parts))
    if unknown:
        raise ValueError(f"Expected parts of parts.txt. Received: {unknown} of {name} in {folder}")
    numbers = sorted(points)
    left, top, width, height = box
    return Annotation(
        name=pathlib.PurePosixPath(name).stem,
        image_key=name,
        class_name="bird",
        path=folder / "images" / name,
        points=np.array([points[number][:2] for number in numbers]),
        point_names=tuple(parts[number] for number in numbers),
        visible=np.array([points[number][2] for number in numbers]),
        box=(left, top, left + width, top + height),
    )
