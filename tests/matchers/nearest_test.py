"""Nearest neighbours: against plain NumPy, and the properties of every matcher."""

import numpy as np
import pytest
import scipy.ndimage
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers import nearest
from anchornet_tf.matchers.nearest import NearestMatcher, cell_offsets, nearest_cells
from tests.matchers.matcher_properties import (
    assert_inside_target,
    flipped,
    flipped_flow,
    random_map,
    shifted_maps,
)


def _unit(values):
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def _batch(*maps):
    return tf.constant(np.stack([feature_map.values for feature_map in maps]))


@pytest.mark.parametrize("tiles", [(1024, 512), (50, 33)])
def test_agrees_with_all_pairs_in_numpy(monkeypatch, tiles):
    monkeypatch.setattr(nearest, "_TILE_ROWS", tiles[0])
    monkeypatch.setattr(nearest, "_TILE_COLUMNS", tiles[1])
    source, target = random_map((11, 13), seed=1), random_map((10, 15), seed=2)
    # Traced anew: the tile sizes are constants of the graph.
    match = tf.function(nearest_cells.python_function)
    positions, similarity, valid = match(_batch(source), _batch(target), mutual=True, refine=False)
    products = _unit(source.values).reshape(-1, 8) @ _unit(target.values).reshape(-1, 8).T
    index = products.argmax(axis=1)
    expected = np.stack(np.divmod(index, 15), axis=-1).reshape(11, 13, 2)
    np.testing.assert_array_equal(positions[0], expected)
    np.testing.assert_allclose(similarity[0], products.max(axis=1).reshape(11, 13), atol=1e-6)
    mutual = products.argmax(axis=0)[index] == np.arange(11 * 13)
    np.testing.assert_array_equal(valid[0], mutual.reshape(11, 13))
    assert 0 < mutual.sum() < mutual.size


def test_the_first_of_equals_wins():
    values = np.zeros((1, 6, 2), np.float32)
    values[0, :, 0] = 1
    positions, _, _ = nearest_cells(values[np.newaxis], values[np.newaxis], refine=False)
    np.testing.assert_array_equal(positions, 0)


@pytest.mark.parametrize("grid", [(24, 28), (23, 29)])
def test_coarse_search_finds_nearly_what_the_full_search_finds(grid):
    rng = np.random.default_rng(0)
    noise, source = scipy.ndimage.gaussian_filter(
        rng.normal(size=(2, 1, *grid, 16)).astype(np.float32), (0, 0, 1.5, 1.5, 0)
    )
    target = np.roll(source, (3, -4), axis=(1, 2)) + 0.5 * noise
    positions, similarity, _ = nearest_cells(source, target, refine=False, coarse=True)
    expected, highest, _ = nearest_cells(source, target, refine=False)
    same = (positions == expected).numpy().all(axis=-1)
    assert same.mean() > 0.9
    assert (similarity <= highest + 1e-6).numpy().all()
    assert np.mean(highest - similarity) < 0.02
    rows, columns = positions.numpy()[0].astype(int).reshape(-1, 2).T
    products = (_unit(source)[0].reshape(-1, 16) * _unit(target)[0, rows, columns]).sum(axis=-1)
    np.testing.assert_allclose(similarity[0], products.reshape(grid), atol=1e-5)


@pytest.mark.parametrize("refine, coarse", [(False, False), (True, False), (True, True)])
def test_identical_maps_do_not_move(refine, coarse):
    source = random_map(depth=256)  # So deep that the mean of four cells still resembles each.
    flow = NearestMatcher(refine=refine, coarse=coarse, mutual=True)(source, source)
    np.testing.assert_allclose(flow.displacement, 0, atol=1e-4)
    np.testing.assert_allclose(flow.confidence, 1, atol=1e-5)
    assert flow.valid.all()


def test_a_translation_is_found():
    source, target = shifted_maps(shift=(2, -3))
    flow = NearestMatcher(mutual=True)(source, target)
    seen = np.zeros(flow.shape, bool)
    seen[: -2 * 4 - 4, 3 * 4 + 4 :] = True  # In both windows, away from the border of the view.
    np.testing.assert_allclose(flow.displacement[seen], [[8, -12]] * seen.sum(), atol=1e-3)
    assert flow.valid[seen].all()


def test_fractions_of_a_cell_are_found():
    rng = np.random.default_rng(0)
    target = _unit(rng.normal(size=(6, 8, 32)))
    shares = np.array([0.0, 0.2, 0.4])
    # Mixtures of cell (2, 3) and its right neighbour, at any length: only directions count.
    source = 7 * ((1 - shares)[:, np.newaxis] * target[2, 3] + shares[:, np.newaxis] * target[2, 4])
    source = tf.constant(_unit(source), tf.float32)
    index = tf.fill((3,), 2 * 8 + 3)
    offsets = cell_offsets(source, tf.constant(target, tf.float32), index).numpy()
    # The other neighbours are not quite orthogonal to the mixture, but pull little.
    np.testing.assert_allclose(offsets[0], 0, atol=1e-5)
    between = target[2, 3] @ target[2, 4]
    assert abs(between) < 0.5
    toward_left = offsets[:, 1] - shares
    assert (toward_left <= 1e-5).all() and (toward_left > -0.25).all()


def test_offsets_have_the_closed_form():
    rng = np.random.default_rng(3)
    target = _unit(rng.normal(size=(1, 2, 5)) + 1)
    source = _unit(0.7 * target[0, 0] + 0.3 * target[0, 1] + 0.1 * rng.normal(size=5))
    a, b, c = source @ target[0, 1], target[0, 0] @ target[0, 1], source @ target[0, 0]
    shares = np.linspace(0, 1, 100001)
    mixes = (1 - shares)[:, np.newaxis] * target[0, 0] + shares[:, np.newaxis] * target[0, 1]
    best = shares[(_unit(mixes) @ source).argmax()]
    np.testing.assert_allclose((a - b * c) / ((1 - b) * (a + c)), best, atol=1e-4)
    assert 0.1 < best < 0.5
    offsets = cell_offsets(
        tf.constant(source[np.newaxis], tf.float32),
        tf.constant(target, tf.float32),
        tf.constant([0]),
    )
    np.testing.assert_allclose(offsets, [[0, best]], atol=1e-4)


def test_different_sizes_stay_inside_the_target():
    flow = NearestMatcher()(random_map((9, 12), seed=1), random_map((20, 5), seed=2))
    assert flow.shape == (36, 48) and flow.target_size == (80, 20)
    assert_inside_target(flow)


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
def test_a_flipped_pair_gives_the_flipped_flow(interpolation):
    source, target = random_map(seed=1), random_map(seed=2)
    matcher = NearestMatcher(interpolation=interpolation)
    result = matcher(flipped(source), flipped(target))
    np.testing.assert_allclose(
        result.displacement, flipped_flow(matcher(source, target)), atol=1e-3
    )


def test_a_batch_equals_one_by_one():
    sources = [random_map(seed=seed) for seed in (1, 2, 3)]
    targets = [random_map((7, 10), seed=seed) for seed in (4, 5, 6)]
    together = nearest_cells(_batch(*sources), _batch(*targets), mutual=True)
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = nearest_cells(_batch(source), _batch(target), mutual=True)
        for several, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(several[row], one[0], atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_maps_give_no_nan(value):
    source = FeatureMap(np.full((5, 6, 3), value), (50, 60))
    target = FeatureMap(np.full((7, 6, 3), value), (70, 60))
    flow = NearestMatcher(mutual=True)(source, target)
    assert_inside_target(flow)
    if value == 0:  # Nothing to go by: the same relative place, without confidence.
        np.testing.assert_array_equal(flow.confidence, 0)
        np.testing.assert_allclose(flow.displacement[25, 30], [10.2, 0], atol=0.1)


@pytest.mark.parametrize("coarse", [False, True])
def test_source_cells_of_zeros_are_not_compared(monkeypatch, coarse):
    source, target = random_map((11, 13), seed=1), random_map((10, 15), seed=2)
    source.values[2:5] = 0
    target.values[:, 4:9] = 0
    compared = []

    def counted(rows, cells):
        tf.py_function(lambda: compared.append((len(rows), len(cells))), [], [])
        return best_matches(rows, cells)

    match = nearest_cells.python_function
    expected = match(_batch(source), _batch(target), refine=False, coarse=coarse)
    best_matches = nearest.best_matches
    monkeypatch.setattr(nearest, "best_matches", counted)
    found = match(_batch(source), _batch(target), refine=False, coarse=coarse)
    assert compared[0] == (8 * 13, 5 * 8 if coarse else 10 * 15)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    # A map of zeros has nothing that could be compared.
    target.values[:] = 0
    compared.clear()
    positions, similarity, _ = match(_batch(source), _batch(target), mutual=True, coarse=coarse)
    assert all(rows == 0 for rows, _ in compared)
    assert not similarity.numpy().any()
    np.testing.assert_allclose(positions[0, 5, 6], [4.5, 7])  # The same relative place.


def test_a_long_search_is_announced_once(caplog, monkeypatch):
    source, target = random_map((11, 13)), random_map((10, 15))
    matcher = NearestMatcher()
    matcher(source, target)
    assert not caplog.text
    monkeypatch.setattr(nearest, "_MANY_PRODUCTS", 11 * 13 * 10 * 15 * 8)
    NearestMatcher(coarse=True)(source, target)
    NearestMatcher(grid_size=8)(source, target)
    empty = FeatureMap(np.zeros((11, 13, 8)), (44, 52))
    matcher(empty, target)
    assert not caplog.text
    matcher(source, target)
    assert "nearest compares 143 x 150 descriptors of 8 channels" in caplog.text
    assert "grid_size=112" in caplog.text and "coarse=True" in caplog.text
    caplog.clear()
    matcher(source, target)
    assert not caplog.text


def test_maps_are_resampled_to_a_grid():
    source, target = random_map((5, 6), seed=1), random_map((7, 4), seed=2)
    flow = NearestMatcher(grid_size=(10, 12))(source, target)
    expected = NearestMatcher()(source.resized(10, 12), target.resized(10, 12))
    np.testing.assert_array_equal(flow.displacement, expected.displacement)
    assert (flow.displacement != NearestMatcher()(source, target).displacement).any()
    with pytest.raises(ValueError, match="`grid_size` must be.*Received"):
        NearestMatcher(grid_size=0)


def test_different_depths_are_refused():
    with pytest.raises(ValueError, match="same depth. Received: source.depth=8, target.depth=4"):
        NearestMatcher()(random_map(), random_map(depth=4))


def test_unknown_interpolation_is_refused():
    with pytest.raises(ValueError, match="`interpolation` must be .*Received: .*'cubic'"):
        NearestMatcher(interpolation="cubic")


def test_runs_in_a_saved_model_of_unknown_sizes(tmp_path):
    module = tf.Module()
    unknown = tf.TensorSpec((None, None, None, None))
    module.match = tf.function(
        lambda source, target: nearest_cells(source, target), input_signature=[unknown, unknown]
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    source, target = random_map(seed=1), random_map((5, 20), seed=2)
    for result, expected in zip(
        loaded.match(_batch(source), _batch(target)),
        nearest_cells(_batch(source), _batch(target)),
        strict=True,
    ):
        np.testing.assert_allclose(result, expected, atol=1e-6)
