"""Encoded images inside a graph: JPEG and PNG of any size become pixels of one size.

Memory is bounded: larger images than the limit are refused before they are decoded. A progressive
JPEG of the 8,192 x 8,192 pixels that are allowed needs 400 MB.
"""

import tensorflow as tf

from anchornet_tf.utils.encoded_image import PNG_START, check_size, png_size
from anchornet_tf.utils.image_io import pixel_limit

_DECODES_AT_ONCE = 4
_JPEG_RATIOS = (8, 4, 2, 1)  # By which libjpeg can shrink an image while it decodes.
_PNG_BITS_AT = 24  # The byte of a PNG's header that tells the bits per sample.


def decode_batch(
    image_bytes: tf.Tensor, size: tuple[int, int], max_pixels: int | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Decodes images and resizes them to one size.

    Grey images become RGB, transparent ones are laid on white. A large JPEG is shrunk by its
    decoder, to twice `size` or more, before it is resampled.

    Args:
        image_bytes: string tensor `(batch,)`, each a JPEG or PNG file.
        size: `(height, width)` of the result.
        max_pixels: int, the limit that the graph will have. None means
            `anchornet_tf.utils.image_io.pixel_limit()` at the time the graph is made.

    Returns:
        float32 images `(batch, *size, 3)` from 0 to 255, and int32 `(batch, 2)`: the (height,
        width) of each file.

    Raises:
        tf.errors.InvalidArgumentError: when the graph runs, for bytes that are neither JPEG nor
            PNG, damaged or CMYK, or an image of more than `max_pixels`.
    """
    limit = pixel_limit(max_pixels)
    return tf.map_fn(
        lambda contents: _decode(contents, size, limit),
        image_bytes,
        parallel_iterations=_DECODES_AT_ONCE,
        fn_output_signature=(
            tf.TensorSpec((*size, 3), tf.float32),
            tf.TensorSpec((2,), tf.int32),
        ),
    )


def _decode(contents, size, limit):
    return tf.cond(
        tf.io.is_jpeg(contents),
        lambda: _decode_jpeg(contents, size, limit),
        lambda: _decode_png(contents, size, limit),
    )


def _decode_jpeg(contents, size, limit):
    shape = tf.image.extract_jpeg_shape(contents)  # (height, width, components)
    small_enough = check_size(shape[0], shape[1], limit)
    colors = tf.debugging.Assert(
        shape[2] < 4,
        [
            "Expected a grey or RGB JPEG; convert CMYK to RGB first. Received: components =",
            shape[2],
        ],
    )
    with tf.control_dependencies([small_enough, colors]):
        # The decoder rounds sizes up; twice the size leaves the filter enough to work on.
        fits = [
            (shape[0] // ratio >= 2 * size[0]) & (shape[1] // ratio >= 2 * size[1])
            for ratio in _JPEG_RATIOS[:-1]
        ]
        branch = tf.argmax(tf.stack([*fits, True]), output_type=tf.int32)
    image = tf.switch_case(
        branch, [lambda ratio=ratio: _jpeg_at(contents, ratio) for ratio in _JPEG_RATIOS]
    )
    return _resized(image, size), shape[:2]


def _jpeg_at(contents, ratio):
    # The accurate transform is what Pillow and others use: the same file gives the same pixels.
    return tf.io.decode_jpeg(contents, channels=3, ratio=ratio, dct_method="INTEGER_ACCURATE")


def _decode_png(contents, size, limit):
    long_enough = tf.strings.length(contents) > _PNG_BITS_AT
    known = tf.debugging.Assert(
        (tf.strings.substr(contents, 0, len(PNG_START)) == PNG_START) & long_enough,
        ["Expected the bytes of a JPEG or PNG file. Received: something else, bytes =",
         tf.strings.length(contents)],
    )  # fmt: skip
    with tf.control_dependencies([known]):
        height, width = png_size(contents)
        bits = tf.io.decode_raw(tf.strings.substr(contents, _PNG_BITS_AT, 1), tf.uint8)[0]
    with tf.control_dependencies([check_size(height, width, limit)]):
        image = tf.io.decode_png(contents, channels=4)
    # The decoder gives an image without transparency the largest value of a *file's* sample: 15 for
    # one of 4 bits.
    full = tf.bitwise.left_shift(1, tf.minimum(tf.cast(bits, tf.int32), 8)) - 1
    opaque = tf.reduce_all(tf.equal(image[..., 3], tf.cast(full, tf.uint8)))
    image = tf.cond(opaque, lambda: image[..., :3], lambda: _on_white(image))
    return _resized(image, size), tf.stack([height, width])


def _on_white(image):
    """Lays an RGBA image on white, rounded to the nearest integer."""
    # Just fits 16 bits, which halve the memory of a large image.
    image = tf.cast(image, tf.uint16)
    color, alpha = image[..., :3], image[..., 3:]
    return tf.cast((color * alpha + 255 * (255 - alpha) + 127) // 255, tf.uint8)


def _resized(image, size):
    return tf.ensure_shape(tf.image.resize(image, size, antialias=True), (*size, 3))
