"""Sizes in the headers of encoded images."""

import io

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from anchornet_tf.utils import encoded_image


def _encoded(form, size=(300, 170), **options):
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, (10, 200, 30)).save(buffer, form, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def size_of():
    @tf.function(input_signature=[tf.TensorSpec((), tf.string)], autograph=False)
    def run(contents):
        return encoded_image.encoded_size(contents)

    return lambda contents: tuple(int(side) for side in run(contents))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP"])
def test_sizes_are_those_of_the_images(size_of, form):
    contents = _encoded(form)
    assert size_of(contents) == (170, 300)
    assert tf.io.decode_image(contents, expand_animations=False).shape[:2] == (170, 300)
    # In eager mode too.
    assert [int(side) for side in encoded_image.encoded_size(contents)] == [170, 300]


def test_progressive_and_large_jpegs(size_of):
    assert size_of(_encoded("JPEG", (4000, 2), progressive=True)) == (2, 4000)


def test_rows_from_the_top_down(size_of):
    contents = bytearray(_encoded("BMP"))
    contents[22:26] = np.array(-170, "<i4").tobytes()
    assert size_of(bytes(contents)) == (170, 300)


@pytest.mark.parametrize("contents", [b"", b"text", b"BM", b"GIF89a", _encoded("PNG")[:18]])
def test_what_has_no_size_has_none(size_of, contents):
    height, width = size_of(contents)
    assert height == 0 or width == 0


def test_the_limit():
    encoded_image.check_size(tf.constant(60000), tf.constant(60000), 36 * 10**8)
    message = "must not exceed the limit .ANCHORNET_MAX_PIXELS raises it. of"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        encoded_image.check_size(tf.constant(60000), tf.constant(60000), 36 * 10**8 - 1)
