"""Tests of belief propagation on the pyramid: the original's states, and plain formulas."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.matchers.belief_propagation import (
    _distance_transform,
    _message_schedule,
    num_nodes,
    propagate_beliefs,
)
from tests.shared_data import shared_path

_DEFORMATION, _TRUNCATION = 0.05, 0.2  # Of the golden files.


def _golden_costs(archive):
    return archive["u"].T.reshape(21, 7, 9)  # (nodes, x states, y states)


@tf.function
def _states(costs, **options):
    return propagate_beliefs(costs, **options)


def _propagate(costs, **options):
    options = {"deformation": _DEFORMATION, "truncation": _TRUNCATION, **options}
    return _states(tf.constant(costs), **options)[0].numpy()


@pytest.mark.parametrize("iterations", [1, 2, 3, 4, 5])
def test_golden_each_iteration(iterations):
    golden = np.load(shared_path("golden/dsp__tiny_bp.npz"))
    states = _propagate(
        _golden_costs(golden), bottom_up=False, max_iterations=tf.constant(iterations)
    )
    np.testing.assert_array_equal(states, golden["S"][:, iterations - 1])


def test_golden_converged():
    golden = np.load(shared_path("golden/dsp__tiny_bp.npz"))
    states = _propagate(_golden_costs(golden), bottom_up=False)
    np.testing.assert_array_equal(states, golden["opt_state"][:, 0])


def test_golden_with_upward_messages():
    golden = np.load(shared_path("golden/dsp__tiny_bp_fixed.npz"))
    states = _propagate(_golden_costs(golden), bottom_up=True)
    np.testing.assert_array_equal(states, golden["opt_state_fixed"][:, 0])


@pytest.mark.parametrize(("deformation", "truncation"), [(0.05, 0.2), (0.005, 0.25), (1.0, 0.5)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (5, 1), (8, 13)])
def test_distance_transform_is_a_minimum_over_states(shape, deformation, truncation):
    costs = np.random.default_rng(0).uniform(size=(3, *shape)).astype(np.float32)
    x, y = (np.arange(side) for side in shape)
    along_x = np.minimum(deformation * np.abs(x[:, None] - x), truncation)
    along_y = np.minimum(deformation * np.abs(y[:, None] - y), truncation)
    pairwise = along_x[:, None, :, None] + along_y[:, None, :]  # (x, y, x', y')
    expected = (costs[:, None, None] + pairwise).min(axis=(3, 4))
    actual = _distance_transform(tf.constant(costs), deformation, truncation)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_pyramid_finds_the_lowest_energy(seed):
    costs = np.random.default_rng(seed).uniform(size=(5, 2, 2)).astype(np.float32)
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (3, 4), (1, 3), (2, 4)]
    places = [(state // 2, state % 2) for state in range(4)]

    def energy(states):
        moves = sum(
            abs(p - q)
            for a, b in edges
            for p, q in zip(places[states[a]], places[states[b]], strict=True)
        )
        return costs.reshape(5, 4)[range(5), states].sum() + 0.1 * moves

    best = min(itertools.product(range(4), repeat=5), key=lambda states: energy(list(states)))
    states = _propagate(costs, num_levels=2, deformation=0.1, truncation=0.1)
    np.testing.assert_array_equal(states, best)
    assert list(best) != list(costs.reshape(5, 4).argmin(axis=1))  # The edges do have a say.


@pytest.mark.parametrize("bottom_up", [False, True])
def test_schedule_of_messages(bottom_up):
    tails, heads, schedule = _message_schedule(3, bottom_up)
    turns = [set(zip(tails[a:b].tolist(), heads[a:b].tolist(), strict=True)) for a, b in schedule]
    assert turns[0] == {(0, 1), (0, 2), (0, 3), (0, 4)}
    assert {head for tail, head in turns[1] if tail == 2} == {7, 8, 11, 12}  # (x, y) = (0, 1).
    sent = [message for turn in turns for message in turn]
    assert len(sent) == len(set(sent)) == 20 * (1 + bottom_up) + 2 * (4 + 24)
    for turn in turns:  # No message of a turn depends on another.
        assert not {tail for tail, _ in turn} & {head for _, head in turn}
    first_sweep = turns[2 + 2 * bottom_up :][:6]
    assert first_sweep[0] == {(1, 3), (1, 2), (5, 9), (5, 6)}  # To the right and down.
    assert turns[-1] == {(head, tail) for tail, head in first_sweep[0]}
    half = len(tails) // 2
    np.testing.assert_array_equal(tails[:half], heads[half:])
    np.testing.assert_array_equal(heads[:half], tails[half:])


def test_settles_on_agreement():
    costs = np.ones((21, 5, 4), np.float32)
    costs[:, 3, 2] = 0
    states, iterations = _states(tf.constant(costs))
    np.testing.assert_array_equal(states, 3 * 4 + 2)
    assert int(iterations) == 2


def test_equal_costs_take_the_first_state():
    np.testing.assert_array_equal(_propagate(np.ones((21, 5, 4), np.float32)), 0)


def test_neighbours_overrule_a_lone_node():
    costs = np.ones((21, 9, 9), np.float32)
    costs[:, 4, 4] = 0
    costs[20, 4, 4], costs[20, 0, 0] = 1, 0.95
    np.testing.assert_array_equal(_propagate(costs), 4 * 9 + 4)


def test_number_of_nodes():
    assert [num_nodes(levels) for levels in range(4)] == [0, 1, 5, 21]


def test_bad_shape():
    with pytest.raises(ValueError, match=r"shape \(21, x states, y states\).*Received"):
        propagate_beliefs(tf.zeros((20, 3, 3)))
    with pytest.raises(ValueError, match=r"shape \(5, x states, y states\).*Received"):
        propagate_beliefs(tf.zeros((5, 3)), num_levels=2)
