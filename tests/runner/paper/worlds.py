"""A small world for the tables' tests: made-up images in place of data, colours for networks."""

import dataclasses

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Benchmark, Pair
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.paper import pair_sets, run
from tests.runner.made_up import PROTOCOL, annotation, benchmark

CLASSES = ("bicycle", "cat", "car")


class Colors(Descriptors):
    """Describes pixels by their colours and lists the images that it described."""

    described: list = []

    def check(self, feature, classes):
        pass

    def identity(self, feature):
        return {"made": "up"}

    def describe(self, feature, class_name):
        def extract(images):
            Colors.described += [feature] * len(images)
            return [FeatureMap(image.astype(np.float32) - 127, image.shape[:2]) for image in images]

        return extract


def within(classes=CLASSES) -> Benchmark:
    """Returns six pairs of each class."""
    parts = [benchmark((name,), class_name=name) for name in classes]
    pairs = tuple(pair for part in parts for pair in part.pairs)
    return Benchmark("small world", pairs, PROTOCOL)


def between(pairs_of_classes, measures) -> Benchmark:
    """Returns three pairs of any two classes."""
    pairs = []
    for first, second in pairs_of_classes:
        sources = [annotation(f"{first}{i}", (i, 0), first) for i in range(3)]
        targets = [annotation(f"{second}{i}", (i, i), second) for i in range(3)]
        for source, target in zip(sources, targets[1:] + targets[:1], strict=True):
            name = f"{first}>{second}"
            pairs.append(Pair(f"{name}/{source.name}>{target.name}", source, target, name))
    protocol = dataclasses.replace(PROTOCOL, measures=measures, matrix=True)
    return Benchmark("small world", tuple(pairs), protocol)


def open_small_world(name, data_dir=None, cross_category=False, animal_families=False, **_):
    """Takes the place of `open_benchmark`."""
    if cross_category:
        return between((("bus", "car"), ("dog", "cat")), ("parts",))
    if animal_families:
        families = ("cat", "dog")
        return between([(a, b) for a in families for b in families], ("pck",))
    return within()


def settle(monkeypatch, tmp_path) -> None:
    """Makes the tables run on the small world, by colours, with boxes in a folder of their own."""
    Colors.described = []
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pair_sets, "open_benchmark", open_small_world)
    monkeypatch.setattr(run, "Descriptors", Colors)
