"""Images of too many pixels never get decoded in a training set."""

import PIL.Image
import pytest
import tensorflow as tf
from absl import logging

from anchornet_tf.datasets.image_source import decode_image, image_of_record
from anchornet_tf.datasets.sources import open_source

PIXELS = 50 * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Thirty small images and one larger one, and nothing in the cache."""
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    for index in range(31):
        path = tmp_path / "set" / ("bird" if index % 2 else "background") / f"{index:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.new("RGB", (50, 40) if index == 7 else (5, 4), (index, 0, 0)).save(path)
    return tmp_path / "set"


def test_they_are_left_out_and_the_limit_is_named(folder, monkeypatch):
    messages = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: messages.append(text % values))
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", str(PIXELS - 1))
    source = open_source(f"folder:{folder}", heldout_fraction=0.0)
    assert source.unreadable == ("bird/07.png",)
    assert any("1,999 pixels (ANCHORNET_MAX_PIXELS raises" in message for message in messages)
    # Another limit is another answer, whatever the cache says.
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", str(PIXELS))
    source = open_source(f"folder:{folder}", heldout_fraction=0.0)
    assert not source.unreadable and len(source) == 31


def test_graphs_refuse_them_too(folder):
    contents = (folder / "bird" / "07.png").read_bytes()
    assert decode_image(contents, max_pixels=PIXELS).shape == (40, 50, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not exceed the limit"):
        decode_image(contents, max_pixels=PIXELS - 1)
    dataset = tf.data.Dataset.from_tensors(contents)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not exceed the limit"):
        next(iter(dataset.map(lambda encoded: decode_image(encoded, PIXELS - 1))))


def test_records(folder, monkeypatch):
    record = {"image": (folder / "bird" / "07.png").read_bytes()}
    assert image_of_record(record).shape == (40, 50, 3)
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", "100")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not exceed the limit"):
        image_of_record(record)
