"""Benchmarks made up for tests: annotations and images without files."""

import numpy as np

from anchornet_tf.datasets.annotated.annotation import (
    Annotation,
    Benchmark,
    Masks,
    Pair,
    Protocol,
)

SIZE = (40, 60)
PROTOCOL = Protocol(
    measures=("pck", "parts", "regions"),
    normalize_by=("bbox_kp", "image", "bbox"),
    thresholds=(0.05, 0.1),
)
POINTS = np.array([[10, 10], [50, 10], [10, 30], [50, 30], [30, 20]], float)


def annotation(name, shift=(0, 0), class_name="car", points=POINTS, with_parts=True) -> Annotation:
    """Returns an image whose content and annotations are moved by (x, y)."""

    def load():
        scene = np.random.default_rng(7).integers(0, 256, (*SIZE, 3), np.uint8)
        return np.roll(scene, shift[::-1], axis=(0, 1))

    def read_masks():
        whole = np.zeros(SIZE, bool)
        whole[10 + shift[1] : 30 + shift[1], 10 + shift[0] : 50 + shift[0]] = True
        return Masks(whole, {"body": whole} if with_parts else {})

    return Annotation(
        name=name,
        image_key=name,
        class_name=class_name,
        points=np.asarray(points, float) + shift,
        point_names=tuple(str(index) for index in range(len(points))),
        visible=np.ones(len(points), bool),
        box=(10 + shift[0], 10 + shift[1], 50 + shift[0], 30 + shift[1]),
        load=load,
        read_masks=read_masks,
    )


def benchmark(groups=("one", "two"), protocol=PROTOCOL, **options) -> Benchmark:
    """Returns all ordered pairs of three images per group, each moved by one pixel more."""
    pairs = []
    for group in groups:
        images = [annotation(f"{group}{i}", (i, i), **options) for i in range(3)]
        pairs += [
            Pair(f"{group}/{a.name}>{b.name}", a, b, group)
            for a in images
            for b in images
            if a is not b
        ]
    return Benchmark("made_up", tuple(pairs), protocol)
