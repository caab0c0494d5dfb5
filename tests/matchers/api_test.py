"""Matching in one call, with descriptors cheap enough for a test."""

import itertools

import numpy as np
import PIL.Image
import pytest

import anchornet_tf
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.api import match_many, match_pair
from anchornet_tf.matchers.nearest import NearestMatcher
from anchornet_tf.matchers.registry import MATCHERS


def _photo(height=40, width=56, seed=0):
    """Returns a random but smooth colour image."""
    small = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), np.uint8)
    return np.array(
        PIL.Image.fromarray(small).resize((width, height), PIL.Image.Resampling.BICUBIC)
    )


class _Colors:
    """Describes cells of four pixels by their colours, and counts images."""

    def __init__(self):
        self.count = 0

    def __call__(self, images):
        self.count += len(images)
        maps = []
        for image in images:
            rows, columns = image.shape[0] // 4, image.shape[1] // 4
            blocks = image.reshape(rows, 4, columns, 4, 3).swapaxes(1, 2)
            values = blocks.reshape(rows, columns, 48) - 127.5
            maps.append(FeatureMap(values, image.shape[:2]))
        return maps


def test_public_names():
    assert anchornet_tf.match_pair is match_pair
    assert anchornet_tf.match_many is match_many


@pytest.mark.parametrize("kind", ["path", "array", "pil"])
def test_pair_from_paths_arrays_and_pil_images(tmp_path, kind):
    arrays = [_photo(seed=0), _photo(48, 40, seed=1)]
    for number, array in enumerate(arrays):
        PIL.Image.fromarray(array).save(tmp_path / f"{number}.png")
    images = {
        "path": [tmp_path / "0.png", str(tmp_path / "1.png")],
        "array": arrays,
        "pil": [PIL.Image.fromarray(array) for array in arrays],
    }[kind]
    flow = match_pair(*images, features=_Colors(), matcher="nearest", mutual=True)
    assert flow.shape == (40, 56) and flow.target_size == (48, 40)
    expected = NearestMatcher(mutual=True)(*_Colors()(arrays))
    np.testing.assert_array_equal(flow.displacement, expected.displacement)
    np.testing.assert_array_equal(flow.valid, expected.valid)


def test_options_go_to_whom_they_belong():
    image = _photo()
    flow = match_pair(image, image, "sift", "hough", step=4, grid_size=(10, 14), power=2.0)
    assert np.abs(flow.displacement).mean() < 2


@pytest.mark.parametrize("features", ["sift", "hog"])
@pytest.mark.parametrize("matcher", MATCHERS.names)
def test_any_descriptor_works_with_any_matcher(features, matcher):
    options = {"num_proposals": 30} if matcher in ("nam", "phm", "lom") else {}
    flow = match_pair(_photo(seed=0), _photo(48, 40, seed=1), features, matcher, **options)
    assert flow.shape == (40, 56) and flow.target_size == (48, 40)
    assert flow.lands_inside().any()


def test_matchers_are_given_the_images():
    seen = {}

    def matcher(source, target, **images):
        seen.update(images)
        return NearestMatcher()(source, target)

    first, second = _photo(seed=0), _photo(seed=1)
    match_pair(first, second, _Colors(), matcher)
    np.testing.assert_array_equal(seen["source_image"], first)
    np.testing.assert_array_equal(seen["target_image"], second)


def test_constant_images_give_no_nan():
    flat = np.full((32, 32, 3), 77, np.uint8)
    for matcher in ("nearest", "hough"):
        flow = match_pair(flat, flat, "sift", matcher, step=4)
        assert np.isfinite(flow.transfer_points([[3, 4], [31, 0]])).all()


def test_unknown_options_and_names_are_refused():
    image = _photo()
    with pytest.raises(ValueError, match="sift .*bin_size.*hough .*grid_size.*Received: colour"):
        match_pair(image, image, "sift", "hough", colour=3)
    with pytest.raises(ValueError, match="descriptor must be one of .*Received: 'surf'"):
        match_pair(image, image, "surf")
    with pytest.raises(ValueError, match="matcher must be one of .*Received: 'best'"):
        match_pair(image, image, _Colors(), "best")
    with pytest.raises(ValueError, match="Received: step"):
        match_pair(image, image, _Colors(), "none", step=3)


def test_missing_images_are_found_before_any_work():
    with pytest.raises(FileNotFoundError, match="absent.png"):
        match_pair(_photo(), "absent.png", _Colors())
    describe = _Colors()
    with pytest.raises(FileNotFoundError, match="absent.png"):
        match_many([(0, 0), (0, 1)], [_photo(), "absent.png"], describe)
    assert describe.count == 0


@pytest.mark.parametrize("memory_limit", [0, 10**9])
def test_many_pairs_equal_one_by_one_with_each_image_described_once(memory_limit):
    images = [_photo(seed=seed) for seed in range(6)]
    pairs = list(itertools.permutations(range(6), 2))
    np.random.default_rng(0).shuffle(pairs)
    describe = _Colors()
    flows = match_many(pairs, images, describe, progress=False, memory_limit=memory_limit)
    for (source, target), flow in zip(pairs, flows, strict=True):
        alone = match_pair(images[source], images[target], _Colors())
        np.testing.assert_allclose(flow.displacement, alone.displacement, atol=1e-4)
    assert describe.count == 6


def test_many_shows_progress_and_takes_mappings(capsys):
    images = {"a": _photo(seed=0), "b": _photo(seed=1)}
    flows = list(match_many([("a", "b")], images, _Colors(), "none"))
    assert len(flows) == 1
    assert "1/1" in capsys.readouterr().err
    list(match_many([("a", "b")], images, _Colors(), "none", progress=False))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("pair", [(0, 2), (0,), 5, (0, 1, 1), ("a", 0)])
def test_pairs_must_be_two_keys(pair):
    with pytest.raises(ValueError, match="Expected a pair of keys of the 2 `images`. Received"):
        match_many([(0, 1), pair], [_photo(), _photo()], _Colors())


def test_no_pairs_give_no_flows_and_limits_are_checked():
    assert list(match_many([], [], _Colors(), progress=False)) == []
    with pytest.raises(ValueError, match="Expected a `memory_limit` of at least 0. Received: -1"):
        match_many([], [], _Colors(), memory_limit=-1)
