"""Evidence for matches against a plain NumPy reading of what each kind says."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features.object_probe import GRID, ObjectProbe
from anchornet_tf.matchers import evidence
from anchornet_tf.matchers.evidence import NAMES

ROWS, COLUMNS, DEPTH = *GRID, 6


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    source, target = rng.standard_normal((2, ROWS, COLUMNS, DEPTH)).astype(np.float32)
    positions = rng.integers(0, 28, (ROWS, COLUMNS, 2)).astype(np.float32)
    scores = rng.random((ROWS, COLUMNS)).astype(np.float32)
    probe = ObjectProbe(
        tf.constant(rng.standard_normal(DEPTH), tf.float32), tf.constant(0.5), tf.constant(-0.2)
    )
    looks = [evidence.look(values[None], probe) for values in (source, target)]
    found = evidence.match_evidence(*looks, positions[None], scores[None])
    return source, target, positions, scores, probe, found[0].numpy()


def _units(values):
    return (values / np.linalg.norm(values, axis=-1, keepdims=True)).reshape(-1, DEPTH)


def _places():
    return np.stack(np.mgrid[:ROWS, :COLUMNS], axis=-1).reshape(-1, 2).astype(float)


def _logits(values, probe):
    flat = values.reshape(-1, DEPTH)
    lengths = np.log(np.linalg.norm(flat, axis=-1))
    return _units(values) @ probe.weights.numpy() + 0.5 * lengths - 0.2


def _view(descriptors, cells, ends, similarity):
    likeness = descriptors @ cells.T
    places = _places()
    near = np.linalg.norm(ends[:, None] - places[None], axis=-1) <= 3
    best = likeness.max(axis=1)
    elsewhere = np.where(near, -np.inf, likeness).max(axis=1)
    weights = np.exp((likeness - best[:, None]) / 0.03)
    inside = np.maximum((weights * near).sum(axis=1), 1e-6)
    outside = np.maximum((weights * ~near).sum(axis=1), 1e-6)
    return (
        best - similarity,
        similarity - elsewhere,
        np.log(inside / outside),
        places[likeness.argmax(axis=1)],
    )


def test_every_kind_equals_its_formula(case):
    source, target, positions, scores, probe, found = case
    starts, ends = _places(), positions.reshape(-1, 2).astype(float)
    a, b = _units(source), _units(target)
    at_end = b[(ends[:, 0] * COLUMNS + ends[:, 1]).astype(int)]
    similarity = (a * at_end).sum(axis=1)
    shortfall, margin, share, _ = _view(a, b, ends, similarity)
    back_shortfall, back_margin, back_share, home = _view(at_end, a, starts, similarity)
    on_source, on_target = _logits(source, probe), _logits(target, probe)
    weights = 1 / (1 + np.exp(-on_source))
    weights /= weights.sum()
    centre = weights @ starts

    def spread(places, shares):
        return np.sqrt(shares @ ((places - shares @ places) ** 2).sum(axis=1))

    target_weights = 1 / (1 + np.exp(-on_target))
    expected = {
        "similarity": similarity,
        "shortfall": shortfall,
        "margin": margin,
        "share": share,
        "backward_shortfall": back_shortfall,
        "backward_margin": back_margin,
        "backward_share": back_share,
        "return_distance": np.log1p(np.linalg.norm(home - starts, axis=1)),
        "score": scores.ravel(),
        "source_object": on_source,
        "target_object": on_target[(ends[:, 0] * COLUMNS + ends[:, 1]).astype(int)],
        "eccentricity": np.linalg.norm(starts - centre, axis=1) / spread(starts, weights),
        "source_spread": np.log(spread(starts, weights)),
        "landing_spread": np.log(spread(ends, weights)),
        "target_spread": np.log(spread(_places(), target_weights / target_weights.sum())),
    }
    moved = (ends - starts).reshape(ROWS, COLUMNS, 2)
    for radius in (1, 4):
        plain = np.empty((ROWS, COLUMNS))
        for row in range(ROWS):
            for column in range(COLUMNS):
                window = moved[
                    max(0, row - radius) : row + radius + 1,
                    max(0, column - radius) : column + radius + 1,
                ].reshape(-1, 2)
                deviation = np.sqrt(window.var(axis=0).sum() + 1e-6)
                own = np.linalg.norm(moved[row, column] - window.mean(axis=0))
                plain[row, column] = np.log1p(deviation + own)
        expected[f"disagreement_{radius}"] = plain.ravel()
    for name in NAMES:
        if name.startswith("mean_"):
            expected[name] = weights @ expected[name.removeprefix("mean_")]
    assert set(expected) == set(NAMES)
    for number, name in enumerate(NAMES):
        values = found[..., number].ravel()
        np.testing.assert_allclose(
            values,
            np.broadcast_to(expected[name], values.shape),
            rtol=2e-3,
            atol=2e-3,
            err_msg=name,
        )


def test_a_perfect_match_is_told_from_a_wrong_one():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1, *GRID, 32)).astype(np.float32)
    home = np.stack(np.mgrid[:28, :28], axis=-1)[None].astype(np.float32)
    scores = np.ones((1, *GRID), np.float32)
    seen = evidence.look(values)
    right, wrong = (
        evidence.match_evidence(seen, seen, positions, scores)[0].numpy()
        for positions in (home, np.roll(home[:, ::-1], 14, 1))
    )
    index = {name: number for number, name in enumerate(NAMES)}
    np.testing.assert_allclose(right[..., index["similarity"]], 1, atol=1e-4)
    np.testing.assert_allclose(right[..., index["return_distance"]], 0, atol=1e-4)
    assert (right[..., index["share"]] > wrong[..., index["share"]]).mean() > 0.7
    assert right[..., index["disagreement_4"]].max() < wrong[..., index["disagreement_4"]].min()


def test_what_the_matcher_knows_comes_last(case):
    source, target, positions, scores, _, _ = case
    own = np.random.default_rng(2).random((1, ROWS, COLUMNS, 3)).astype(np.float32)
    looks = [evidence.look(values[None]) for values in (source, target)]
    found = evidence.match_evidence(*looks, positions[None], scores[None], own)
    np.testing.assert_array_equal(found[..., len(NAMES) :], own)
    np.testing.assert_array_equal(found[..., NAMES.index("source_object")], 0)


def test_constant_maps_give_finite_evidence():
    flat = np.zeros((1, 9, 7, 4), np.float32)
    positions = np.zeros((1, 5, 6, 2), np.float32)
    seen = evidence.look(flat)
    found = evidence.match_evidence(seen, seen, positions, np.zeros((1, 5, 6), np.float32))
    assert found.shape == (1, 5, 6, len(NAMES)) and np.isfinite(found).all()
