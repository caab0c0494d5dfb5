"""The parts of a transfer against plain formulas: references, notes, suggestions, tracks, names."""

import dataclasses
import json
import pathlib

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
    Point,
    Region,
)
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.tasks import layout, suggestion, tracks
from anchornet_tf.tasks.carrier import Carried
from anchornet_tf.tasks.frames import open_images
from anchornet_tf.tasks.reference_images import ImageFinder, load_references, names_to_write
from anchornet_tf.tasks.references import Key, Reference, check_references, is_marked, mirrored_key
from anchornet_tf.tasks.results import PackedRegion, Patterns, from_notes, to_notes
from anchornet_tf.utils.image_io import ScaledImage


def _reference(points=None, regions=(), size=(20, 30), name="a"):
    points = {k: p if isinstance(p, Point) else Point(*p) for k, p in (points or {}).items()}
    item = AnnotatedObject("toy", points, tuple(regions))
    image = ScaledImage(np.zeros((*size, 3), np.uint8), size)
    return Reference(ImageAnnotations(name, size, (item,)), image)


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("left_ear", ["right_ear"], "right_ear"),
        ("RightEar", ["LeftEar"], "LeftEar"),
        ("LEFT eye", ["RIGHT eye"], "RIGHT eye"),
        ("left_ear", [], "left_ear"),
        ("nose", ["left_ear"], "nose"),
    ],
)
def test_names_in_the_mirror(name, others, expected):
    known = frozenset(Key("toy", 0, other) for other in [name, *others])
    assert mirrored_key(Key("toy", 0, name), known) == Key("toy", 0, expected)
    # Of another object's parts it is none.
    assert mirrored_key(Key("toy", 1, name), known) == Key("toy", 1, name)


def test_a_reference_in_the_mirror():
    mask = np.zeros((20, 30), bool)
    mask[3:8, 2:9] = True
    reference = _reference(
        {"left_ear": (4, 5), "right_ear": (25, 6), "nose": (10, 12)},
        [Region("left_ear", "mask", mask=mask), Region("right_ear", "mask", mask=mask[:, ::-1])],
    )
    features = FeatureMap(np.ones((5, 5, 2), np.float32), (20, 30))
    plain, mirrored = reference.views(features, features, with_image=True)
    assert mirrored.mirrored and not plain.mirrored
    assert {key.name: place for key, place in mirrored.points.items()} == {
        "right_ear": (29 - 4, 5),
        "left_ear": (29 - 25, 6),
        "nose": (29 - 10, 12),
    }
    for key, small in plain.masks.items():
        np.testing.assert_array_equal(small, mirrored.masks[key])  # The picture is symmetric.
    assert len(reference.views(features, None, with_image=False)) == 1


def test_hidden_points_count_where_there_are_no_others():
    hidden, nothing = Point(3, 4, HIDDEN), Point(0, 0, NOT_LABELLED)
    assert [k.name for k in _reference({"a": hidden, "b": (5, 5), "c": nothing}).points] == ["b"]
    assert [k.name for k in _reference({"a": hidden, "c": nothing}).points] == ["a"]
    assert not _reference({"c": nothing}).points
    assert not is_marked(
        _reference({"c": nothing}, [Region("", "box", box=(3, 3, 3, 3))]).annotations
    )
    assert is_marked(_reference({"a": hidden}).annotations)
    with pytest.raises(ValueError, match="Received: 1 references without any"):
        check_references([_reference({"c": nothing})])


def test_masks_of_references_are_means_over_blocks():
    mask = np.random.default_rng(0).random((448, 448)) < 0.5
    [small] = _reference({}, [Region("", "mask", mask=mask)], (448, 448)).masks.values()
    blocks = mask.reshape(224, 2, 224, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(small, blocks, atol=1.01 / 255)


def test_points_outside_and_wrong_sizes_are_refused():
    _reference({"a": (30.4, 20.4)})
    with pytest.raises(ValueError, match=r"'a' must be inside.*30 x 20.*Received: \(31, 5\)"):
        _reference({"a": (31, 5)})
    marked = _reference({"a": (3, 5)})
    with pytest.raises(ValueError, match="Received: "):
        dataclasses.replace(marked, image=ScaledImage(np.zeros((21, 30, 3), np.uint8), (21, 30)))


def test_notes_round_trip():
    rng = np.random.default_rng(1)
    mask = rng.random((13, 17)) < 0.4
    points = {Key("toy", 0, "nose"): (3.14159, 2.71828, 0.123456)}
    carried = Carried(
        points, {Key("toy", 1, "x\0outline\0001"): (mask, 0.5)}, ("a", "b (mirrored)")
    )
    notes = json.loads(json.dumps(to_notes(carried, mask.shape)))
    back = from_notes(notes)
    assert back.points == {Key("toy", 0, "nose"): (3.14, 2.72, 0.1235)}
    [(key, (found, score))] = back.masks.items()
    assert (key, score, back.used) == (Key("toy", 1, "x\0outline\0001"), 0.5, carried.used)
    np.testing.assert_array_equal(found, mask)
    assert not from_notes(notes, with_masks=False).masks


def test_packed_regions_are_regions():
    mask = np.random.default_rng(2).random((9, 7)) < 0.5
    region = PackedRegion("ear", "mask", mask=mask, score=0.5)
    np.testing.assert_array_equal(region.mask, mask)
    changed = dataclasses.replace(region, score=0.7)
    assert isinstance(changed, Region) and changed.score == 0.7 and changed.name == "ear"
    np.testing.assert_array_equal(changed.mask, mask)
    assert dataclasses.replace(region, mask=None).mask is None


def test_results_follow_the_threshold():
    mask = np.zeros((20, 30), bool)
    mask[2:6, 3:9] = True
    reference = _reference({"a": (1, 1), "b": (2, 2)}, [Region("", "mask", mask=mask)])
    [key] = reference.regions
    patterns = Patterns([reference])
    points = {Key("toy", 0, "a"): (4.0, 5.0, 0.6), Key("toy", 0, "b"): (6.0, 7.0, 0.4)}
    carried = Carried(points, {key: (mask, 0.3)}, ())
    [item] = patterns.annotations("x", (20, 30), carried, 0.5).objects
    assert item.points["a"] == Point(4, 5, score=0.6)
    assert item.points["b"] == Point(0, 0, NOT_LABELLED, 0.4)
    assert item.score == pytest.approx((0.6 + 0.4 + 0.3) / 3, abs=1e-4)
    [item] = patterns.annotations("x", (20, 30), carried, 0.7).objects
    assert not item.regions  # Less probable than half the threshold.


def _clusters(rng, sizes, depth=40):
    centres = rng.standard_normal((len(sizes), depth))
    owners = np.repeat(np.arange(len(sizes)), sizes)
    vectors = centres[owners] + 0.3 * rng.standard_normal((len(owners), depth))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), owners


def _covered(layouts, chosen):
    return np.maximum(layouts @ layouts[chosen].T, 0).max(axis=1).mean()


def test_suggestions_cover_clusters_and_beat_chance():
    rng = np.random.default_rng(0)
    layouts, owners = _clusters(rng, [30, 20, 10, 5, 5])
    chosen = suggestion.suggest(layouts, 5)
    assert set(owners[chosen]) == set(range(5))
    chance = [_covered(layouts, rng.permutation(70)[:5]) for _ in range(200)]
    assert _covered(layouts, chosen) > max(chance)
    # Greedy: the first is the best alone.
    alone = [_covered(layouts, [number]) for number in range(70)]
    assert chosen[0] == int(np.argmax(alone))


def test_suggestions_leave_out_what_is_sure():
    layouts, owners = _clusters(np.random.default_rng(1), [20, 20])
    sure = np.where(owners == 0, 1.0, 0.0)
    assert owners[suggestion.suggest(layouts, 1, sure)] == [1]
    assert sorted(suggestion.suggest(layouts, 99)) == list(range(40))
    assert suggestion.suggest(layouts[:0], 3) == []


def test_packed_layouts_keep_likeness():
    rng = np.random.default_rng(3)
    base = rng.standard_normal((7, 7, 16)).astype(np.float32)
    others = [base + scale * rng.standard_normal(base.shape) for scale in (0.3, 1, 3)]
    vectors = suggestion.unpacked([suggestion.packed(other) for other in (base, *others)])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    truth = [
        (base.ravel() @ other.ravel()) / np.linalg.norm(base) / np.linalg.norm(other)
        for other in others
    ]
    np.testing.assert_allclose(vectors[1:] @ vectors[0], truth, atol=0.15)
    assert suggestion.unpacked([suggestion.packed(0 * base)]).max() == 0


def test_layouts_are_alike_under_shifts():
    rng = np.random.default_rng(4)
    values = np.zeros((21, 21, 8), np.float32)
    values[3:12, 3:12] = rng.standard_normal((9, 9, 8))
    moved = np.roll(values, (6, 3), (0, 1))
    one, other = (layout.layout_of(FeatureMap(v, (84, 84))) for v in (values, moved))
    assert one.shape == (7, 7, 8)
    assert layout.layout_similarity(one, one) == pytest.approx(1, abs=1e-4)
    assert layout.layout_similarity(one, other) == pytest.approx(1, abs=0.02)
    unlike = layout.layout_of(FeatureMap(rng.standard_normal((21, 21, 8)), (84, 84)))
    assert layout.layout_similarity(one, unlike) < 0.5


def test_tracks_keep_references_and_straight_motion():
    key = Key("", 0, "nose")
    names = [f"clip#{n}" for n in range(9)]
    truth = np.stack([3.0 + 2 * np.arange(9), 5.0 + np.arange(9)], axis=1)
    rng = np.random.default_rng(5)
    noisy = truth + rng.normal(0, 0.5, truth.shape)
    reference = _reference({"nose": truth[4]}, size=(60, 60), name="clip#4")
    reference = dataclasses.replace(
        reference,
        annotations=dataclasses.replace(
            reference.annotations, objects=(AnnotatedObject("", {"nose": Point(*truth[4])}),)
        ),
    )

    def carried(places):
        return {
            name: Carried({key: (*map(float, place), 0.8)}, {}, ())
            for name, place in zip(names, places, strict=True)
            if name != "clip#4"
        }

    straight = tracks.smoothed(names, carried(truth), [reference], 5.0)
    for name, place in zip(names, truth, strict=True):
        if name != "clip#4":
            np.testing.assert_allclose(straight[name].points[key], (*place, 0.8), atol=1e-6)
    smooth = tracks.smoothed(names, carried(noisy), [reference], 5.0)
    assert set(smooth) == set(names) - {"clip#4"}
    errors = [
        np.linalg.norm(
            [np.array(found[name].points[key][:2]) - truth[int(name[5:])] for name in found]
        )
        for found in (carried(noisy), smooth)
    ]
    assert errors[1] < errors[0]


def test_a_point_that_is_never_probable_stays_where_it_is():
    key = Key("toy", 0, "nose")
    reference = _reference({"nose": (3, 3)}, name="elsewhere")
    carried = {name: Carried({key: (4.0, 5.0, 0.0)}, {}, ()) for name in "abc"}
    for found in tracks.smoothed("abc", carried, [reference], 2.0).values():
        assert found.points[key] == (4, 5, 0)


def _save(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", (8, 6), hash(path.as_posix()) % 2**24).save(path)
    return path


def test_images_are_found_by_the_longest_part_of_their_path(tmp_path):
    for name in ("photos/a.png", "photos/sub/a.png", "photos/B.png", "marks/c.png"):
        _save(tmp_path / name)
    images = open_images(tmp_path / "photos", recursive=True)
    finder = ImageFinder([tmp_path / "marks", tmp_path / "photos"], images)
    names = list(images.names)
    assert finder.find("a.png") == names.index("a.png")
    assert finder.find("/elsewhere/photos/sub/a.png") == names.index("sub/a.png")
    assert finder.find("D:\\photos\\sub\\a.png") == names.index("sub/a.png")
    assert finder.find("../photos/a.png") == names.index("a.png")
    assert finder.find("b.PNG") == names.index("B.png")
    assert finder.find("c.png") == tmp_path / "marks" / "c.png"
    with pytest.raises(FileNotFoundError, match="Received: 'd.png'"):
        finder.find("d.png")
    for empty in ("", "/", "sub"):
        with pytest.raises(FileNotFoundError, match="Received: "):
            finder.find(empty)


def test_references_without_marks_are_left_out(tmp_path):
    _save(tmp_path / "a.png")
    marked = ImageAnnotations("a.png", (6, 8), (AnnotatedObject("", {"nose": Point(1, 2)}),))
    empty = ImageAnnotations("gone.png", (6, 8), (AnnotatedObject("", {}),))
    [reference] = load_references(AnnotationSet("coco", (marked, empty)), [tmp_path])
    assert reference.points == {Key("", 0, "nose"): (1, 2)}


def test_what_images_are_called_in_the_output(tmp_path):
    for name in ("photos/a.png", "photos/b.png"):
        _save(tmp_path / name)
    images = open_images(tmp_path / "photos")

    def names(format, given, output="out"):
        return names_to_write(format, pathlib.Path(tmp_path / output), images, given)

    assert names("coco", []) == ["a.png", "b.png"]
    assert names("coco", [("x/photos/a.png", 0)]) == ["x/photos/a.png", "x/photos/b.png"]
    assert names("csv", [("x/a.png", 0), ("b.png", 1)]) == ["a.png", "b.png"]
    assert names("labelme", [("x/a.png", 0)]) == ["../photos/a.png", "../photos/b.png"]
    assert names("labelme", [], "photos") == ["a.png", "b.png"]
