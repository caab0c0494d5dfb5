"""Image sets made of records: tensorflow-datasets, and the embedded *parts_world*."""

import functools
import hashlib
import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from anchornet_tf.datasets.image_scan import can_read, scan
from anchornet_tf.datasets.image_source import RecordReader, image_of_record
from anchornet_tf.datasets.label_map import LabelMap, normal_form
from anchornet_tf.datasets.listing import Listing

# ILSVRC12 and VOC 2012 have a test split too, but without labels.
_HELDOUT_SPLITS = ("validation", "test")
# Where sets keep labels: one of the image, several, or those of the objects in it.
_LABEL_PATHS = (("label",), ("labels",), ("objects", "label"))
_IMAGES_IN_CONTENT = 3


def list_parts_world(split: str, data_dir: str | os.PathLike | None) -> Listing:
    """Lists the embedded set, which is drawn when it is used for the first time.

    Args:
        split: `train` or `heldout`.
        data_dir: folder to keep the drawn set in; None for the cache folder.
    """
    from anchornet_tf.datasets import parts_world

    own_split = "test" if split == "heldout" else "train"
    records = parts_world.load(own_split, data_dir=data_dir)
    reader = RecordReader(records)
    # Drawn by a program: a few images tell one version of the program from another.
    sample = np.linspace(0, len(records) - 1, _IMAGES_IN_CONTENT).astype(int)
    content = hashlib.sha256(b"".join(reader.read(row).tobytes() for row in sample)).hexdigest()[
        :16
    ]
    return Listing(
        keys=[f"{own_split}/{row}" for row in range(len(records))],
        label_names=[(label,) for label in records.labels],
        contents=[content] * len(records),
        reader=reader,
        has_own_split=True,
        find_readable=lambda: np.ones(len(records), bool),
        class_order=parts_world.CLASSES,
    )


def list_tfds(
    name: str,
    split: str,
    data_dir: str | os.PathLike | None,
    label_map: LabelMap | None = None,
) -> Listing:
    """Lists a set of tensorflow-datasets, which is prepared when it is used for the first time.

    The images are in the feature `image`, the labels in `label`, `labels` or `objects/label`. The
    held-out images are those of the split `validation`, else `test`; where there is none, `train`
    is divided.

    Args:
        name: such as `imagenet2012` or `voc/2012`.
        split: `train` or `heldout`.
        data_dir: folder of the prepared sets; None for the one of tensorflow-datasets.
        label_map: only to find an unknown label before a large set is prepared.

    Raises:
        ValueError: the set or one of its labels is unknown, or it cannot be prepared, cannot be
            read at random, or has no image or no label feature.
    """
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(name, data_dir=data_dir)
    except tfds.core.DatasetNotFoundError as error:
        raise ValueError(
            f"There must be a set of tensorflow-datasets of this name. Received: {name!r}"
        ) from error
    features = builder.info.features
    path, label_feature = _label_feature(features)
    if "image" not in features or label_feature is None:
        raise ValueError(
            "A set must have a feature `image` and one of the label features "
            f"{', '.join('/'.join(path) for path in _LABEL_PATHS)}. "
            f"Received: {name} with {', '.join(features)}"
        )
    names = getattr(label_feature, "names", None)
    (label_map or LabelMap()).apply(map(normal_form, names or ()))
    try:
        builder.download_and_prepare(file_format="array_record")
    except AssertionError as error:
        raise ValueError(f"The set could not be prepared: {error} Received: {name}") from error

    heldout = next((part for part in _HELDOUT_SPLITS if part in builder.info.splits), None)
    own_split = heldout if split == "heldout" and heldout else "train"
    try:
        records = builder.as_data_source(own_split, decoders={"image": tfds.decode.SkipDecoding()})
    except NotImplementedError as error:
        raise ValueError(
            "A set must be kept in a format with random access. Convert it with `python -m "
            "tensorflow_datasets.scripts.convert_format --out_file_format=array_record "
            f"--dataset_dir={builder.data_dir}`. Received: {name} as {builder.info.file_format}"
        ) from error

    info = builder.info.splits[own_split]
    content = f"{builder.info.full_name} {int(info.num_bytes)}"
    reader = RecordReader(records)

    def examine(row: int) -> list:
        record = records[row]
        value = functools.reduce(operator.getitem, path, record)
        labels = [_as_label(label) for label in np.atleast_1d(value)]
        return [labels, can_read(image_of_record, record)]

    identity = f"{builder.data_dir} {own_split} {content}"
    found = scan(examine, len(records), identity, f"looking through {name}")
    return Listing(
        keys=[f"{builder.info.full_name}/{own_split}/{row}" for row in range(len(records))],
        label_names=[_names_of(labels, names) for labels, _ in found],
        contents=[content] * len(records),
        reader=reader,
        has_own_split=heldout is not None,
        find_readable=lambda: np.array([readable for _, readable in found]),
    )


def _label_feature(features: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
    for path in _LABEL_PATHS:
        feature = features
        for part in path:
            if part not in feature:
                break
            # A sequence holds one feature for all its elements.
            feature = getattr(feature[part], "feature", feature[part])
        else:
            return path, feature
    return (), None


def _as_label(label: Any) -> int | str:
    return int(label) if isinstance(label, int | np.integer) else _as_text(label)


def _as_text(label: Any) -> str:
    return label.decode() if isinstance(label, bytes) else str(label)


def _names_of(labels: list, names: list[str] | None) -> tuple[str, ...]:
    # Sets number their labels and name the numbers; a number without a name stands for itself.
    return tuple(
        dict.fromkeys(
            normal_form(
                names[label] if names and isinstance(label, int) and label >= 0 else str(label)
            )
            for label in labels
        )
    )
