"""Smoothing of tracks: against dense least squares, and what must stay as it is."""

import numpy as np
import pytest

from anchornet_tf.tasks.smoothing import smooth_tracks, trusted_deviations


def _track(frames=30, points=2, seed=0, noise=1.0):
    """Returns noisy positions on smooth curves, their scores and no fixed points."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 3, frames)[:, np.newaxis, np.newaxis]
    curves = 100 + 40 * np.sin(time + rng.uniform(0, 6, (points, 2)))
    scores = rng.uniform(0.2, 1, (frames, points))
    fixed = np.zeros((frames, points), bool)
    return curves + noise * rng.normal(size=curves.shape), scores, fixed


def _dense(positions, weights, fixed, penalty):
    """Least squares of one track with a full matrix and Lagrange multipliers for fixed frames."""
    length = len(positions)
    differences = np.diff(np.eye(length), 2, axis=0)
    matrix = np.diag(weights) + penalty * differences.T @ differences
    rows = np.eye(length)[fixed]
    zeros = np.zeros((len(rows), len(rows)))
    system = np.block([[matrix, rows.T], [rows, zeros]])
    right = np.concatenate([weights[:, np.newaxis] * np.nan_to_num(positions), positions[fixed]])
    return np.linalg.solve(system, right)[:length]


@pytest.mark.parametrize("strength", [0.5, 2.0, 8.0])
def test_it_is_regularised_least_squares(strength):
    positions, scores, fixed = _track()
    fixed[[4, 11], 0] = fixed[0, 1] = True
    positions[6:10, 0] = positions[20, 1] = np.nan
    smooth = smooth_tracks(positions, scores, fixed, strength, rounds=0)
    for point in range(2):
        weights = np.where(np.isnan(positions[:, point, 0]), 0, scores[:, point])
        expected = _dense(positions[:, point], weights, fixed[:, point], strength**4)
        np.testing.assert_allclose(smooth[:, point], expected, atol=1e-8)


def test_rounds_minimise_hubers_function():
    positions, scores, fixed = _track(points=1, noise=0.3)
    positions[12, 0] += [60, -80]
    smooth = smooth_tracks(positions, scores, fixed, 2.0, rounds=300)[:, 0]
    deviations = np.linalg.norm(positions[:, 0] - smooth, axis=-1)
    trusted = trusted_deviations(deviations)
    weights = scores[:, 0] * np.minimum(1, trusted / deviations)
    assert deviations[12] > 20 * trusted[12]
    expected = _dense(positions[:, 0], weights, fixed[:, 0], 2.0**4)
    np.testing.assert_allclose(smooth, expected, atol=1e-6)
    # The usual number of rounds is enough.
    few = smooth_tracks(positions, scores, fixed, 2.0)[:, 0]
    assert np.abs(few - smooth).max() < 0.1


def test_what_deviates_alone_is_an_outlier_and_what_deviates_together_is_quick():
    deviations = np.full(40, 0.1)
    deviations[10] = 50
    np.testing.assert_array_equal(trusted_deviations(deviations), 1)
    deviations = np.full(40, 2.0)
    deviations[20:30] = 10
    trusted = trusted_deviations(deviations)
    np.testing.assert_allclose(trusted[[0, 25]], [2 * 2 / 1.1774, 2 * 10 / 1.1774])


def test_the_trusted_deviation_is_two_standard_deviations_of_noise():
    noise = 3 * np.random.default_rng(0).normal(size=(4001, 2))
    deviations = np.linalg.norm(noise, axis=-1)
    assert 5.8 < trusted_deviations(deviations).min() < 6.2


def test_constant_velocity_is_unchanged():
    time = np.arange(500.0)[:, np.newaxis, np.newaxis]
    positions = np.array([[3.0, 900.0], [0.0, 0.0]]) + time * np.array([[1.5, -0.7], [0.0, 0.0]])
    scores = np.full((500, 2), 0.001)
    fixed = np.zeros((500, 2), bool)
    fixed[7] = True
    for strength in (0.1, 3, 100):
        smooth = smooth_tracks(positions, scores, fixed, strength)
        np.testing.assert_allclose(smooth, positions, atol=1e-7)


def test_gaps_of_a_straight_track_are_filled_in_straight():
    positions = np.arange(400.0)[:, np.newaxis, np.newaxis] * np.array([1.0, 2.0])
    expected = positions.copy()
    positions[20:90] = np.nan
    positions[100:390] = np.nan  # longer than what is bridged by smoothness
    ones, none = np.ones((400, 1)), np.zeros((400, 1), bool)
    np.testing.assert_allclose(smooth_tracks(positions, ones, none), expected, atol=1e-8)


def test_beyond_the_first_and_last_find_a_point_stays():
    positions, scores, fixed = _track(points=1)
    positions[:5] = positions[25:] = np.nan
    smooth = smooth_tracks(positions, scores, fixed)[:, 0]
    np.testing.assert_array_equal(smooth[:5], np.tile(smooth[5], (5, 1)))
    np.testing.assert_array_equal(smooth[25:], np.tile(smooth[24], (5, 1)))


def test_fixed_points_stay_exactly_and_guide_their_neighbours():
    positions, scores, fixed = _track()
    positions[10, 0] = [1 / 3, 2 / 3]
    fixed[10, 0] = True
    scores[10, 0] = np.nan  # A person's point has no score.
    smooth = smooth_tracks(positions, scores, fixed, 5)
    np.testing.assert_array_equal(smooth[10, 0], positions[10, 0])
    free = smooth_tracks(positions, scores, np.zeros_like(fixed), 5)
    gained = np.linalg.norm(free[9, 0] - [1 / 3, 2 / 3]) - np.linalg.norm(
        smooth[9, 0] - [1 / 3, 2 / 3]
    )
    assert gained > 20


def test_an_outlier_is_pulled_in():
    clean, scores, fixed = _track(points=1, noise=0)
    positions = clean.copy()
    positions[15, 0] += [150, 90]
    robust = smooth_tracks(positions, scores, fixed, 2)
    plain = smooth_tracks(positions, scores, fixed, 2, rounds=0)
    off = np.linalg.norm(robust - clean, axis=-1)[8:22].max()
    assert off < 1 < 30 < np.linalg.norm(plain - clean, axis=-1).max()
    alone = smooth_tracks(clean, scores, fixed, 2)
    assert np.abs(robust - alone).max() < 0.3


def test_noise_becomes_less_and_more_so_with_strength():
    clean = _track(frames=200, noise=0)[0]
    positions, scores, fixed = _track(frames=200, noise=2)
    errors = [
        np.abs(smooth_tracks(positions, scores, fixed, strength) - clean).mean()
        for strength in (0, 1, 4)
    ]
    assert errors[0] > 1.3 * errors[1] > 1.5 * errors[2]


def test_the_surer_of_two_frames_counts_more():
    positions = np.zeros((3, 1, 2))
    positions[1] = 10
    none = np.zeros((3, 1), bool)
    sure = smooth_tracks(positions, np.array([[0.1], [1], [0.1]]), none, 1, rounds=0)
    unsure = smooth_tracks(positions, np.array([[1], [0.1], [1]]), none, 1, rounds=0)
    assert sure[1, 0, 0] > 8 > 2 > unsure[1, 0, 0]


def test_strength_zero_keeps_what_was_found_and_fills_in_the_rest():
    positions, scores, fixed = _track()
    positions[8, 1] = np.nan
    smooth = smooth_tracks(positions, scores, fixed, 0)
    there = np.isfinite(positions)
    np.testing.assert_array_equal(smooth[there], positions[there])
    assert np.isfinite(smooth).all()


def test_tracks_are_independent_and_moved_as_a_whole():
    positions, scores, fixed = _track(points=3)
    smooth = smooth_tracks(positions, scores, fixed)
    np.testing.assert_allclose(
        smooth_tracks(positions[:, 1:2], scores[:, 1:2], fixed[:, 1:2]), smooth[:, 1:2]
    )
    moved = smooth_tracks(positions + [1000, -50], scores, fixed)
    np.testing.assert_allclose(moved, smooth + [1000, -50])
    back = smooth_tracks(positions[::-1], scores[::-1], fixed[::-1])
    np.testing.assert_allclose(back[::-1], smooth, rtol=1e-9)


def test_little_or_nothing():
    for shape in ((0, 0), (0, 3), (4, 0)):
        found = smooth_tracks(np.zeros((*shape, 2)), np.zeros(shape), np.zeros(shape, bool))
        assert found.shape == (*shape, 2)
    for frames in (1, 2):
        positions = np.random.default_rng(0).uniform(size=(frames, 2, 2))
        ones, none = np.ones((frames, 2)), np.zeros((frames, 2), bool)
        np.testing.assert_array_equal(smooth_tracks(positions, ones, none), positions)
    positions = np.full((5, 2, 2), np.nan)
    positions[3, 1] = [7, 8]
    smooth = smooth_tracks(positions, np.ones((5, 2)), np.zeros((5, 2), bool))
    assert np.isnan(smooth[:, 0]).all()
    np.testing.assert_array_equal(smooth[:, 1], np.tile([7, 8], (5, 1)))


def test_a_score_of_zero_is_not_found():
    positions, scores, fixed = _track()
    scores[9, 0], scores[10, 0] = 0, np.nan
    smooth = smooth_tracks(positions, scores, fixed)
    positions[9:11, 0] = np.nan
    scores[9:11, 0] = 1
    np.testing.assert_array_equal(smooth, smooth_tracks(positions, scores, fixed))


def test_wrong_input_is_named():
    positions, scores, fixed = _track()
    with pytest.raises(ValueError, match=r"\(frames, points, 2\)\. Received: .*\(30, 2\)"):
        smooth_tracks(positions[..., 0], scores, fixed)
    with pytest.raises(ValueError, match=r"`fixed` must .* Received: fixed.shape=\(29, 2\)"):
        smooth_tracks(positions, scores, fixed[1:])
    for strength in (-1, np.nan, 101):
        with pytest.raises(ValueError, match="`strength` must .* Received: strength="):
            smooth_tracks(positions, scores, fixed, strength)
    with pytest.raises(ValueError, match="`rounds` must .* Received: rounds=-1"):
        smooth_tracks(positions, scores, fixed, rounds=-1)
    with pytest.raises(ValueError, match="`scores` must be from 0 to 1. Received: 2"):
        smooth_tracks(positions, np.full_like(scores, 2), fixed)
    positions[3, 1] = np.nan
    fixed[3, 1] = True
    with pytest.raises(ValueError, match="Received: none for point 1 of frame 3"):
        smooth_tracks(positions, scores, fixed)
