"""Sets of images of one object class with keypoints, to measure keypoint transfer on."""

import os

import numpy as np

from anchornet_tf.datasets.annotated import pf_willow as willow
from anchornet_tf.metrics.keypoint_transfer import AnnotatedImage
from anchornet_tf.metrics.pck import reference_length


def pf_willow(folder: str | os.PathLike) -> dict[tuple[str, str], list[AnnotatedImage]]:
    """Reads PF-WILLOW: ten sets of ten images, errors relative to the box of the keypoints.

    Args:
        folder: the sets, as their makers publish them.

    Returns:
        dict of (class, set) to images.

    Raises:
        FileNotFoundError: If the folder does not have the sets.
        ValueError: If an annotation is malformed.
    """
    return {
        (images[0].class_name, name): [
            AnnotatedImage(
                image.read_image(),
                image.points,
                image.visible,
                reference_length("bbox_kp", points=image.points),
            )
            for image in images
        ]
        for name, images in willow.read_sets(folder).items()
    }


def parts_world(
    classes, data_dir: str | os.PathLike | None = None
) -> dict[tuple[str, str], list[AnnotatedImage]]:
    """Reads the test split of the embedded set, errors relative to the object's box.

    Args:
        classes: names of classes.
        data_dir: folder of data sets, or None for the cache folder.

    Returns:
        dict of (class, class) to images.
    """
    from anchornet_tf.datasets import parts_world as embedded

    source = embedded.load("test", data_dir)
    sets = {}
    for class_name in classes:
        examples = [
            source[index] for index, label in enumerate(source.labels) if label == class_name
        ]
        names = sorted({name for example in examples for name in example["keypoints"]})
        images = []
        for example in examples:
            # A figure may lack a part that others of its class have.
            points = np.float64([example["keypoints"].get(name, (0, 0, False)) for name in names])
            length = reference_length("bbox", box=example["box"])
            images.append(AnnotatedImage(example["image"], points[:, :2], points[:, 2] > 0, length))
        sets[class_name, class_name] = images
    return sets
