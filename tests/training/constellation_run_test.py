"""Parts of drawn objects are located, found and written; a stopped run goes on."""

import json

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from anchornet_tf.datasets import sources
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.training.constellation import locate, run
from anchornet_tf.training.constellation.config import ConstellationConfig
from anchornet_tf.training.constellation.input import class_images
from tests.features.tiny_trunk import TinyTrunk

SIZE = 96
# The colours of five parts, and where the parts are in pixels from the object's middle.
COLORS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [0, 255, 255]])
SHIFTS = np.array([[-18, -20], [-12, 18], [0, 0], [16, -12], [18, 16]])


class ColorTrunk(TinyTrunk):
    """Each of the first five channels of the first tap sees one colour of the parts.

    The other channel of that tap, and those of the other taps, see anything bright.
    """

    def __init__(self):
        super().__init__()
        kernel, bias = self.network.get_layer("conv0").weights
        values = np.zeros(kernel.shape, np.float32)
        # The trunk takes BGR around a mean of about 115: a part scores about 2, all else less.
        signs = np.where(COLORS > 0, 1.0, -1.0)[:, ::-1]
        values[:, :, :, :5] = signs.T / 25 / 125
        values[2, 2, :, 5] = 0.01
        kernel.assign(values)
        bias.assign([-2.0] * 5 + [0.0])


def draw(rng, mirrored: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draws five coloured squares on noise; returns the image and their middles."""
    image = rng.integers(60, 160, (SIZE, SIZE, 3)).astype(np.uint8)
    middles = rng.integers(32, SIZE - 32, 2) + SHIFTS * (1, -1 if mirrored else 1)
    for (y, x), color in zip(middles, COLORS, strict=True):
        image[y - 5 : y + 6, x - 5 : x + 6] = color
    return image, middles


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder of objects, every other one mirrored, and of noise; the parts' true places."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    places = []
    for name in ("thing", "background"):
        (folder / name).mkdir()
        for index in range(12):
            image, middles = draw(rng, mirrored=index % 2 == 1)
            if name == "background":
                image = rng.integers(60, 160, image.shape).astype(np.uint8)
            else:
                places.append(middles)
            Image.fromarray(image).save(folder / name / f"{index:02}.png")
    return f"folder:{folder}", np.stack(places)


@pytest.fixture(scope="module")
def trunk():
    return ColorTrunk()


def config(data, **changes) -> ConstellationConfig:
    values = {
        "image_size": SIZE,
        "candidates": 6,
        "aspects": 2,
        "parts": 5,
        "visible": 4,
        "separation": 0.05,
    }
    values |= {"taps": ("res2c",), "heldout_fraction": 0.0, "classes": ("thing",)}
    return ConstellationConfig(**{**values, "data": data, **changes})


def test_channels_are_located_where_their_parts_are(drawn, trunk):
    data, places = drawn
    source = sources.open_source(data, heldout_fraction=0.0)
    images = np.stack([source.read(i) for i in np.flatnonzero(source.labels[:, 0])])
    find = locate.location_function(trunk, [(0, channel) for channel in range(5)])
    found = find(tf.constant(images, tf.float32)).numpy()
    assert np.abs(found - places).max() <= 4
    alone = np.concatenate([find(tf.constant(image[None], tf.float32)) for image in images])
    np.testing.assert_array_equal(found, alone)


def test_a_channel_that_does_not_respond_is_nowhere(trunk):
    find = locate.location_function(trunk, [(0, 0), (0, 5)])
    grey = tf.fill((1, SIZE, SIZE, 3), 160.0)
    assert find(grey).numpy()[0, 0].tolist() == [-1, -1]
    assert (find(grey).numpy()[0, 1] >= 0).all()
    _, present = locate.as_shares(find(grey).numpy(), SIZE)
    assert present.tolist() == [[False, True]]


def test_candidates_tell_the_class_from_other_images():
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(5, 1, (2, 40, 8))
    inside[:, [2, 6]] += [[9, 4]]
    inside[:, 3], outside[:, 3] = 0, -1  # Never responds, and yet differs most.
    assert locate.choose_candidates([inside], [outside], 2) == [[2, 6]]
    assert 3 not in locate.choose_candidates([inside], [outside], 8)[0]


def test_a_run_finds_the_parts_and_both_views(drawn, trunk, tmp_path, capsys):
    data, _ = drawn
    summary = run.train(config(data), tmp_path, backbone=trunk)["classes"]["thing"]
    assert summary["images"] == 12 and summary["candidates"] == 6 and summary["aspects"] == 2
    assert summary["part_deviation"] < 0.03 < summary["candidate_deviation"]
    file = ConstellationFile.load(tmp_path / "constellations" / "thing.npz")
    assert file.trunk_digest == trunk.digest() and file.record["seed"] == 0
    np.testing.assert_allclose(file.weights, 0.5)
    for aspect in range(2):
        assert set(map(tuple, file.channels[aspect])) == {(0, channel) for channel in range(5)}
    directions = []
    for channels, shifts in zip(file.channels[..., 1], file.shifts, strict=True):
        true = (SHIFTS - SHIFTS.mean(axis=0))[channels] / SIZE
        np.testing.assert_allclose(shifts[:, 0], true[:, 0], atol=0.03)
        directions.append(np.sign((shifts[:, 1] * true[:, 1]).sum()))
        np.testing.assert_allclose(shifts[:, 1] * directions[-1], true[:, 1], atol=0.03)
    assert sorted(directions) == [-1, 1]
    assert (tmp_path / "pictures" / "thing.png").is_file()
    said = capsys.readouterr().out
    assert "6 candidate channels; 72 passes" in said
    assert f"--option=constellation={tmp_path / 'constellations' / 'thing.npz'}" in said


def test_a_stopped_run_goes_on_and_ends_the_same(drawn, trunk, tmp_path, monkeypatch, capsys):
    data, _ = drawn
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    run.train(config(data), whole, backbone=trunk)
    add = locate.Journal.add

    def stop_after_five(journal, pair, notes):
        if len(journal.records) == 5:
            raise KeyboardInterrupt
        add(journal, pair, notes)

    with monkeypatch.context() as patch:
        patch.setattr(locate.Journal, "add", stop_after_five)
        with pytest.raises(KeyboardInterrupt):
            run.train(config(data), parted, backbone=trunk)
    assert not (parted / "constellations").exists()
    located = []
    patched = locate.location_function

    def counting(*args):
        compute = patched(*args)
        return lambda images: located.append(len(images)) or compute(images)

    monkeypatch.setattr(locate, "location_function", counting)
    run.train(config(data), parted, backbone=trunk)
    assert sum(located) == 7
    ends = [(folder / "constellations" / "thing.npz").read_bytes() for folder in (whole, parted)]
    assert ends[0] == ends[1]
    # A third time there is nothing to do.
    capsys.readouterr()
    assert run.train(config(data), parted)["classes"]["thing"]["images"] == 12
    assert "This run is finished" in capsys.readouterr().out
    with pytest.raises(ValueError, match="parts 5 there, 4 here"):
        run.train(config(data, parts=4), parted)


def test_all_classes_and_another_trunk(drawn, trunk, tmp_path):
    data, _ = drawn
    summary = run.train(
        config(data, classes=("all",), parts=4, variant="published"), tmp_path, backbone=trunk
    )
    assert list(summary["classes"]) == ["thing"]
    (tmp_path / "summary.json").unlink()
    with pytest.raises(ValueError, match="same configuration.*trunk="):
        run.train(
            config(data, classes=("all",), parts=4, variant="published"),
            tmp_path,
            backbone=TinyTrunk(seed=3),
        )
    assert json.loads((tmp_path / "config.json").read_text())["classes"] == ["thing"]


def test_a_class_draws_the_same_images_beside_others(drawn):
    source = sources.open_source("parts_world")
    numbers = [
        class_images(config("parts_world", classes=classes, images_per_class=5), source)[-1]
        for classes in (("bird",), ("cow", "bird"))
    ]
    assert len(numbers[0].positives) == 5
    np.testing.assert_array_equal(numbers[0].positives, numbers[1].positives)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"visible": 6}, "`visible` must be at most `parts`, 5. Received: 6"),
        ({"visible": 1}, "`visible` must be at least 2. Received: 1"),
        ({"aspects": 0}, "`aspects` must be a positive integer. Received: 0"),
        ({"candidates": 4}, "Expected candidates for 5 parts. Received: 4 candidates"),
        ({"taps": ("res3",)}, "`taps` must be some of res2c, .*Received: res3"),
        ({"image_size": 16}, "`image_size` must be at least 32. Received: 16"),
        ({"variant": "new"}, "`variant` must be one of formula, published. Received: 'new'"),
        ({"classes": ("all", "cat")}, "`all` stands alone.*Received: all, cat"),
        ({"seed": -1}, "`seed` must be a finite number, at least 0. Received: -1"),
    ],
)
def test_configurations_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        config("folder:images", **changes)


def test_data_that_does_not_fit_is_refused_before_anything_is_written(drawn, trunk, tmp_path):
    data, _ = drawn
    with pytest.raises(ValueError, match=r"thing \(12\).*Received: 'think'"):
        run.train(config(data, classes=("think",)), tmp_path / "run", backbone=trunk)
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(tmp_path / "one.png")
    (tmp_path / "list.csv").write_text("path,labels\none.png,thing\n")
    with pytest.raises(ValueError, match="at least 2 training images of 'thing'.*Received: 1"):
        run.train(config(f"manifest:{tmp_path / 'list.csv'}"), tmp_path / "run", backbone=trunk)
    assert not (tmp_path / "run").exists()
