"""Images that users train on: every format, size and orientation, and the pixels of old runs."""

import io
import sys
import types

import numpy as np
import PIL.features
import PIL.Image
import PIL.ImageOps
import pytest
import tensorflow as tf
from absl import logging

from anchornet_tf.datasets import file_sources
from anchornet_tf.datasets.file_reader import (
    IN_GRAPH,
    UNREADABLE,
    WITH_PILLOW,
    FileReader,
    find_way,
)
from anchornet_tf.datasets.sources import open_source
from anchornet_tf.utils import image_formats
from anchornet_tf.utils.image_io import read_image

ORIENTATION = 0x0112
HEIC_START = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path_factory.mktemp("cache")))


def _rgb(height=20, width=33):
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def _turned(number):
    exif = PIL.Image.Exif()
    exif[ORIENTATION] = number
    return exif


def _reader(*paths):
    paths = [str(path) for path in paths]
    return FileReader(paths, [find_way(path) for path in paths])


def _in_graph(reader):
    dataset = tf.data.Dataset.range(len(reader)).map(reader.image_tensor, num_parallel_calls=2)
    assert dataset.element_spec.shape.as_list() == [None, None, 3]
    return list(dataset.as_numpy_iterator())


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("form", ["jpg", "png", "webp", "tif"])
def test_orientations_are_applied(tmp_path, form, number):
    path = tmp_path / f"a.{form}"
    options = {"lossless": True} if form == "webp" else {}
    PIL.Image.fromarray(_rgb()).save(path, exif=_turned(number), **options)
    with PIL.Image.open(path) as image:
        expected = np.asarray(PIL.ImageOps.exif_transpose(image).convert("RGB"))
    reader = _reader(path)
    assert reader.ways[0] == (IN_GRAPH if number == 1 and form != "tif" else WITH_PILLOW)
    if form == "jpg" and number == 1:
        # TensorFlow's decoder differs from Pillow's by a few levels, and old runs have seen it.
        expected = tf.io.decode_image(path.read_bytes(), channels=3)
    for image in (reader.read(0), *_in_graph(reader)):
        np.testing.assert_array_equal(image, expected)


def test_an_orientation_behind_the_pixels_of_a_png_counts(tmp_path):
    buffer = io.BytesIO()
    PIL.Image.fromarray(_rgb()).save(buffer, "PNG", exif=_turned(6))
    contents = buffer.getvalue()
    place = contents.index(b"eXIf") - 4
    length = 12 + int.from_bytes(contents[place : place + 4], "big")
    note, rest = contents[place : place + length], contents[:place] + contents[place + length :]
    (tmp_path / "a.png").write_bytes(rest[:-12] + note + rest[-12:])
    assert _reader(tmp_path / "a.png").read(0).shape == (33, 20, 3)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "BMP", "GIF", "WEBP"])
def test_what_tensorflow_reads_keeps_its_pixels(tmp_path, form):
    path = tmp_path / "a"
    PIL.Image.fromarray(_rgb(375, 500)).save(path, form)
    expected = tf.io.decode_image(path.read_bytes(), channels=3, expand_animations=False)
    reader = _reader(path)
    assert reader.ways.tolist() == [IN_GRAPH]
    for image in (reader.read(0), *_in_graph(reader)):
        assert image.tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "P", "I;16", "CMYK"])
def test_so_do_other_modes(tmp_path, mode):
    path = tmp_path / "a"
    image = PIL.Image.fromarray(_rgb())
    if mode == "I;16":
        image = PIL.Image.fromarray(_rgb()[..., 0].astype(np.uint16) * 251)
    else:
        image = image.convert(mode)
    image.save(path, "JPEG" if mode == "CMYK" else "PNG")
    reader = _reader(path)
    expected = tf.io.decode_image(path.read_bytes(), channels=3, expand_animations=False)
    np.testing.assert_array_equal(reader.read(0), expected)


@pytest.mark.parametrize("size", [(2048, 3), (1, 1), (1, 300), (5000, 1), (4000, 200)])
def test_small_and_long_images_keep_their_pixels(tmp_path, size):
    path = tmp_path / "a.png"
    PIL.Image.fromarray(_rgb(*size)).save(path)
    reader = _reader(path)
    assert reader.ways.tolist() == [IN_GRAPH]
    np.testing.assert_array_equal(reader.read(0), _rgb(*size))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "1", "CMYK", "P", "I;16"])
def test_tiff_is_read_as_matching_reads_it(tmp_path, mode):
    path = tmp_path / "a.tif"
    image = PIL.Image.fromarray(_rgb())
    if mode == "I;16":
        image = PIL.Image.fromarray(_rgb()[..., 0].astype(np.uint16) * 251)
    else:
        image = image.convert(mode)
    image.save(path)
    reader = _reader(path)
    for image in (reader.read(0), *_in_graph(reader)):
        np.testing.assert_array_equal(image, read_image(path))


@pytest.mark.parametrize("size", [(1, 40), (40, 1)])
def test_one_row_of_pixels_is_enough(tmp_path, size):
    PIL.Image.fromarray(_rgb(*size)).save(tmp_path / "a.tif")
    np.testing.assert_array_equal(_reader(tmp_path / "a.tif").read(0), _rgb(*size))


def test_avif(tmp_path):
    if not PIL.features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    PIL.Image.new("RGB", (40, 30), (200, 30, 60)).save(tmp_path / "a.avif", exif=_turned(6))
    image = _reader(tmp_path / "a.avif").read(0)
    assert image.shape == (40, 30, 3)
    np.testing.assert_allclose(image[9, 9], [200, 30, 60], atol=6)


def test_heic(tmp_path):
    pillow_heif = pytest.importorskip("pillow_heif", reason="pillow_heif is not installed")
    pillow_heif.register_heif_opener()
    image = PIL.Image.new("RGB", (80, 64), (20, 60, 200))
    image.paste((250, 240, 10), (0, 0, 20, 16))
    # As bytes, for which the plugin writes the rotation that phones write beside the note.
    image.save(tmp_path / "a.heic", format="HEIF", exif=_turned(6).tobytes())
    reader = _reader(tmp_path / "a.heic")
    for read in (reader.read(0), *_in_graph(reader)):
        assert read.shape == (80, 64, 3)
        np.testing.assert_allclose(read[3, -4], [250, 240, 10], atol=6)
        np.testing.assert_allclose(read[3, 3], [20, 60, 200], atol=6)


def test_the_plugin_is_used_where_it_is(monkeypatch):
    calls = []
    plugin = types.ModuleType("pillow_heif")
    plugin.register_heif_opener = lambda: calls.append("registered")
    plugin.__version__ = "9.9"
    monkeypatch.setitem(sys.modules, "pillow_heif", plugin)
    image_formats._heif_plugin.cache_clear()
    try:
        assert "pillow_heif 9.9" in image_formats.decoders()
        assert "pillow_heif 9.9" in image_formats.decoders() and calls == ["registered"]
    finally:
        image_formats._heif_plugin.cache_clear()


def test_without_the_plugin_the_message_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(image_formats, "_heif_plugin", lambda: None)
    remedy = r"HEIC files need the package pillow_heif \(pip install pillow_heif\)"
    (tmp_path / "bird").mkdir()
    (tmp_path / "bird" / "a.HEIC").write_bytes(HEIC_START)
    with pytest.raises(ValueError, match=remedy + r". Received: .*a.HEIC") as caught:
        read_image(tmp_path / "bird" / "a.HEIC")
    assert "\n" not in str(caught.value)
    (tmp_path / "background").mkdir()
    PIL.Image.fromarray(_rgb()).save(tmp_path / "background" / "a.png")
    others = [tmp_path / "bird" / f"{name}.HEIC" for name in "bcd"]
    for path in others:
        path.write_bytes(HEIC_START)
    with pytest.raises(ValueError, match=remedy + r". Received: 4 of 5, such as bird/a.HEIC"):
        open_source(f"folder:{tmp_path}", heldout_fraction=0.0)
    for path in others:
        path.unlink()
    for index in range(30):
        PIL.Image.fromarray(_rgb()).save(tmp_path / "bird" / f"{index}.png")
    messages = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: messages.append(text % values))
    assert open_source(f"folder:{tmp_path}", heldout_fraction=0.0).unreadable == ("bird/a.HEIC",)
    assert "Skipped an image that cannot be read: bird/a.HEIC" in messages[0]
    assert "pillow_heif" in messages[1]


@pytest.mark.parametrize("number", [1, 6])
def test_a_photograph_of_54_megapixels_is_scaled(tmp_path, number):
    image = PIL.Image.new("RGB", (9000, 6000), (20, 60, 200))
    image.paste((250, 240, 10), (0, 0, 900, 600))
    image.save(tmp_path / "a.jpg", exif=_turned(number))
    reader = _reader(tmp_path / "a.jpg")
    for pixels in (reader.read(0), *_in_graph(reader)):
        assert pixels.shape == ((1365, 2048, 3) if number == 1 else (2048, 1365, 3))
        # The marked corner is the upper left one; turned by 90 degrees, the upper right one.
        marked = pixels[30, 30 if number == 1 else -30]
        np.testing.assert_allclose(marked, [250, 240, 10], atol=6)
        np.testing.assert_allclose(pixels[-30, 30], [20, 60, 200], atol=6)


def test_damaged_and_oversized_files_cannot_be_read(tmp_path, monkeypatch):
    PIL.Image.fromarray(_rgb(60, 60)).save(tmp_path / "whole.tif", compression="tiff_lzw")
    half = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "half.tif").write_bytes(half[: len(half) // 2])
    (tmp_path / "text.jpg").write_text("no image")
    for name in ("half.tif", "text.jpg", "absent.jpg"):
        assert find_way(str(tmp_path / name)) == UNREADABLE
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", "3599")
    assert find_way(str(tmp_path / "whole.tif")) == UNREADABLE


def test_damaged_notes_do_not_matter(tmp_path):
    PIL.Image.fromarray(_rgb()).save(tmp_path / "a.jpg", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\1")
    reader = _reader(tmp_path / "a.jpg")
    assert reader.ways.tolist() == [IN_GRAPH] and reader.read(0).shape == (20, 33, 3)


def _mixed_folder(root):
    for name in ("bird", "background"):
        (root / name).mkdir(parents=True)
    PIL.Image.fromarray(_rgb()).save(root / "background" / "a.png")
    PIL.Image.fromarray(_rgb()).save(root / "bird" / "B.TIFF")
    PIL.Image.fromarray(_rgb()).save(root / "bird" / "c.jpg", exif=_turned(8))
    PIL.Image.fromarray(_rgb()).save(root / "bird" / "d.WebP", lossless=True)
    PIL.Image.fromarray(_rgb()).save(root / "bird" / "e.jpg")
    return root


def test_a_folder_of_all_kinds(tmp_path, monkeypatch):
    root = _mixed_folder(tmp_path / "set")
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert [key.split("/")[1] for key in source.paths_or_keys] == [
        *("a.png", "B.TIFF", "c.jpg", "d.WebP", "e.jpg")
    ]
    expected = [IN_GRAPH, WITH_PILLOW, WITH_PILLOW, IN_GRAPH, IN_GRAPH]
    assert source.reader.ways.tolist() == expected
    for index, image in enumerate(tf.data.Dataset.range(5).map(source.image_tensor)):
        np.testing.assert_array_equal(image, source.read(index))
        assert image.shape[:2] == ((33, 20) if index == 2 else (20, 33))

    # The ways come from the pass that was kept, and stay with the images of joined sets.
    def find_again(path):
        raise AssertionError("examined again")

    monkeypatch.setattr(file_sources, "find_way", find_again)
    joined = open_source(f"folder:{root}+folder:{root}", heldout_fraction=0.0)
    assert joined.reader.ways.tolist() == expected * 2
    assert joined.read(7).shape == (33, 20, 3)


def test_the_fingerprint_tells_what_is_read_otherwise_than_before(tmp_path):
    root = _mixed_folder(tmp_path / "set")
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    sizes = [str(root.joinpath(key).stat().st_size) for key in source.paths_or_keys]
    assert [content == size for content, size in zip(source.contents, sizes, strict=True)] == [
        *(True, False, False, True, True)
    ]


def test_a_reader_without_ways_goes_by_the_headers(tmp_path):
    root = _mixed_folder(tmp_path / "set")
    paths = [str(root / "bird" / name) for name in ("c.jpg", "e.jpg")]
    assert FileReader(paths).ways.tolist() == [WITH_PILLOW, IN_GRAPH]
    assert FileReader(paths).read(0).shape == (33, 20, 3)
    with pytest.raises(ValueError, match=r"Received: 2 paths, ways of shape \(1,\)"):
        FileReader(paths, [IN_GRAPH])
