"""AnimalParts: eyes and feet of 100 animals in 12 families; random pairs of any two families."""

import os

import numpy as np

from anchornet_tf.datasets.annotated import reading
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Protocol
from anchornet_tf.datasets.annotated.pair_drawing import draw_pairs

NAME = "animal_parts"
NUM_FAMILIES, NUM_PAIRS = 12, 40
TABLE = "annotations.csv"
COLUMNS = ("image", "family", "part", "x", "y")
CONTENTS = (
    f"{TABLE} (one keypoint per line; columns {', '.join(COLUMNS)}; parts eye and foot; "
    f"{NUM_FAMILIES} families) and the images that it names"
)
INSTRUCTIONS = (
    "Get AnimalParts (https://www.robots.ox.ac.uk/~vgg/data/animal_parts) and its ILSVRC12 images, "
    "and write its keypoints and the family of each animal into the table; see docs/protocols.md."
)
PROTOCOL = Protocol(measures=("pck",), normalize_by=("image",), thresholds=(0.05, 0.1), matrix=True)


def read(
    data_dir: str | os.PathLike | None, num_pairs: int | None = None, seed: int = 0
) -> Benchmark:
    """Reads AnimalParts.

    Args:
        data_dir: folder of the table and the images.
        num_pairs: int. How many random pairs to draw for each ordered pair of families, 40 by
            default.
        seed: int, for those.

    Returns:
        Benchmark.

    Raises:
        DataMissing: If the table or an image is not there.
        ValueError: If the table is malformed or no two images share a part.
    """
    folder = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    if not (folder / TABLE).is_file():
        raise reading.missing(CONTENTS, INSTRUCTIONS, f"{folder} without {TABLE}")
    rows: dict[str, list[dict]] = {}
    for row in reading.csv_rows(folder / TABLE, COLUMNS):
        rows.setdefault(row["image"], []).append(row)
    families: dict[str, list[Annotation]] = {}
    for name in sorted(rows):
        image = _annotation(folder, name, rows[name])
        families.setdefault(image.class_name, []).append(image)
    names = sorted(families)
    pairs = []
    for row, source in enumerate(names):
        for column, target in enumerate(names):
            pairs += draw_pairs(
                families[source],
                families[target],
                num_pairs or NUM_PAIRS,
                f"{source}>{target}",
                (seed, row, column),
            )
    notes = []
    if len(names) != NUM_FAMILIES:
        notes.append(f"not the {NUM_FAMILIES} families of AnimalParts, but {', '.join(names)}")
    return Benchmark(NAME, tuple(pairs), PROTOCOL, tuple(notes))


def _annotation(folder, name, rows) -> Annotation:
    family = {row["family"] for row in rows}
    if len(family) > 1:
        raise ValueError(
            f"Expected one family per image. Received: {sorted(family)} of {name} in {folder}"
        )
    try:
        points = np.array([(float(row["x"]), float(row["y"])) for row in rows])
    except ValueError as error:
        raise ValueError(
            f"Expected x and y as numbers. Received: {error} of {name} in {folder}"
        ) from error
    return Annotation(
        name=name,
        image_key=name,
        class_name=family.pop(),
        path=reading.existing(folder / name),
        points=points,
        point_names=tuple(row["part"] for row in rows),
        visible=np.ones(len(points), bool),
    )
