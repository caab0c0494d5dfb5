"""Reading images of every kind."""

import pathlib
import subprocess
import sys
import zlib

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.utils.image_io import pixel_limit, read_image, read_scaled


def _rgb(height=5, width=7, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_png_and_pil_images_keep_their_values(tmp_path):
    rgb = _rgb()
    PIL.Image.fromarray(rgb).save(tmp_path / "a.png")
    for source in (tmp_path / "a.png", str(tmp_path / "a.png"), PIL.Image.fromarray(rgb), rgb):
        result = read_image(source)
        assert result.dtype == np.uint8
        np.testing.assert_array_equal(result, rgb)


def test_grey_is_repeated(tmp_path):
    grey = _rgb()[..., 0]
    PIL.Image.fromarray(grey).save(tmp_path / "grey.png")
    expected = np.stack([grey] * 3, axis=-1)
    for source in (tmp_path / "grey.png", grey, grey[..., np.newaxis]):
        np.testing.assert_array_equal(read_image(source), expected)
    np.testing.assert_array_equal(read_image(grey > 99)[..., 0], np.where(grey > 99, 255, 0))


def test_transparent_images_are_laid_on_white(tmp_path):
    rgba = np.concatenate([_rgb(), np.full((5, 7, 1), 255, np.uint8)], axis=-1)
    rgba[0, 0, 3] = 0
    rgba[1, 1] = [0, 100, 200, 128]
    PIL.Image.fromarray(rgba).save(tmp_path / "rgba.png")
    for source in (tmp_path / "rgba.png", rgba):
        result = read_image(source)
        assert result[0, 0].tolist() == [255, 255, 255]
        assert result[1, 1].tolist() == [127, 177, 227]
        np.testing.assert_array_equal(result[2:], rgba[2:, :, :3])


def test_palette_with_and_without_transparency(tmp_path):
    image = PIL.Image.new("P", (4, 3), 1)
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((0, 0), 0)
    image.save(tmp_path / "palette.png")
    assert read_image(tmp_path / "palette.png")[0, :2].tolist() == [[255, 0, 0], [0, 0, 255]]
    image.save(tmp_path / "clear.png", transparency=0)
    assert read_image(tmp_path / "clear.png")[0, :2].tolist() == [[255] * 3, [0, 0, 255]]


def test_sixteen_bits_are_scaled(tmp_path):
    deep = np.array([[0, 257, 65535], [128 * 257, 1, 256]], np.uint16)
    expected = [[0, 1, 255], [128, 0, 1]]
    PIL.Image.fromarray(deep).save(tmp_path / "deep.png")
    PIL.Image.fromarray(deep).save(tmp_path / "deep.tif")
    for source in (deep, tmp_path / "deep.png", tmp_path / "deep.tif"):
        assert read_image(source)[..., 1].tolist() == expected
    assert read_image(PIL.Image.fromarray(deep.astype(np.int32)))[..., 0].tolist() == expected


def test_exif_orientation_is_applied(tmp_path):
    rgb = np.zeros((4, 6, 3), np.uint8)
    rgb[:2] = 255  # The upper half is white; turned right it is the right half.
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # To be turned by 90 degrees clockwise.
    PIL.Image.fromarray(rgb).save(tmp_path / "turned.png", exif=exif)
    result = read_image(tmp_path / "turned.png")
    assert result.shape == (6, 4, 3)
    assert (result[:, 2:] == 255).all() and (result[:, :2] == 0).all()


@pytest.mark.parametrize("number", range(1, 9))
def test_turned_tiffs_keep_their_size(tmp_path, number):
    exif = PIL.Image.Exif()
    exif[0x0112] = number
    PIL.Image.fromarray(_rgb(4, 6)).save(tmp_path / "turned.tif", exif=exif)
    scaled = read_scaled(tmp_path / "turned.tif")
    assert scaled.original_size == scaled.pixels.shape[:2] == ((4, 6) if number < 5 else (6, 4))


def test_cmyk_jpeg(tmp_path):
    PIL.Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "cmyk.jpg")
    np.testing.assert_allclose(read_image(tmp_path / "cmyk.jpg")[4, 4], [254, 0, 0], atol=3)


def test_floats_may_end_at_one_or_at_255():
    ramp = np.linspace(0, 1, 24).reshape(4, 6)
    expected = np.rint(ramp * 255)
    np.testing.assert_array_equal(read_image(ramp)[..., 0], expected)
    np.testing.assert_array_equal(read_image(ramp.astype(np.float32) * 255)[..., 0], expected)
    np.testing.assert_array_equal(read_image(expected.astype(np.int64))[..., 0], expected)


@pytest.mark.parametrize("values", [np.full((4, 4), np.nan), np.full((4, 4), np.inf)])
def test_arrays_must_be_finite(values):
    with pytest.raises(ValueError, match="finite. Received"):
        read_image(values)


@pytest.mark.parametrize("values", [np.full((4, 4), -1.0), np.full((4, 4), 256)])
def test_arrays_must_be_in_range(values):
    with pytest.raises(ValueError, match=r"0..255 .*Received: values from"):
        read_image(values)


@pytest.mark.parametrize("shape", [(4,), (4, 4, 2), (1, 4, 4, 3), (4, 4, 5), (0, 4, 3)])
def test_arrays_must_have_rank_two_or_three(shape):
    with pytest.raises(ValueError, match=r"Received: shape=\("):
        read_image(np.zeros(shape, np.uint8))


def test_arrays_must_hold_numbers():
    with pytest.raises(ValueError, match="must hold numbers. Received: dtype=<U1"):
        read_image(np.full((4, 4), "a"))


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 9, 3), (9, 1, 3)])
def test_images_of_one_pixel_are_refused(tmp_path, shape):
    PIL.Image.fromarray(np.zeros(shape, np.uint8)).save(tmp_path / "tiny.png")
    with pytest.raises(ValueError, match="at least 2 pixels.*Received: the image .*tiny.png"):
        read_image(tmp_path / "tiny.png")
    with pytest.raises(ValueError, match="at least 2 pixels"):
        read_image(np.zeros(shape, np.uint8))


def test_missing_and_damaged_files(tmp_path):
    with pytest.raises(ValueError, match="an image file at the path. Received: the folder '.*'$"):
        read_image(tmp_path)
    with pytest.raises(FileNotFoundError, match="Received: .*absent.jpg"):
        read_image(tmp_path / "absent.jpg")
    (tmp_path / "text.jpg").write_text("no image")
    PIL.Image.fromarray(_rgb(64, 64)).save(tmp_path / "whole.png")
    half = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "half.png").write_bytes(half[: len(half) // 2])
    for name in ("text.jpg", "half.png"):
        with pytest.raises(ValueError, match="readable image .*Received"):
            read_image(tmp_path / name)


@pytest.mark.parametrize("source", [None, 3, [[1, 2], [3, 4]], b"bytes"])
def test_other_types_are_refused(source):
    with pytest.raises(TypeError, match="a path, an array or a PIL image. Received"):
        read_image(source)


def _claiming(width, height):
    """The beginning of a PNG file that claims to be of a size."""
    header = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([1, 0, 0, 0, 0])
    chunk = (13).to_bytes(4, "big") + header + zlib.crc32(header).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + (0).to_bytes(4, "big") + b"IDAT" + bytes(4)


@pytest.mark.parametrize("read", [read_image, read_scaled])
def test_too_many_pixels_are_refused_before_they_are_decoded(tmp_path, read, recwarn):
    path = tmp_path / "huge.png"
    path.write_bytes(_claiming(13300, 13301))
    message = (
        r"at most 67,108,864 pixels; `max_pixels` \(--max_pixels\) or the environment variable "
        r"ANCHORNET_MAX_PIXELS raises the limit. "
        r"Received: the image '.*huge.png' of 13300 x 13301 = 176,903,300 pixels"
    )
    with pytest.raises(ValueError, match=message):
        read(path)
    # With a higher limit it is decoded, and turns out to be damaged.
    with pytest.raises(ValueError, match="readable image"):
        read(path, max_pixels=2 * 10**8)
    assert not recwarn.list


def test_the_limit_may_come_from_the_environment(tmp_path, monkeypatch):
    PIL.Image.fromarray(_rgb()).save(tmp_path / "a.png")
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", "34")
    for source in (tmp_path / "a.png", PIL.Image.fromarray(_rgb())):
        with pytest.raises(ValueError, match="at most 34 pixels.*Received: .* 7 x 5 = 35 pixels"):
            read_image(source)
        assert read_image(source, max_pixels=35).shape == (5, 7, 3)
    assert read_image(_rgb()).shape == (5, 7, 3)  # An array is in memory already.
    monkeypatch.setenv("ANCHORNET_MAX_PIXELS", "many")
    with pytest.raises(ValueError, match="ANCHORNET_MAX_PIXELS must be .* Received: 'many'"):
        pixel_limit()
    with pytest.raises(ValueError, match="`max_pixels` must be a positive integer. Received: 0"):
        read_image(tmp_path / "a.png", max_pixels=0)


def test_pillows_own_limit_neither_matters_nor_changes(tmp_path, monkeypatch, recwarn):
    PIL.Image.fromarray(_rgb()).save(tmp_path / "a.png")
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 10)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), _rgb())
    assert PIL.Image.MAX_IMAGE_PIXELS == 10 and not recwarn.list


def _many_rows(mode):
    """An image of a mode with more rows than are converted at once, and what it is as RGB."""
    rgb = _rgb(150, 40)
    image = PIL.Image.fromarray(rgb)
    if mode == "RGBA":
        alpha = _rgb(150, 40, seed=1)[..., :1]
        share = alpha.astype(np.float32) / 255
        expected = np.rint(rgb * share + 255 * (1 - share)).astype(np.uint8)
        return PIL.Image.fromarray(np.concatenate([rgb, alpha], axis=-1)), expected
    if mode in ("I;16", "I"):
        deep = rgb[..., 0].astype(np.uint16) * 256 + rgb[..., 1]
        expected = np.rint(deep / 257).astype(np.uint8)
        deep = deep if mode == "I;16" else deep.astype(np.int32)
        return PIL.Image.fromarray(deep), np.stack([expected] * 3, axis=-1)
    if mode == "F":
        ramp = np.linspace(0, 1, 6000, dtype=np.float32).reshape(150, 40)
        expected = np.rint(ramp.astype(np.float64) * 255).astype(np.uint8)
        return PIL.Image.fromarray(ramp), np.stack([expected] * 3, axis=-1)
    converted = image.convert(mode)
    return converted, np.asarray(converted.convert("RGB"))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "I;16", "I", "F", "CMYK", "YCbCr"])
def test_rows_are_converted_as_the_whole_image(mode):
    image, expected = _many_rows(mode)
    np.testing.assert_array_equal(read_image(image), expected)
    if mode in ("RGBA", "I;16", "F", "L"):
        np.testing.assert_array_equal(read_image(np.asarray(image)), expected)


@pytest.mark.parametrize("values", [-1, 70000])
def test_integers_of_pil_images_must_fit_sixteen_bits(values):
    with pytest.raises(ValueError, match="Received: values from"):
        read_image(PIL.Image.fromarray(np.full((4, 4), values, np.int32)))


def test_scaled_reading_leaves_ordinary_images_alone(tmp_path):
    rgb = _rgb(30, 40)
    PIL.Image.fromarray(rgb).save(tmp_path / "a.jpg")
    for source in (tmp_path / "a.jpg", rgb):
        scaled = read_scaled(source)
        np.testing.assert_array_equal(scaled.pixels, read_image(source))
        assert scaled.original_size == (30, 40)
        np.testing.assert_array_equal(read_scaled(source, max_side=40).pixels, scaled.pixels)
    with pytest.raises(ValueError, match="`max_side` must be at least 2. Received: max_side=1"):
        read_scaled(rgb, max_side=1)


def _smooth(height, width):
    image = PIL.Image.fromarray(_rgb(12, 9))
    return image.resize((width, height), PIL.Image.Resampling.BICUBIC)


@pytest.mark.parametrize("form", ["jpg", "png", "array"])
@pytest.mark.parametrize("size", [(1501, 1111), (900, 2603)])
def test_large_images_are_scaled_to_the_long_side(tmp_path, form, size):
    image = _smooth(*size)
    source = np.asarray(image)
    if form != "array":
        source = tmp_path / f"a.{form}"
        image.save(source, quality=95)
    scaled = read_scaled(source, max_side=750)
    assert scaled.original_size == size
    height, width = scaled.pixels.shape[:2]
    assert max(height, width) == 750
    assert (height, width) == tuple(round(side * 750 / max(size)) for side in size)
    expected = image.resize((width, height), PIL.Image.Resampling.BOX)
    difference = np.abs(scaled.pixels.astype(int) - np.asarray(expected))
    assert difference.mean() < 1 and difference.max() < 12


def test_scaled_images_may_be_read_again():
    scaled = read_scaled(np.asarray(_smooth(900, 1200)), max_side=600)
    again = read_scaled(scaled)
    assert again.pixels is scaled.pixels and again.original_size == (900, 1200)
    smaller = read_scaled(scaled, max_side=400)
    assert smaller.pixels.shape == (300, 400, 3) and smaller.original_size == (900, 1200)


def test_a_panorama_keeps_its_short_side():
    scaled = read_scaled(np.zeros((512, 6000, 3), np.uint8), max_side=2000)
    assert scaled.pixels.shape == (256, 3000, 3)
    assert read_scaled(np.zeros((200, 6000), np.uint8), 2000).pixels.shape == (200, 6000, 3)


def test_turned_jpegs_are_scaled_and_turned(tmp_path):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    image = _smooth(1999, 2000)
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    scaled = read_scaled(tmp_path / "turned.jpg", max_side=400)
    assert scaled.original_size == (2000, 1999) and scaled.pixels.shape == (400, 400, 3)
    expected = image.transpose(PIL.Image.Transpose.ROTATE_270).resize((400, 400))
    assert np.abs(scaled.pixels.astype(int) - np.asarray(expected)).mean() < 1.5


_MEMORY_PROGRAM = """
import resource, sys
from anchornet_tf.utils.image_io import read_scaled
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert read_scaled(sys.argv[1]).original_size == (6000, 8000)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("mode, bytes_per_pixel", [("1", 1), ("I;16", 2), ("RGBA", 4)])
def test_reading_takes_little_more_than_the_decoded_file(tmp_path, mode, bytes_per_pixel):
    PIL.Image.new(mode, (8000, 6000)).save(tmp_path / "large.png", compress_level=1)
    finished = subprocess.run(
        [sys.executable, "-c", _MEMORY_PROGRAM, str(tmp_path / "large.png")],
        cwd=pathlib.Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert float(finished.stdout) < 48 * bytes_per_pixel + 90
