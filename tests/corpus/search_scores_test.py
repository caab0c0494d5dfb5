"""Precision of the search for parts, on images whose answer is known."""

import numpy as np
import pytest

from anchornet_tf.corpus.search_scores import (
    SearchedImage,
    places_of_map,
    precision_at_ten,
    regular_places,
    searched_images,
)
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, Protocol
from anchornet_tf.features.feature_map import FeatureMap

NAMES = ("nose", "tail")


def _annotation(key, points, visible=(True, True)):
    return Annotation(key, key, "bird", np.float64(points), NAMES, visible, box=(0, 0, 99, 99))


def _image(number, nose, tail, visible=(True, True)):
    """An image of 10 x 10 cells of 10 pixels: its nose and tail look like those of all others."""
    annotation = _annotation(f"{number}", [nose, tail], visible)
    values = np.zeros((10, 10, 3), np.float32)
    values[..., 2] = 1
    for part, (x, y) in enumerate((nose, tail)):
        values[int(y // 10), int(x // 10)] = np.eye(3)[part]
    return SearchedImage(annotation.image_key, {"bird": annotation}), FeatureMap(values, (100, 100))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    spots = rng.permutation(100)[:24].reshape(12, 2)
    centers = [[(s % 10) * 10 + 4.5 for s in pair] for pair in spots]
    rows = [[(s // 10) * 10 + 4.5 for s in pair] for pair in spots]
    return [
        _image(n, *zip(xs, ys, strict=True))
        for n, (xs, ys) in enumerate(zip(centers, rows, strict=True))
    ]


def _described(drawn, places):
    return [places_of_map(features, places) for _, features in drawn]


def test_a_search_that_knows_finds_all(drawn):
    images = [image for image, _ in drawn]
    found = precision_at_ten(images, _described(drawn, regular_places((100, 100), 100)))
    assert found == (1.0, 1.0, 24)


def test_wrong_descriptors_find_little(drawn):
    images = [image for image, _ in drawn]
    # Everyone's features belong to somebody else.
    found = precision_at_ten(
        images, _described(drawn[1:] + drawn[:1], regular_places((100, 100), 100))
    )
    assert found.at_ten < 0.2 and found.at_best == 1.0


def test_places_that_are_missing_bound_the_precision(drawn):
    images = [image for image, _ in drawn]
    left = regular_places((100, 100), 100)
    left = left[left[:, 0] < 50]
    found = precision_at_ten(images, _described(drawn, left))
    assert found.at_ten == pytest.approx(found.at_best) and 0 < found.at_best < 1


def test_parts_that_are_hidden_or_alone_are_not_asked_about(drawn):
    images = [image for image, _ in drawn]
    for image in images[1:]:
        old = image.truths["bird"]
        image.truths["bird"] = _annotation(image.key, old.points, (True, False))
    found = precision_at_ten(images, _described(drawn, regular_places((100, 100), 100)))
    assert found.asked == 12 and found.at_ten == 1.0


def test_images_of_a_benchmark_are_taken_once():
    images = [_annotation(name, [[1, 1], [50, 50]]) for name in "abc"]
    pairs = tuple(
        Pair(f"{group}{a.name}{b.name}", a, b, group)
        for group in ("one", "two")
        for a in images
        for b in images
        if a is not b
    )
    benchmark = Benchmark("drawn", pairs, Protocol(("pck",), ("bbox",), (0.1,)))
    found = searched_images(benchmark)
    assert [image.key for image in found] == ["a", "b", "c"]
    assert all(set(image.truths) == {"one", "two"} for image in found)
    assert len(searched_images(benchmark, most=2)) == 2
