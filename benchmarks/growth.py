"""How cost grows: with image size, filters, classes, boxes and pairs."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.matchers.api import match_many
from anchornet_tf.models import folding
from benchmarks import models, proposal_flow, stage1
from benchmarks.results import Curve, Line, Results
from benchmarks.settings import Settings
from benchmarks.timing import MATMUL, Timed, in_turn


def growth_image_size(settings: Settings) -> Results:
    """Side of the image in pixels; one image."""
    one = models.network(1, settings.choose(64, 4))
    every = models.network(*settings.choose((20, 32), (2, 4)))
    functions = {
        "trunk": models.compiled(models.trunk),
        "ANet-class": models.compiled(folding.class_function(one, one.classes[0], fixed=True)),
        "ANet": models.compiled(folding.features_function(every, fixed=True)),
    }

    def works(size):
        images = models.random_images(1, size)
        return {name: lambda f=function: f(images) for name, function in functions.items()}

    sizes = settings.choose((112, 160, 224, 320, 448), (32, 64))
    return _curve(settings, "Image size, one image", "side in pixels", sizes, works)


def growth_filters(settings: Settings) -> Results:
    """K, the filters of a bank."""
    images = _images(settings)

    def works(num_filters):
        network = models.network(1, num_filters)
        features = models.compiled(lambda x: network.class_responses(x, network.classes[0]))
        config = stage1.make_config(settings, ("bird",), num_filters=num_filters)
        return {
            "trunk": _trunk_work(images),
            "ANet-class": lambda: features(images),
            "stage 1, one step": stage1.step_work(config),
        }

    counts = settings.choose((16, 32, 64, 128, 256), (2, 4))
    return _curve(settings, "Filters of a bank (K)", "K", counts, works, per="trunk")


def growth_classes(settings: Settings) -> Results:
    """Classes, with the filters of the class-agnostic descriptor."""
    images = _images(settings)

    def works(num_classes):
        network = models.network(num_classes, settings.choose(32, 4))
        features = models.compiled(folding.features_function(network, fixed=True))
        config = stage1.make_config(
            settings, VOC_CLASSES[:num_classes], num_filters=network.num_filters
        )
        return {
            "trunk": _trunk_work(images),
            "ANet": lambda: features(images),
            "stage 1, one step": stage1.step_work(config),
        }

    counts = settings.choose((1, 5, 10, 20), (1, 2))
    title = f"Classes of {settings.choose(32, 4)} filters"
    return _curve(settings, title, "classes", counts, works, per="trunk")


def growth_boxes(settings: Settings) -> Results:
    """Boxes of each image."""
    depth, grid = settings.choose((256, 56), (4, 8))

    def works(num_boxes):
        pair = proposal_flow.made_pair(num_boxes, depth, grid)
        return {name.upper(): work for name, work in proposal_flow.box_works(pair).items()}

    counts = settings.choose((250, 500, 1000, 2000), (10, 20))
    return _curve(settings, "Proposal Flow, boxes", "boxes of each image", counts, works)


def growth_pairs(settings: Settings) -> Results:
    """Pairs among a fixed number of images."""
    size = settings.choose(112, 32)
    network = models.network(*settings.choose((20, 32), (2, 4)))
    describe = DeepDescriptor(folding.features_function(network, fixed=True), size)
    images = random_pictures(settings.choose(20, 4), size)
    every = list(itertools.permutations(range(len(images)), 2))

    def works(count):
        pairs = every[:: len(every) // count][:count]
        return {
            "match_many": lambda: list(
                match_many(pairs, images, describe, "nearest", progress=False)
            )
        }

    counts = settings.choose((10, 40, 160, 380), (2, 4))
    title = f"match_many among {len(images)} images of {size} pixels"
    return _curve(settings, title, "pairs", counts, works)


def random_pictures(count: int, size: int) -> list[np.ndarray]:
    """Returns uint8 images of noise."""
    rng = np.random.default_rng(0)
    return list(rng.integers(0, 256, (count, size, size, 3), np.uint8))


def _curve(
    settings: Settings,
    title: str,
    x_label: str,
    places: Sequence[int],
    works: Callable[[int], dict],
    per: str = MATMUL,
) -> Results:
    """Measures works at all places; the work that is the unit is no line of its own."""
    measured: list[Timed] = [in_turn(works(place), settings.repeats) for place in places]
    names = [name for name in measured[0].seconds if name not in (MATMUL, per)]
    lines = tuple(
        Line(name, tuple(places), tuple(timed.ratios(name, per) for timed in measured))
        for name in names
    )
    unit = MATMUL if per == MATMUL else f"x {per}"
    return Results(curves=(Curve(title, x_label, unit, lines),))


def _images(settings):
    return models.random_images(settings.choose(16, 2), settings.choose(224, 64))


def _trunk_work(images):
    trunk = models.compiled(models.trunk)
    return lambda: trunk(images)
