"""The object that holds a descriptor and a matcher: built once, called often."""

import itertools

import numpy as np
import PIL.Image
import pytest

import anchornet_tf
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers import api
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.matchers.registry import MATCHERS


def _photo(height=40, width=56, seed=0):
    """Returns a random but smooth colour image."""
    small = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), np.uint8)
    image = PIL.Image.fromarray(small)
    return np.array(image.resize((width, height), PIL.Image.Resampling.BICUBIC))


@pytest.fixture
def made(monkeypatch):
    """Counts objects that are made by name."""
    names = []
    for registry in (DESCRIPTORS, MATCHERS):

        def create(name, create=registry.create, **options):
            names.append(name)
            return create(name, **options)

        monkeypatch.setattr(registry, "create", create)
    api._made.clear()
    return names


def test_a_matcher_is_made_once_and_equals_the_one_liner(made):
    images = [_photo(seed=seed) for seed in range(3)]
    matcher = Matcher("sift", "hough", step=4, grid_size=(10, 14))
    assert made == ["hough", "sift"]
    for source, target in itertools.permutations(images, 2):
        flow = matcher(source, target)
        alone = api.match_pair(source, target, "sift", "hough", step=4, grid_size=(10, 14))
        np.testing.assert_array_equal(flow.displacement, alone.displacement)
    # Six calls of the one-liner made one more of each.
    assert made == ["hough", "sift", "sift", "hough"]


def test_names_are_kept_and_other_options_are_other_objects(made):
    image = _photo()
    for options in ({}, {"power": 2}, {"power": 2.0}, {"power": 2}):
        list(api.match_many([(0, 0)], [image], "sift", "hough", progress=False, **options))
    assert made == ["sift", "hough", "hough", "hough"]
    for step in range(5, 20):
        api.match_pair(image, image, "sift", "none", step=step)
    assert len(api._made) == api._MOST_KEPT


def test_a_file_that_changed_is_read_again(made, tmp_path, monkeypatch):
    from anchornet_tf.features.hog_background import HogBackground, shipped_background

    path, image, background = tmp_path / "background.npz", _photo(), shipped_background()
    monkeypatch.setattr(HogBackground, "load", lambda path: background)
    path.write_bytes(b"first")
    for _ in range(2):
        api.match_pair(image, image, "hog", "none", background=path)
    assert made.count("hog") == 1
    path.unlink()
    path.write_bytes(b"second")
    api.match_pair(image, image, "hog", "none", background=path)
    assert made.count("hog") == 2


def test_options_that_cannot_be_recognised_again_still_work(made):
    image = _photo()
    for _ in range(2):
        api.match_pair(image, image, "sift", "hough", step=4, grid_size=[10, 14])
    assert made == ["sift", "hough", "hough"]


def test_objects_are_taken_as_they_are(made):
    image, describe, match = _photo(), DESCRIPTORS.create("sift"), MATCHERS.create("none")
    matcher = Matcher(describe, match)
    assert matcher.descriptor is describe and matcher.pair_matcher is match
    assert matcher(image, image).shape == (40, 56)
    with pytest.raises(ValueError, match="Received: step"):
        Matcher(describe, match, step=3)
    assert len(made) == 2


def test_features_of_images(tmp_path):
    PIL.Image.fromarray(_photo(60, 80)).save(tmp_path / "a.png")
    maps = Matcher("sift", step=4).describe([tmp_path / "a.png", _photo()])
    assert [features.image_size for features in maps] == [(60, 80), (40, 56)]


def test_one_image_is_no_list():
    matcher = Matcher("sift", "none")
    with pytest.raises(ValueError, match="Expected a list of images. Received: 'a.png'"):
        matcher.describe("a.png")
    with pytest.raises(ValueError, match="Received: an array of shape .40, 56, 3."):
        matcher.describe(_photo())
    assert len(matcher.describe(np.stack([_photo(), _photo()]))) == 2


def test_a_preset_has_its_own_features():
    with pytest.raises(ValueError, match="call Matcher itself. Received: features='hc'"):
        Matcher.from_preset("voc20", features="hc")


def test_a_preset_is_the_model_of_the_features(monkeypatch):
    seen = {}

    def create(name, **options):
        seen[name] = options
        return lambda images: None

    monkeypatch.setattr(DESCRIPTORS, "create", create)
    matcher = Matcher.from_preset("FOLDER", "nearest", mutual=True, blur=1.0)
    assert seen == {"anchornet": {"model": "FOLDER", "blur": 1.0}}
    assert type(matcher.pair_matcher) is type(MATCHERS.create("nearest"))
    Matcher.from_preset()
    assert seen == {"anchornet": {"model": "voc20"}}


def test_large_images_are_scaled_for_the_work_and_flows_are_in_their_own_pixels(monkeypatch):
    seen = []

    def describe(images):
        seen.extend(image.shape for image in images)
        return DESCRIPTORS.create("sift", step=16)(images)

    image = np.repeat(np.repeat(_photo(), 60, axis=0), 60, axis=1)  # (2400, 3360)
    flow = Matcher(describe, "none")(image, _photo())
    assert max(seen[0]) == 2048 and seen[1] == (40, 56, 3)
    assert flow.shape == (2400, 3360) and flow.target_size == (40, 56)
    np.testing.assert_array_equal(flow.transfer_points([[12, 9]]), [[12, 9]])
    (features,) = Matcher(describe, "none").describe([image])
    assert features.image_size == (2400, 3360)
    # A matcher that looks at pixels works in the scaled frame.
    sizes = []

    def match(source, target, source_image, target_image):
        sizes.append((source.image_size, source_image.shape[:2]))
        return MATCHERS.create("none")(source, target)

    flow = Matcher(describe, match)(image, image)
    assert sizes == [((1463, 2048),) * 2] and flow.shape == flow.target_size == (2400, 3360)
    np.testing.assert_allclose(flow.transfer_points([[1200, 900]]), [[1200, 900]], atol=0.01)


def test_images_of_too_many_pixels_are_refused(tmp_path):
    PIL.Image.new("1", (300, 200)).save(tmp_path / "large.png")
    matcher = Matcher("sift", "none", max_pixels=50_000)
    with pytest.raises(ValueError, match="Received: .*large.png.*60,000 pixels"):
        matcher(tmp_path / "large.png", _photo())
    with pytest.raises(ValueError, match="Received: .*large.png.*60,000 pixels"):
        list(matcher.match_many([(0, 0)], [tmp_path / "large.png"], progress=False))
    with pytest.raises(ValueError, match="Received: .*large.png.*60,000 pixels"):
        anchornet_tf.match_pair(tmp_path / "large.png", _photo(), "sift", "none", max_pixels=50_000)
