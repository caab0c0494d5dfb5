"""Reading images of every kind."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.utils.image_io import read_image


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
    with pytest.raises(FileNotFoundError, match="Received: .*absent.jpg"):
        read_image(tmp_path / "absent.jpg")
    (tmp_path / "text.jpg").write_text("no image")
    PIL.Image.fromarray(_rgb(64, 64)).save(tmp_path / "whole.png")
    half = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "half.png").write_bytes(half[: len(half) // 2])
    for name in ("text.jpg", "half.png", "."):
        with pytest.raises(ValueError, match="readable image .*Received"):
            read_image(tmp_path / name)


@pytest.mark.parametrize("source", [None, 3, [[1, 2], [3, 4]], b"bytes"])
def test_other_types_are_refused(source):
    with pytest.raises(TypeError, match="a path, an array or a PIL image. Received"):
        read_image(source)
