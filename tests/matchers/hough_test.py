"""Hough matching: against a plain NumPy count of votes, and the properties of every matcher."""

import numpy as np
import pytest
import scipy.ndimage
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.hough import HoughMatcher, hough_cells
from tests.matchers.matcher_properties import (
    assert_inside_target,
    flipped,
    flipped_flow,
    random_map,
    shifted_maps,
)


def _batch(*maps):
    return tf.constant(np.stack([feature_map.values for feature_map in maps]))


def _unit(values):
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def _likeness(cosine, power, temperature):
    """Returns what each pair votes with."""
    similarity = np.maximum(cosine, 0) ** power
    if temperature == 0:
        return similarity
    plan = np.exp((np.maximum(cosine, 0) - 1) / temperature)
    for step in range(10):
        plan /= plan.sum(axis=1 - step % 2, keepdims=True)
    plan[cosine <= 0] = 0
    return plan / plan.max() * similarity.max()


def _by_counting(source, target, power, deviation, neighborhood, locality, temperature):
    """Returns confidence (cells, cells): likeness times the smoothed votes for the offset."""
    height, width, depth = source.shape
    cosine = _unit(source).reshape(-1, depth) @ _unit(target).reshape(-1, depth).T
    similarity = _likeness(cosine, power, temperature)
    cells = [(row, column) for row in range(height) for column in range(width)]
    # Wide enough that smoothing never meets the border.
    votes = np.zeros((len(cells), 4 * height + 21, 4 * width + 21))
    middle = np.array([2 * height + 10, 2 * width + 10])
    for i, start in enumerate(cells):
        for j, end in enumerate(cells):
            votes[(i, *(np.subtract(end, start) + middle))] = similarity[i, j]
    if deviation:
        votes = scipy.ndimage.gaussian_filter(
            votes, (0, deviation, deviation), mode="constant", truncate=3
        )
    offsets = np.subtract(cells, 0)[np.newaxis] - np.subtract(cells, 0)[:, np.newaxis] + middle
    offsets = tuple(np.moveaxis(offsets, -1, 0))
    radius = np.arange(-np.ceil(3 * neighborhood), np.ceil(3 * neighborhood) + 1)
    total = np.exp(-0.5 * (radius / neighborhood) ** 2).sum()
    distances = np.linalg.norm(np.subtract(cells, 0)[:, np.newaxis] - cells, axis=-1)
    weights = np.exp(-0.5 * (distances / neighborhood) ** 2) / total**2
    nearby = np.tensordot(weights, votes, axes=1)[np.arange(len(cells))[:, np.newaxis], *offsets]
    return similarity * votes.mean(axis=0)[offsets] * nearby**locality


@pytest.mark.parametrize(
    "power, deviation, neighborhood, locality, temperature",
    [(1, 0, 1, 0, 0), (3, 1, 1, 0, 0.2), (2, 2, 2, 1, 0), (3, 1, 5, 2, 0), (3, 1, 5, 2, 0.15)],
)
def test_agrees_with_counting_votes(power, deviation, neighborhood, locality, temperature):
    source, target = random_map((6, 7), seed=1), random_map((6, 7), seed=2)
    positions, confidence, evidence = hough_cells(
        _batch(source),
        _batch(target),
        (6, 7),
        float(power),
        float(deviation),
        neighborhood=float(neighborhood),
        locality=float(locality),
        temperature=float(temperature),
    )
    options = power, deviation, neighborhood, locality, temperature
    expected = _by_counting(source.values, target.values, *options)
    mean = expected.max(axis=1) ** (1 / (2 + locality))
    np.testing.assert_allclose(confidence[0], mean.reshape(6, 7), rtol=1e-4)
    for cell in range(6 * 7):
        row, column = divmod(int(expected[cell].argmax()), 7)
        window = expected[cell].reshape(6, 7)[
            max(0, row - 2) : row + 3, max(0, column - 2) : column + 3
        ]
        weights = (window / window.max()) ** 4
        rows, columns = np.mgrid[
            max(0, row - 2) : min(6, row + 3), max(0, column - 2) : min(7, column + 3)
        ]
        mean = [(weights * axis).sum() / weights.sum() for axis in (rows, columns)]
        np.testing.assert_allclose(positions[0, cell // 7, cell % 7], mean, atol=1e-3)
    _check_evidence(evidence[0].numpy().reshape(6 * 7, -1), expected)


def _check_evidence(found, votes):
    """Compares what the votes tell with a plain reading of them, `(cells, cells)`."""
    places = np.stack(np.mgrid[:6, :7], axis=-1).reshape(-1, 2)
    for cell, row in enumerate(votes):
        relative = row / row.max()
        away = np.linalg.norm(places - places[row.argmax()], axis=1)
        shares = []
        for radius, power in ((1.5, 1), (3.0, 3)):
            weights = relative**power
            inside, outside = weights[away <= radius].sum(), weights[away > radius].sum()
            shares.append(np.log(max(inside, 1e-6) / max(outside, 1e-6)))
        column = votes[:, row.argmax()]
        home = places[column.argmax()] - places[cell]
        expected = [
            *shares,
            relative[away > 3].max(initial=0),
            np.log1p(np.linalg.norm(home)),
            np.log(row.max() / column.max() + 1e-6),
        ]
        np.testing.assert_allclose(found[cell], expected, rtol=0.05, atol=0.05)


def test_identical_maps_do_not_move():
    source = random_map((14, 14), depth=64)
    flow = HoughMatcher(grid_size=14)(source, source)
    np.testing.assert_allclose(flow.displacement, 0, atol=0.4)  # A tenth of a cell.


def test_smooth_identical_maps_move_less_than_half_a_cell():
    values = np.random.default_rng(0).normal(size=(28, 28, 16))
    values = scipy.ndimage.gaussian_filter(values, (1.5, 1.5, 0))
    source = FeatureMap(values, (280, 280))
    flow = HoughMatcher()(source, source)
    assert np.abs(flow.displacement).max() < 5


def test_votes_find_a_translation_that_appearance_alone_does_not():
    source, target = shifted_maps(shift=(2, -3), depth=32)
    rng = np.random.default_rng(1)
    noisy = FeatureMap(
        target.values + 1.5 * rng.normal(size=target.values.shape), target.image_size
    )
    seen = np.s_[4:-12, 16:-4]
    shares = []
    for smoothing, power in ((1.0, 3.0), (1.0, 50.0)):  # A high power leaves the vote no weight.
        matcher = HoughMatcher(source.grid_size, power=power, smoothing=smoothing, temperature=0)
        error = np.abs(matcher(source, noisy).displacement[seen] - [8, -12]).max(axis=-1)
        shares.append((error < 2).mean())
    assert shares[0] > 0.9
    assert shares[0] > shares[1] + 0.2


def test_scales_let_votes_agree_on_a_change_of_size():
    rng = np.random.default_rng(2)
    field = scipy.ndimage.gaussian_filter(rng.normal(size=(40, 40, 24)), (0.7, 0.7, 0))
    source = FeatureMap(field[10:30, 10:30], (200, 200))
    target = FeatureMap(field, (200, 200)).resized(20, 20)  # The object at half its size.
    noisy = FeatureMap(
        target.values + 0.8 * target.values.std() * rng.normal(size=(20, 20, 24)), (200, 200)
    )
    rows = np.arange(200) - 99.5
    expected = np.stack(np.meshgrid(-rows / 2, -rows / 2, indexing="ij"), axis=-1)
    errors = []
    for scales in ((1.0,), (1.0, 0.5)):
        flow = HoughMatcher(20, scales=scales, locality=0)(source, noisy)
        errors.append(np.linalg.norm(flow.displacement - expected, axis=-1))
    assert np.median(errors[1]) < 10  # A cell of the target.
    assert np.mean(errors[1] < 10) > np.mean(errors[0] < 10) + 0.1


def test_neighbours_let_parts_move_on_their_own():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20, 28, 24))
    source = FeatureMap(values, (200, 280))
    # The left half moves up, the right half down.
    target = np.concatenate(
        [np.roll(values[:, :14], -3, axis=0), np.roll(values[:, 14:], 3, axis=0)], axis=1
    )
    noisy = FeatureMap(target + 1.5 * rng.normal(size=values.shape), (200, 280))
    expected = np.zeros((200, 280, 2))
    expected[:, :140, 0], expected[:, 140:, 0] = -30, 30
    seen = np.s_[40:-40]
    shares = []
    for locality in (0, 2):
        flow = HoughMatcher(source.grid_size, locality=locality)(source, noisy)
        error = np.linalg.norm(flow.displacement - expected, axis=-1)[seen]
        shares.append((error < 10).mean())
    assert shares[1] > 0.8
    assert shares[1] > shares[0] + 0.1


def test_cells_that_are_like_everything_do_not_draw_all_matches():
    rng = np.random.default_rng(3)
    common, own, noise = rng.normal(size=64), *rng.normal(size=(2, 64, 64))
    order = rng.permutation(64)  # Neither offsets nor neighbours say anything.
    target = (common + own + 1.5 * noise)[order]
    target[:4] = common
    maps = [
        tf.constant(values.reshape(1, 8, 8, 64), tf.float32) for values in (common + own, target)
    ]
    drawn, right = [], []
    for temperature in (0, 0.15):
        positions, *_ = hough_cells(
            *maps, (8, 8), smoothing=8.0, locality=0.0, temperature=temperature
        )
        found = np.round(positions.numpy().reshape(64, 2)) @ [8, 1]
        drawn.append((found < 4).sum())
        right.append((found == np.argsort(order))[np.argsort(order) >= 4].mean())
    assert drawn[0] > 30 and drawn[1] == 0
    assert right[0] < 0.5 and right[1] > 0.9


@pytest.mark.parametrize(
    "options", [{"neighborhood": 0}, {"locality": -1.0}, {"temperature": 0.01}, {"temperature": -1}]
)
def test_bad_votes_are_refused(options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` must.*Received"):
        HoughMatcher(**options)


def test_different_sizes_stay_inside_the_target():
    flow = HoughMatcher((6, 8))(random_map((9, 12), seed=1), random_map((20, 5), seed=2))
    assert flow.shape == (36, 48) and flow.target_size == (80, 20)
    assert_inside_target(flow)


def test_a_flipped_pair_gives_the_flipped_flow():
    source, target = random_map((16, 20), seed=1), random_map((16, 20), seed=2)
    matcher = HoughMatcher((8, 10))
    result = matcher(flipped(source), flipped(target))
    np.testing.assert_allclose(
        result.displacement, flipped_flow(matcher(source, target)), atol=1e-2
    )


def test_a_batch_equals_one_by_one():
    sources = [random_map(seed=seed) for seed in (1, 2, 3)]
    targets = [random_map((7, 10), seed=seed) for seed in (4, 5, 6)]
    together = hough_cells(_batch(*sources), _batch(*targets), (6, 8))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = hough_cells(_batch(source), _batch(target), (6, 8))
        for several, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(several[row], one[0], rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_maps_give_no_nan(value):
    source = FeatureMap(np.full((5, 6, 3), value), (50, 60))
    target = FeatureMap(np.full((7, 6, 3), value), (70, 60))
    flow = HoughMatcher(8)(source, target)
    assert_inside_target(flow)
    if value == 0:
        np.testing.assert_array_equal(flow.confidence, 0)
        np.testing.assert_allclose(flow.displacement[25, 30], [10.2, 0], atol=0.2)


def test_different_depths_are_refused():
    with pytest.raises(ValueError, match="same depth. Received: source.depth=8, target.depth=4"):
        HoughMatcher()(random_map(), random_map(depth=4))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"grid_size": 0}, "`grid_size` must be"),
        ({"grid_size": (3, 4, 5)}, "`grid_size` must be"),
        ({"power": 0}, "`power` must be positive. Received: power=0"),
        ({"smoothing": -1}, "`smoothing` must not be negative. Received: smoothing=-1"),
        ({"scales": ()}, "`scales` must be positive numbers. Received: scales="),
        ({"scales": (1.0, -2.0)}, "`scales` must be positive numbers. Received: scales="),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        HoughMatcher(**options)


def test_runs_in_a_saved_model_of_unknown_sizes(tmp_path):
    module = tf.Module()
    unknown = tf.TensorSpec((None, None, None, None))
    module.match = tf.function(
        lambda source, target: hough_cells(source, target, (6, 8)),
        input_signature=[unknown, unknown],
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    source, target = random_map(seed=1), random_map((5, 20), seed=2)
    for result, expected in zip(
        loaded.match(_batch(source), _batch(target)),
        hough_cells(_batch(source), _batch(target), (6, 8)),
        strict=True,
    ):
        # Logarithms of odds in the thousands hang on the last digits of a sum.
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)
