"""What limits matches: ways that know some of the truth, against formulas and on drawings."""

import dataclasses

import numpy as np
import pytest

from anchornet_tf import FeatureMap, Matcher
from anchornet_tf.datasets.annotated import embedded
from anchornet_tf.datasets.annotated.annotation import object_size
from anchornet_tf.runner import confidence_scores, limit_scores
from anchornet_tf.runner.limit_plot import plot_limits
from anchornet_tf.runner.limit_scores import AS_IT_IS, OBJECT_KNOWN, best_of, by_chance


@pytest.fixture(scope="module")
def measured():
    benchmark = embedded.read(num_pairs=1, seed=0).limited(4, 0)
    matcher = Matcher("sift", "nearest", step=16)
    return benchmark, matcher, limit_scores.measure(benchmark, matcher)


def test_as_it_is_is_what_others_measure(measured):
    benchmark, matcher, scores = measured
    correct = confidence_scores.measure(benchmark, matcher).correct
    errors = np.concatenate(scores.errors[AS_IT_IS])
    np.testing.assert_array_equal(errors < 0.1, correct)
    by_class = scores.by_class(AS_IT_IS, 0.1)
    assert set(by_class) == {pair.source.class_name for pair in benchmark.pairs}
    # Each class has one pair here, so that the mean of the groups is the mean of the classes.
    assert scores.pck(AS_IT_IS, 0.1) == pytest.approx(np.mean(list(by_class.values())))
    counts = sum(len(pair.shared_names()) for pair in benchmark.pairs)
    assert len(errors) == counts


def test_more_places_are_never_worse(measured):
    _, _, scores = measured
    shares = [scores.pck(best_of(places), 0.1) for places in limit_scores.PLACES]
    assert shares == sorted(shares) and shares[-1] > shares[0]
    chances = [scores.chance(by_chance(places)) for places in limit_scores.PLACES]
    assert chances == sorted(chances) and 0 < chances[0] < 0.5
    figures = scores.summary()
    assert list(figures)[:3] == [AS_IT_IS, OBJECT_KNOWN, "best of 1"]
    assert plot_limits({"sift": scores}).axes


def test_crops_keep_the_places_of_points():
    """By a matcher that does not move, a point goes as far as the corners of the crops differ."""
    benchmark = embedded.read(num_pairs=1, seed=0).limited(2, 0)
    scores = limit_scores.measure(benchmark, Matcher("sift", "none", step=16))
    for pair, errors in zip(benchmark.pairs, scores.errors[OBJECT_KNOWN], strict=True):
        points, candidates = pair.shared_points()
        source, target = (
            np.array(limit_scores._box(each, each.read_image().shape[:2]))
            for each in (pair.source, pair.target)
        )
        inside = (points - source[:2] < target[2:] - target[:2] - 0.5).all(axis=1)
        assert inside.any()
        wanted = np.linalg.norm(points - source[:2] + target[:2] - candidates[:, 0], axis=1)
        wanted = np.where(inside, wanted / object_size(pair.target), np.inf)
        np.testing.assert_allclose(errors, wanted, atol=1e-5)
        # Nothing that is marked is cut off.
        assert (source[:2] <= points).all() and (points < source[2:]).all()


def test_each_object_of_an_image_has_a_crop_of_its_own():
    benchmark = embedded.read(num_pairs=1, seed=0).limited(1, 0)
    (pair,) = benchmark.pairs
    few = np.arange(len(pair.source.visible)) < 2
    other = dataclasses.replace(pair.source, visible=pair.source.visible & few, name="other")
    second = dataclasses.replace(pair, name="second", source=other)
    matcher = Matcher("sift", "nearest", step=16)
    both = limit_scores.measure(dataclasses.replace(benchmark, pairs=(pair, second)), matcher)
    alone = limit_scores.measure(dataclasses.replace(benchmark, pairs=(second,)), matcher)
    np.testing.assert_array_equal(both.errors[OBJECT_KNOWN][1], alone.errors[OBJECT_KNOWN][0])


def test_points_off_the_image_leave_something_of_it():
    (pair,) = embedded.read(num_pairs=1, seed=0).limited(1, 0).pairs
    away = dataclasses.replace(pair.source, points=pair.source.points + 1000)
    left, top, right, bottom = limit_scores._box(away, (100, 120))
    assert 0 <= left < right <= 120 and 0 <= top < bottom <= 100


def test_most_alike_places_are_apart():
    rng = np.random.default_rng(0)
    source = FeatureMap(rng.normal(size=(4, 6, 8)), (40, 60))
    target = FeatureMap(np.roll(source.values, 2, axis=1), (40, 60))
    (found,) = limit_scores.most_alike(source, target, np.array([[14.5, 24.5]]), 3, apart=15)
    np.testing.assert_allclose(found[0], [34.5, 24.5])  # Two columns of ten pixels further right.
    distances = np.linalg.norm(found[:, np.newaxis] - found, axis=-1)
    assert distances[np.triu_indices(3, 1)].min() >= 15
    # Between two cells, the descriptor is between theirs.
    (halfway,) = limit_scores.most_alike(source, target, np.array([[19.5, 24.5]]), 1, apart=15)
    between = source.values[2, 1] + source.values[2, 2]
    units = target.values / np.linalg.norm(target.values, axis=-1, keepdims=True)
    row, column = np.unravel_index(np.argmax(units @ between), (4, 6))
    np.testing.assert_allclose(halfway[0], [column * 10 + 4.5, row * 10 + 4.5])


def test_places_run_out():
    features = FeatureMap(np.ones((2, 2, 3)), (8, 8))
    found = limit_scores.most_alike(features, features, np.array([[1.0, 1.0]]), 3, apart=100)
    assert np.isfinite(found[0, 0]).all() and np.isinf(found[0, 1:]).all()
