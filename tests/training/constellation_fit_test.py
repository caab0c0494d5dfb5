"""Parts are found among noise where the truth is known, and aspects apart from their mirrors."""

import numpy as np
import pytest

from anchornet_tf.training.constellation.fit import fit_constellation

FOLLOWING, NOISE = 12, 48


def world(images=60, mirrored=False, seed=0, lost=0.2, jitter=0.02):
    """Draws locations: the first 12 channels follow the object, except in a fifth of the images.

    Returns:
        Locations, the view of each image, its anchor and the true shifts.
    """
    rng = np.random.default_rng(seed)
    locations = rng.uniform(size=(images, FOLLOWING + NOISE, 2))
    shape = rng.uniform(-0.25, 0.25, (FOLLOWING, 2))
    view = np.arange(images) % 2 if mirrored else np.zeros(images, int)
    shifts = np.where(view[:, np.newaxis, np.newaxis] == 1, shape * (1, -1), shape)
    anchors = rng.uniform(0.3, 0.7, (images, 1, 2))
    follow = anchors + shifts + rng.normal(0, jitter, shifts.shape)
    kept = rng.uniform(size=(images, FOLLOWING, 1)) >= lost
    locations[:, :FOLLOWING] = np.where(kept, follow, locations[:, :FOLLOWING])
    return locations, view, anchors[:, 0], shape


def everywhere(locations):
    return np.ones(locations.shape[:2], bool)


@pytest.mark.parametrize("variant", ["formula", "published"])
def test_channels_that_follow_the_object_are_found_among_noise(variant):
    locations, _, anchors, shape = world()
    found = fit_constellation(
        locations, everywhere(locations), aspects=1, parts=10, visible=5, variant=variant
    )
    assert (found.parts < FOLLOWING).all()
    assert found.visible.sum(axis=1).tolist() == [5] * len(locations)
    if variant == "formula":
        # Five of ten visible parts: the losses in a fifth of the images do not matter.
        own = shape[found.parts[0]]
        np.testing.assert_allclose(found.shifts[0], own - own.mean(axis=0), atol=0.01)
        np.testing.assert_allclose(found.anchors, anchors + own.mean(axis=0), atol=0.05)
        assert (np.sqrt(found.variances) < 0.03).all()


def test_aspects_separate_mirrored_views():
    for seed in range(3):
        locations, view, _, shape = world(mirrored=True, seed=seed)
        found = fit_constellation(locations, everywhere(locations), aspects=2, seed=seed)
        agreement = np.mean(found.aspect == view)
        assert agreement in (0, 1)
        assert (found.parts < FOLLOWING).all()
        for aspect in range(2):
            sign = 1 if (aspect == 1) == (agreement == 1) else -1
            own = shape[found.parts[aspect]] * (1, -sign)
            np.testing.assert_allclose(found.shifts[aspect], own - own.mean(axis=0), atol=0.02)


def test_the_published_updates_cannot_separate_them():
    """Their shifts are the same for all aspects: the formula's objective is far lower."""
    locations, _, _, _ = world(mirrored=True)
    fits = [
        fit_constellation(locations, everywhere(locations), aspects=2, variant=variant)
        for variant in ("formula", "published")
    ]
    assert fits[0].objective < 0.1 * fits[1].objective


def test_moving_the_objects_moves_the_anchors_alone():
    locations, _, _, _ = world()
    moves = np.random.default_rng(1).uniform(-0.2, 0.2, (len(locations), 1, 2))
    still, moved = (
        fit_constellation(places, everywhere(places), aspects=1)
        for places in (locations, locations + np.where(np.arange(60)[None, :, None] < 12, moves, 0))
    )
    assert (moved.parts < FOLLOWING).all()
    assert moved.objective == pytest.approx(still.objective, rel=0.2)


def test_channels_that_do_not_respond_are_not_chosen():
    locations, _, _, _ = world(lost=0)
    present = everywhere(locations)
    present[:, 3] = False
    # A location that is not there must not matter, whatever stands in its place.
    for nothing in (np.nan, 0.5):
        locations[:, 3] = nothing
        found = fit_constellation(locations, present, aspects=1)
        assert 3 not in found.parts
        assert (found.parts < FOLLOWING).all()


def test_images_without_any_channel_show_no_part():
    locations, _, _, _ = world(images=20)
    present = everywhere(locations)
    present[0] = False
    found = fit_constellation(locations, present, aspects=1)
    assert not found.visible[0].any() and found.visible[1:].any(axis=1).all()
    assert np.isfinite(found.anchors).all() and found.objective > 5


@pytest.mark.parametrize("variant", ["formula", "published"])
def test_places_stay_in_the_image_where_few_channels_respond(variant):
    """An aspect may have to take channels that its images do not show."""
    locations, _, _, _ = world(images=12)
    present = np.random.default_rng(2).uniform(size=locations.shape[:2]) < 0.15
    present[:, :2] = True
    found = fit_constellation(locations, present, aspects=4, variant=variant)
    assert np.abs(found.shifts).max() < 2 and np.abs(found.anchors).max() < 2
    own = np.take_along_axis(present, found.parts[found.aspect], axis=1)
    assert not (found.visible & ~own).any()


def test_the_numbers_add_up():
    locations, _, _, _ = world(mirrored=True)
    found = fit_constellation(locations, everywhere(locations), aspects=4, parts=6, visible=3)
    aspects = len(found.weights)
    assert found.weights.sum() == pytest.approx(1) and (found.weights > 0).all()
    np.testing.assert_allclose(found.shifts.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found.visibility.sum(axis=1), 3)
    assert (np.diff(found.visibility, axis=1) <= 0).all()
    total = 0.0
    for aspect in range(aspects):
        members = found.aspect == aspect
        places = locations[members][:, found.parts[aspect]]
        residuals = places - found.anchors[members, np.newaxis] - found.shifts[aspect]
        squares = np.square(residuals).sum(axis=-1)
        total += squares[found.visible[members]].sum()
        seen = found.visible[members].sum(axis=0)
        expected = np.where(found.visible[members], squares, 0).sum(axis=0) / np.maximum(seen, 1)
        np.testing.assert_allclose(found.variances[aspect], expected / 2, atol=1e-12)
    assert found.objective == pytest.approx(total)


def test_channels_that_see_the_same_thing_are_one_part():
    """Forty copies of a channel that wanders are in one place, but follow no object."""
    locations, _, _, _ = world(lost=0.1)
    rng = np.random.default_rng(5)
    wandering = rng.uniform(size=(len(locations), 1, 2)) + rng.normal(0, 0.001, (60, 40, 2))
    locations = np.concatenate([locations, wandering], axis=1)
    copies = FOLLOWING + NOISE
    free, apart = (
        fit_constellation(
            locations, everywhere(locations), aspects=1, parts=6, visible=4, separation=distance
        )
        for distance in (0.0, 0.05)
    )
    assert (free.parts >= copies).all()
    assert (apart.parts < FOLLOWING).sum() >= 5 and (apart.parts >= copies).sum() <= 1
    gaps = np.linalg.norm(apart.shifts[0][:, np.newaxis] - apart.shifts[0], axis=-1)
    assert gaps[~np.eye(6, dtype=bool)].min() >= 0.05


def test_too_large_a_separation_still_gives_all_parts():
    locations, _, _, _ = world(images=10)
    found = fit_constellation(locations, everywhere(locations), aspects=1, separation=5.0)
    assert len(set(found.parts[0])) == 10


def test_the_same_seed_gives_the_same_and_more_starts_are_no_worse():
    locations, _, _, _ = world(mirrored=True)
    one, again, more = (
        fit_constellation(locations, everywhere(locations), aspects=3, restarts=restarts, seed=1)
        for restarts in (1, 1, 6)
    )
    np.testing.assert_array_equal(one.parts, again.parts)
    np.testing.assert_array_equal(one.shifts, again.shifts)
    assert more.objective <= one.objective


def test_more_aspects_than_images_are_fewer():
    locations, _, _, _ = world(images=3)
    found = fit_constellation(locations, everywhere(locations), aspects=10)
    assert len(found.parts) <= 3 and len(found.aspect) == 3


@pytest.mark.parametrize(
    "shape, changes, message",
    [
        ((5, 8), {}, r"Expected locations \(images, channels, 2\).*Received: \(5, 8\)"),
        ((1, 20, 2), {}, "at least 2 images.*Received: 1"),
        ((5, 8, 2), {}, "at least 10 channels.*Received: 8"),
        ((5, 20, 2), {"visible": 11}, "Received: visible=11, parts=10"),
        ((5, 20, 2), {"visible": 1}, "Received: visible=1"),
        ((5, 20, 2), {"variant": "other"}, "Received: 'other'"),
    ],
)
def test_bad_input_is_refused(shape, changes, message):
    locations = np.random.default_rng(0).uniform(size=shape)
    with pytest.raises(ValueError, match=message):
        fit_constellation(locations, np.ones(shape[:2], bool), **changes)


def test_locations_that_are_not_finite_are_refused():
    locations, _, _, _ = world(images=4)
    locations[1, 2] = np.inf
    with pytest.raises(ValueError, match="finite locations. Received"):
        fit_constellation(locations, everywhere(locations))
