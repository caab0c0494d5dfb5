"""Sizes of encoded images, read from their headers inside a graph, before anything is decoded."""

import tensorflow as tf

from anchornet_tf.utils.image_io import LIMIT_VARIABLE

PNG_START = b"\x89PNG\r\n\x1a\n"
# Where a format keeps width and height: first byte, type of the numbers, little-endian or not.
_PNG_SIZE = (16, tf.int32, False)
_GIF_SIZE = (6, tf.uint16, True)
_BMP_SIZE = (18, tf.int32, True)


def encoded_size(contents: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the height and width that the header of an encoded image states.

    Args:
        contents: string scalar, the bytes of a JPEG, PNG, GIF or BMP file.

    Returns:
        Two int32 scalars; both are 0 for other formats and headers that are cut off.

    Raises:
        tf.errors.InvalidArgumentError: when the graph runs, for a damaged JPEG header.
    """
    return tf.case(
        [
            (tf.io.is_jpeg(contents), lambda: _jpeg_size(contents)),
            (_starts_with(contents, PNG_START), lambda: png_size(contents)),
            (_starts_with(contents, b"GIF8"), lambda: _size_at(contents, *_GIF_SIZE)),
            (_starts_with(contents, b"BM"), lambda: _size_at(contents, *_BMP_SIZE)),
        ],
        default=lambda: (tf.constant(0), tf.constant(0)),
        exclusive=True,
    )


def png_size(contents: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the height and width in the header of a PNG file, as `encoded_size` does."""
    return _size_at(contents, *_PNG_SIZE)


def check_size(height: tf.Tensor, width: tf.Tensor, limit: int | tf.Tensor) -> tf.Operation:
    """Returns an operation that fails for an image of more than `limit` pixels.

    Args:
        height: int32 scalar.
        width: int32 scalar.
        limit: int, such as `image_io.pixel_limit()`.

    Raises:
        tf.errors.InvalidArgumentError: when the operation runs.
    """
    pixels = tf.cast(height, tf.int64) * tf.cast(width, tf.int64)
    limit = tf.cast(limit, tf.int64)
    expected = f"The pixels of an image must not exceed the limit ({LIMIT_VARIABLE} raises it) of"
    return tf.debugging.Assert(
        pixels <= limit, [expected, limit, "Received: (height, width) =", height, width]
    )


def _jpeg_size(contents):
    height, width, _ = tf.unstack(tf.image.extract_jpeg_shape(contents))
    return height, width


def _size_at(contents, start, dtype, little_endian):
    end = start + 2 * dtype.size
    # Zeros behind a header that is cut off: the decoder will say what is wrong with the file.
    padded = tf.strings.join([tf.strings.substr(contents, 0, end), b"\0" * end])
    numbers = tf.io.decode_raw(
        tf.strings.substr(padded, start, 2 * dtype.size), dtype, little_endian=little_endian
    )
    # Rows from the top down are told by a negative height.
    width, height = tf.unstack(tf.abs(tf.cast(tf.reshape(numbers, (2,)), tf.int32)))
    return height, width


def _starts_with(contents, start):
    return tf.strings.substr(contents, 0, len(start)) == start
