"""The embedded data set: its tables, its pictures, what is known about them, and its files."""

import collections
import hashlib
import logging
import subprocess
import sys
import threading

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.datasets.parts_world import (
    canvas,
    contact_sheet,
    draw,
    layout,
    load,
    materials,
    prepare,
    shapes,
    source,
    table_text,
)
from anchornet_tf.datasets.parts_world.figure import SCENERY, Figure, Part, mirrored_name
from anchornet_tf.datasets.parts_world.figures import FIGURES
from anchornet_tf.datasets.parts_world.pose import pose
from anchornet_tf.datasets.voc_classes import VOC_CLASSES

_PICTURES = 6


@pytest.fixture(scope="module")
def examples():
    """Some pictures of every class."""
    return {
        name: [draw(name, index, split="test") for index in range(_PICTURES)]
        for name in VOC_CLASSES
    }


@pytest.fixture
def tiny(monkeypatch):
    """Two pictures per class and one background, so that a test can afford to draw the set."""
    monkeypatch.setitem(layout.SIZES, "train", (2, 1))
    monkeypatch.setitem(layout.SIZES, "test", (1, 1))


def _area(contour):
    x, y = contour[:, 0], contour[:, 1]
    return 0.5 * (np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def _plain_figure(*parts, **view):
    straight = {"yaw": (0, 0), "pitch": (0, 0), "roll": 0, "warp": 0, "stretch": 0}
    return Figure(tuple(parts), {}, {"c": ("red",)}, **{**straight, **view})


# Outlines and tables.


def test_outlines_run_clockwise_and_have_the_area_of_their_shape():
    assert _area(shapes.polygon((0, 0), (0, 1), (2, 1), (2, 0))[0]) == pytest.approx(2)
    assert _area(shapes.ellipse(1, 2, 3, 4)[0]) == pytest.approx(12 * np.pi, rel=0.02)
    assert _area(shapes.ring(0, 0, 2, 1)[0]) == pytest.approx(3 * np.pi, rel=0.02)
    # A straight limb is a rectangle with two half discs.
    (limb,) = shapes.limb((0, 0, 1), (3, 0, 1))
    assert _area(limb) == pytest.approx(3 + np.pi / 4, rel=0.05)
    assert limb[:, 0].min() == pytest.approx(-0.5, abs=0.05)
    assert len(shapes.spokes(0, 0, 1, 4, 0.1)) == 4


def test_smooth_outline_goes_through_its_points():
    points = np.array([(0, 0), (2, 0), (3, 2), (1, 3)], float)
    (contour,) = shapes.blob(*points)
    for point in points:
        assert np.linalg.norm(contour[:, :2] - point, axis=1).min() == pytest.approx(0)


def test_table_line_is_read():
    (part,) = table_text.parts("""
tail/tip: rectangle 0 0 1 2
  + ellipse 0 0 1; coat fur; on torso -.5 .25
  z -.1; swing 20; odds .5
""")
    assert (part.name, part.id, part.parent, part.at) == ("tail", "tip", "torso", (-0.5, 0.25))
    assert (part.colour, part.material) == ("coat", "fur")
    assert (part.depth, part.swing, part.odds) == (-0.1, 20, 0.5)
    assert [len(contour) for contour in part.shape][0] == 4
    assert len(part.shape) == 2


def test_table_row_and_sides():
    (part,) = table_text.parts("w: row 3 .5 rectangle 0 0 .1 .1; glass glass")
    np.testing.assert_allclose([c[:, 0].min() for c in part.shape], [0, 0.5, 1.0])
    line = "SIDE_arm: @.2 -@3"
    assert table_text.sided(line, "left") == "left_arm: .2 -3"
    assert table_text.sided(line, "right") == "right_arm: -.2 3"


@pytest.mark.parametrize(
    "line",
    [
        "tail: circle 0 0 1; coat fur",
        "tail: ellipse 0 0 1",
        "tail: ellipse 0 0 1; coat fur; wobble 3",
        "tail: ellipse 0 0 1; coat fur; swing x",
        "ellipse 0 0 1; coat fur",
    ],
)
def test_bad_table_line(line):
    with pytest.raises(ValueError, match="line of a table of parts. Received: "):
        table_text.parts(line)


@pytest.mark.parametrize("name", VOC_CLASSES)
def test_tables_are_complete(name):
    for figure in FIGURES[name]:
        keys = [part.id for part in figure.parts]
        assert len(set(keys)) == len(keys)
        assert {part.parent for part in figure.parts} <= {None, *keys}
        assert {part.material for part in figure.parts} <= set(materials.MATERIALS)
        assert {part.colour for part in figure.parts} <= set(figure.palette)
        assert {c for colours in figure.palette.values() for c in colours} <= set(materials.COLOURS)
        assert {place[0] for place in figure.keypoints.values()} <= set(keys)
        assert len(figure.keypoints) >= 5
        if set(figure.patterns) != {"plain"}:
            assert {"coat", "second"} <= set(figure.palette)
    common = set.intersection(*(set(figure.keypoints) for figure in FIGURES[name]))
    assert len(common) >= 4, "figures of one class must be comparable"


def test_tables_cover_the_twenty_classes():
    assert set(FIGURES) == set(VOC_CLASSES)


def test_mirrored_names():
    assert mirrored_name("left_hand") == "right_hand"
    assert mirrored_name("right_hand") == "left_hand"
    assert mirrored_name("near_ear") == "near_ear"


# Pose and paint.


def test_the_side_that_looks_away_is_not_shown():
    front = Part("front", shapes.on_front(shapes.rectangle(-1, -1, 1, 1), 1), "c")
    back = Part("back", shapes.on_back(shapes.rectangle(-1, -1, 1, 1), -1), "c")
    top = Part("top", shapes.on_top(shapes.rectangle(-1, -1, 1, 1), -1), "c")
    for seed in range(6):  # with and without the mirror
        view = {"yaw": (40, 40), "pitch": (20, 20)}
        seen = pose(_plain_figure(front, back, top, **view), np.random.default_rng(seed))
        assert [len(part.outlines) for part in seen.parts] == [1, 0, 1]


def test_extrusion_shows_the_walls_that_face_the_viewer():
    block = Part("block", shapes.rectangle(-1, -1, 1, 1), "c", thickness=2.0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        seen = pose(_plain_figure(block, yaw=(30, 30), pitch=(20, 20)), rng).parts[0]
        # Top and front wall, then the face itself.
        assert len(seen.outlines) == 3
        assert all(0.6 < light < 1.2 for light in seen.lights)


def test_children_follow_their_parent_and_twins_are_alike():
    arm = Part("arm", shapes.limb((0, 0, 0.1), (0, 1, 0.1)), "c", turn=-90, jitter=0)
    hand = Part("hand", shapes.ellipse(0, 0, 0.1), "c", parent="arm", at=(0, 1), jitter=0)
    figure = _plain_figure(arm, hand)
    figure = Figure(figure.parts, {"tip": ("hand", 0, 0.5)}, **_rest_of(figure))
    posed = pose(figure, np.random.default_rng(0))
    x, y, _ = posed.keypoints["tip"]
    # Turned a quarter, what hung down points forward.
    assert (abs(x), y) == pytest.approx((1.5, 0), abs=1e-6)

    body = Part("body", shapes.ellipse(0, 0, 1), "c")
    sides = ("near", "far")
    ears = [
        Part(f"{s}_ear", shapes.rectangle(0, 0, 1, 1), "c", jitter=0.3, odds=0.5) for s in sides
    ]
    counts = set()
    for seed in range(20):
        _, *seen = pose(_plain_figure(body, *ears), np.random.default_rng(seed)).parts
        counts.add(len(seen))
        if seen:
            np.testing.assert_allclose(seen[0].outlines[0], seen[1].outlines[0])
    assert counts == {0, 2}


def _rest_of(figure):
    names = ("palette", "yaw", "pitch", "roll", "warp", "stretch")
    return {name: getattr(figure, name) for name in names}


def test_canvas_paints_the_pixels_inside_the_outline():
    picture = canvas.Canvas(np.zeros((3, 64, 64), np.float32), (0, -1), np.random.default_rng(0))
    (outline,) = shapes.rectangle(9.6, 20.6, 30.4, 40.4)
    flat = materials.Material("grain", 0.0, 0.0)
    picture.paint([outline[:, :2]], [1.0], np.array([200, 100, 50], np.float32), flat, owner=7)
    expected = np.full((64, 64), canvas.NOBODY)
    expected[21:41, 10:31] = 7
    np.testing.assert_array_equal(picture.owner, expected)
    np.testing.assert_allclose(picture.pixels[:, 30, 20], [200, 100, 50], rtol=1e-5)
    assert picture.pixels[:, 50:].max() == 0


def test_canvas_ignores_what_lies_outside():
    picture = canvas.Canvas(np.zeros((3, 64, 64), np.float32), (0, -1), np.random.default_rng(0))
    (outline,) = shapes.rectangle(90, 90, 99, 99)
    picture.paint([outline[:, :2]], [1.0], np.ones(3, np.float32), materials.MATERIALS["fur"], 1)
    picture.paint([], [], np.ones(3, np.float32), materials.MATERIALS["fur"], 1)
    assert picture.pixels.max() == 0
    assert (picture.owner == canvas.NOBODY).all()


def test_tiles_are_normalised_and_periodic():
    for name in ("hair", "cloud", "noise"):
        tile = materials.tile(name)
        assert tile.shape == (materials.TILE, materials.TILE)
        assert abs(tile.mean()) < 0.1
        assert 0.8 < tile.std() < 1.1
        seam = np.abs(tile[0] - tile[-1]).mean()
        assert seam < 1.5 * np.abs(np.diff(tile, axis=0)).mean()


# Pictures.


def test_same_arguments_same_picture_in_any_order():
    first = draw("horse", 3)
    draw("car", 1)
    again = draw("horse", 3)
    np.testing.assert_array_equal(first.image, again.image)
    np.testing.assert_array_equal(first.part_map, again.part_map)
    assert first.keypoints == again.keypoints
    for other in (draw("horse", 4), draw("horse", 3, split="test"), draw("horse", 3, seed=1)):
        assert (first.image != other.image).any()


def test_same_bytes_in_another_process_without_tensorflow():
    program = (
        "import hashlib, sys\n"
        "from anchornet_tf.datasets.parts_world import draw\n"
        "print(hashlib.sha256(draw('boat', 2).image.tobytes()).hexdigest())\n"
        "print('tensorflow' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    digest = hashlib.sha256(draw("boat", 2).image.tobytes()).hexdigest()
    assert done.stdout.split() == [digest, "False"]


def test_picture_is_an_image_with_contrast(examples):
    for name, pictures in examples.items():
        for example in pictures:
            assert example.label == name
            assert example.image.shape == (224, 224, 3)
            assert example.image.dtype == np.uint8
            assert example.image.std() > 12


def test_keypoints_are_on_the_object(examples):
    for name, pictures in examples.items():
        for example in pictures:
            rows, columns = np.nonzero(example.part_map)
            for keypoint, (x, y, visible) in example.keypoints.items():
                if visible:
                    distance = np.hypot(columns - x, rows - y).min()
                    assert distance <= 5, f"{keypoint} of {name} lies {distance} pixels outside"


def test_every_keypoint_is_seen_sometimes(examples):
    for name, pictures in examples.items():
        shown = collections.defaultdict(list)
        for example in pictures:
            for keypoint, (_, _, visible) in example.keypoints.items():
                shown[keypoint].append(visible)
        assert np.mean([v for values in shown.values() for v in values]) > 0.5, name
        assert np.mean([any(values) for values in shown.values()]) > 0.7, name


def test_keypoints_outside_the_picture_are_not_visible(examples):
    outside = [
        visible
        for pictures in examples.values()
        for example in pictures
        for x, y, visible in example.keypoints.values()
        if not (-0.5 <= x <= 223.5 and -0.5 <= y <= 223.5)
    ]
    assert outside and not any(outside)


def test_parts_lie_in_the_box(examples):
    for pictures in examples.values():
        for example in pictures:
            left, top, right, bottom = example.box
            assert 0 <= left < right < 224
            assert 0 <= top < bottom < 224
            outside = example.part_map.copy()
            outside[top : bottom + 1, left : right + 1] = 0
            assert not outside.any()
            assert example.part_map.max() == len(example.part_names)
            assert SCENERY not in example.part_names
            masks = np.stack(list(example.part_masks.values()))
            assert masks.any((1, 2)).all()
            np.testing.assert_array_equal(masks.sum(0), example.part_map > 0)


@pytest.mark.parametrize("name", ["horse", "cow", "dog"])
def test_names_hold_whichever_way_an_animal_faces(name, examples):
    ways = set()
    for example in examples[name]:
        forward = example.keypoints["nose"][0] - example.keypoints["tail_base"][0]
        ways.add(np.sign(forward))
        feet = [example.keypoints[f"near_{end}_foot"][0] for end in ("front", "back")]
        assert (feet[0] - feet[1]) * forward > 0
        x, y, visible = example.keypoints["eye"]
        if visible and "head" in example.part_masks:
            rows, columns = np.nonzero(example.part_masks["head"])
            assert np.hypot(columns - x, rows - y).min() < 12
    assert ways == {-1, 1}


def test_left_of_a_person_stays_on_the_right_of_the_picture(examples):
    for example in examples["person"]:
        for joint in ("shoulder", "hip"):
            points = example.keypoints
            assert points[f"left_{joint}"][0] > points[f"right_{joint}"][0]


def test_zero_displacement_scores_poorly(examples):
    for name, pictures in examples.items():
        hits = []
        for one in pictures:
            for other in pictures:
                left, top, right, bottom = other.box
                reach = 0.1 * max(right - left, bottom - top)
                for keypoint, (x, y, visible) in one.keypoints.items():
                    u, v, shown = other.keypoints.get(keypoint, (0, 0, False))
                    if one is not other and visible and shown:
                        hits.append(np.hypot(x - u, y - v) <= reach)
        assert len(hits) > 50, name
        assert np.mean(hits) < 0.2, name


def test_occlusion_happens(examples):
    hidden = sum(
        (example.part_map[row, column] == 0) and not visible
        for pictures in examples.values()
        for example in pictures
        for x, y, visible in example.keypoints.values()
        for row, column in [(round(y), round(x))]
        if 0 <= row < 224 and 0 <= column < 224
    )
    assert hidden > 20


def test_background_has_no_object():
    example = draw("background", 0)
    assert example.label == "background"
    assert (example.keypoints, example.part_masks, example.box) == ({}, {}, None)
    assert example.image.shape == (224, 224, 3)


def test_size_scales_the_picture():
    large, small = draw("bus", 5), draw("bus", 5, size=112)
    assert small.image.shape == (112, 112, 3)
    for name, (x, y, _) in large.keypoints.items():
        np.testing.assert_allclose(small.keypoints[name][:2], (x / 2, y / 2), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"class_name": "unicorn"}, "aeroplane, .*Received: class_name='unicorn'"),
        ({"index": -1}, "Received: index=-1"),
        ({"seed": -2}, "seed=-2"),
        ({"split": "valid"}, "Received: split='valid'"),
        ({"size": 16}, "Received: size=16"),
        ({"size": 1024}, "Received: size=1024"),
    ],
)
def test_draw_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        draw(**{"class_name": "bird", "index": 0, **arguments})


# Files.


def test_default_sizes():
    train, test = layout.members("train"), layout.members("test")
    assert (len(train), len(test)) == (1800, 500)
    assert collections.Counter(label for label, _ in test)["background"] == 100
    with pytest.raises(ValueError, match="Received: split='all'"):
        layout.members("all")


def test_load_gives_what_draw_draws(tiny, tmp_path, capfd, caplog, monkeypatch):
    loaded = load("train", tmp_path)
    with caplog.at_level("WARNING", "absl"):
        logging.getLogger("absl").warning("OpenCV is not installed. We recommend it.")
        logging.getLogger("absl").warning("A warning that matters.")
        loaded[0]
    assert caplog.messages == ["A warning that matters."]
    assert capfd.readouterr().out == ""
    assert (tmp_path / "parts_world" / "1.0.0").is_dir()
    assert len(loaded) == 41
    assert loaded.labels[:3] == ("aeroplane", "aeroplane", "bicycle")
    for row in (0, 3, 40):
        label, index = layout.members("train")[row]
        item, example = loaded[row], draw(label, index)
        assert item["label"] == loaded.labels[row] == label
        difference = np.abs(item["image"].astype(int) - example.image)
        assert difference.mean() < 4  # JPEG
        assert item["box"] == example.box
        assert list(item["part_masks"]) == list(example.part_names)
        for name, mask in example.part_masks.items():
            np.testing.assert_array_equal(item["part_masks"][name], mask)
        assert list(item["keypoints"]) == list(example.keypoints)
        for name, point in example.keypoints.items():
            assert item["keypoints"][name] == pytest.approx(point, abs=1e-3)
    assert loaded[-1]["label"] == "background"
    with pytest.raises(IndexError):
        loaded[41]
    assert sum(1 for _ in load("test", tmp_path)) == 21

    monkeypatch.setitem(layout.SIZES, "test", (3, 3))
    with pytest.raises(ValueError, match="must hold 63 pictures.*Received: 21 pictures"):
        load("test", tmp_path)


def test_cache_variable_names_the_folder(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source, "_build", _pretend)
    assert prepare() == tmp_path / "cache" / "parts_world" / "1.0.0"


def test_two_at_once_draw_once(tmp_path, monkeypatch):
    calls = []
    started = threading.Event()

    def slow(data_dir):
        calls.append(data_dir)
        started.wait(0.3)
        return _pretend(data_dir)

    monkeypatch.setattr(source, "_build", slow)
    threads = [threading.Thread(target=prepare, args=(tmp_path,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert (tmp_path / "parts_world" / "1.0.0" / "done").exists()


def test_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(data_dir):
        _pretend(data_dir)
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(source, "_build", fail)
    with pytest.raises(RuntimeError, match="disk on fire"):
        prepare(tmp_path)
    assert [path.name for path in (tmp_path / "parts_world").iterdir()] == ["1.0.0.lock"]


def _pretend(data_dir):
    folder = source.pathlib.Path(data_dir) / "parts_world" / "1.0.0"
    folder.mkdir(parents=True)
    (folder / "done").touch()
    return folder


def test_load_unknown_split(tmp_path):
    with pytest.raises(ValueError, match="Received: split='heldout'"):
        load("heldout", tmp_path)


# Contact sheet.


def test_contact_sheet_has_a_row_a_class():
    sheet = contact_sheet.contact_sheet(("bird", "car"), 3, size=64, overlay="keypoints")
    assert sheet.size == (192, 2 * (64 + 14))
    with pytest.raises(ValueError, match="Received: overlay='masks'"):
        contact_sheet.contact_sheet(("bird",), 1, overlay="masks")
    with pytest.raises(ValueError, match="columns=0"):
        contact_sheet.contact_sheet(("bird",), 0)


def test_contact_sheet_command(tmp_path):
    output = tmp_path / "sheet.png"
    module = "anchornet_tf.datasets.parts_world.contact_sheet"
    flags = [f"--output={output}", "--classes=cat", "--columns=1", "--overlay=parts"]
    subprocess.run([sys.executable, "-m", module, *flags], check=True)
    assert PIL.Image.open(output).size == (224, 238)
    assert list(tmp_path.iterdir()) == [output]
