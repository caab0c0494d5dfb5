"""Training images changed at random as for residual networks: crop, mirror image, colour.

Everything is a pure function of the image and a seed (stateless random numbers), so that a run that
is stopped and continued sees the same pixels. Images are RGB; what comes out is float32 in 0..255.
"""

import dataclasses
import math

import tensorflow as tf

# Luma weights of ITU-R BT.601, as in `tf.image.rgb_to_grayscale`.
_LUMA = (0.2989, 0.5870, 0.1140)

# Principal components of the colours of ILSVRC12 (Krizhevsky et al. 2012), RGB in 0..1: deviation
# along each of the three axes, and the axes as columns.
_LIGHT_DEVIATIONS = (0.2175, 0.0188, 0.0045)
_LIGHT_AXES = (
    (-0.5675, 0.7192, 0.4009),
    (-0.5808, -0.0045, -0.8140),
    (-0.5836, -0.6948, 0.4203),
)


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """How much an image changes.

    The smallest crop is a quarter of the image, about what He et al. (2016) cut from an image
    scaled to a short side of 480; smaller ones would lose the object that the label speaks of.

    Args:
        area_range: least and greatest share of the image's area that a crop keeps.
        aspect_range: least and greatest width / height of a crop.
        flip_probability: how often the image is mirrored left to right.
        brightness: colours are multiplied by a number in `1 - brightness .. 1 + brightness`.
        contrast: so is the distance of colours to the image's mean grey.
        saturation: so is the distance of colours to the grey of their pixel.
        lighting: deviation of the shift along the principal components of ImageNet's colours.

    Raises:
        ValueError: a range is empty or a strength is out of bounds.
    """

    area_range: tuple[float, float] = (0.25, 1.0)
    aspect_range: tuple[float, float] = (3 / 4, 4 / 3)
    flip_probability: float = 0.5
    brightness: float = 0.4
    contrast: float = 0.4
    saturation: float = 0.4
    lighting: float = 0.1

    def __post_init__(self):
        low, high = self.area_range
        if not 0 < low <= high <= 1:
            raise ValueError(
                "`area_range` must be two shares of the area, 0 < low <= high <= 1. "
                f"Received: area_range={self.area_range}"
            )
        low, high = self.aspect_range
        if not 0 < low <= high < math.inf:
            raise ValueError(
                "`aspect_range` must be two ratios width / height, 0 < low <= high. "
                f"Received: aspect_range={self.aspect_range}"
            )
        for name in ("flip_probability", "brightness", "contrast", "saturation"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"`{name}` must be in 0..1. Received: {name}={value}")
        if not 0 <= self.lighting < math.inf:
            raise ValueError(f"`lighting` must not be negative. Received: lighting={self.lighting}")


def crop_window(
    height: tf.Tensor,
    width: tf.Tensor,
    seed: tf.Tensor,
    area_range: tuple[float, float],
    aspect_range: tuple[float, float],
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Draws a window of an image: area uniform, aspect log-uniform, place uniform.

    The aspect is drawn among those that fit in the image with the drawn area, so no draw is
    refused; in an image too long for any allowed aspect the window has the nearest one that fits.

    Args:
        height, width: int scalars, the size of the image.
        seed: int `(2,)`.
        area_range: share of the area, as in `Augmentation`.
        aspect_range: width / height, as in `Augmentation`.

    Returns:
        Top, left, height and width of the window: int32 scalars, in the image, at least one pixel.
    """
    draws = _uniform((4,), seed)
    full_height = tf.cast(height, tf.float32)
    full_width = tf.cast(width, tf.float32)
    share = area_range[0] + draws[0] * (area_range[1] - area_range[0])

    narrowest = share * full_width / full_height
    widest = full_width / (share * full_height)
    low = tf.math.log(tf.clip_by_value(aspect_range[0], narrowest, widest))
    high = tf.math.log(tf.clip_by_value(aspect_range[1], narrowest, widest))
    aspect = tf.exp(low + draws[1] * (high - low))

    area = share * full_height * full_width
    window_height = _whole_pixels(tf.sqrt(area / aspect), full_height)
    window_width = _whole_pixels(tf.sqrt(area * aspect), full_width)
    # Draws are below 1, so that floor gives each place, the last one included, the same chance.
    top = tf.floor(draws[2] * (full_height - window_height + 1))
    left = tf.floor(draws[3] * (full_width - window_width + 1))
    top = tf.minimum(top, full_height - window_height)
    left = tf.minimum(left, full_width - window_width)
    return tuple(tf.cast(value, tf.int32) for value in (top, left, window_height, window_width))


def random_resized_crop(
    image: tf.Tensor,
    size: int,
    seed: tf.Tensor,
    area_range: tuple[float, float] = Augmentation.area_range,
    aspect_range: tuple[float, float] = Augmentation.aspect_range,
) -> tf.Tensor:
    """Cuts a random window from `image` `(height, width, 3)`; squashes it to `(size, size, 3)`."""
    shape = tf.shape(image)
    top, left, height, width = crop_window(shape[0], shape[1], seed, area_range, aspect_range)
    return evaluation_resize(image[top : top + height, left : left + width], size)


def random_flip(image: tf.Tensor, seed: tf.Tensor, probability: float = 0.5) -> tf.Tensor:
    """Mirrors `image` `(height, width, channels)` left to right, with the given probability."""
    columns = tf.range(tf.shape(image)[1])
    # A gather in either order: several times faster than choosing between two whole images.
    order = tf.where(_uniform((), seed) < probability, columns[::-1], columns)
    return tf.gather(image, order, axis=1)


def colour_jitter(
    image: tf.Tensor,
    seed: tf.Tensor,
    brightness: float = Augmentation.brightness,
    contrast: float = Augmentation.contrast,
    saturation: float = Augmentation.saturation,
    lighting: float = Augmentation.lighting,
) -> tf.Tensor:
    """Changes saturation, brightness, contrast and the colour of the light, in this order.

    With `g` the grey of a pixel, `m` its mean over the image and factors `s`, `b`, `c`, a colour
    `x` becomes `b (m + c (g + s (x - g) - m)) + light`: one matrix and one offset for all pixels.

    Args:
        image: float `(height, width, 3)`, 0..255.
        seed: int `(2,)`.
        brightness, contrast, saturation, lighting: strengths, as in `Augmentation`.

    Returns:
        float32 `(height, width, 3)`, cut to 0..255.
    """
    draws = 2 * _uniform((3,), seed) - 1
    scale = 1 + draws[0] * brightness
    spread = 1 + draws[1] * contrast
    colourfulness = 1 + draws[2] * saturation
    amounts = tf.random.stateless_normal((3,), _derived(seed, 1), alg="philox")
    amounts *= lighting * tf.constant(_LIGHT_DEVIATIONS)
    light = 255 * tf.reduce_sum(tf.constant(_LIGHT_AXES) * amounts, axis=1)

    image = tf.cast(image, tf.float32)
    luma = tf.constant(_LUMA)
    mean_grey = tf.reduce_sum(luma * tf.reduce_mean(image, axis=(0, 1)))
    # (input channel, output channel)
    mixing = colourfulness * tf.eye(3) + (1 - colourfulness) * luma[:, tf.newaxis]
    offset = scale * (1 - spread) * mean_grey + light
    pixels = tf.reshape(image, (-1, 3)) @ (scale * spread * mixing) + offset
    return tf.reshape(tf.clip_by_value(pixels, 0, 255), tf.shape(image))


def augment(
    image: tf.Tensor, size: int, seed: tf.Tensor, settings: Augmentation | None = None
) -> tf.Tensor:
    """Cuts, mirrors and recolours one image; works in graphs on images of unknown size.

    Args:
        image: uint8 RGB `(height, width, 3)`.
        size: int, side of the square result.
        seed: int `(2,)`; the same seed gives the same result.
        settings: how much to change; None for the defaults.

    Returns:
        float32 `(size, size, 3)`, 0..255.
    """
    settings = settings or Augmentation()
    image = random_resized_crop(
        image, size, _derived(seed, 0), settings.area_range, settings.aspect_range
    )
    image = random_flip(image, _derived(seed, 1), settings.flip_probability)
    image = colour_jitter(
        image,
        _derived(seed, 2),
        settings.brightness,
        settings.contrast,
        settings.saturation,
        settings.lighting,
    )
    return tf.ensure_shape(image, (size, size, 3))


def evaluation_resize(image: tf.Tensor, size: int) -> tf.Tensor:
    """Squashes `image` `(height, width, 3)` to `(size, size, 3)`, float32, without any randomness.

    Bilinear with half-pixel centres; averages over what it shrinks, since photographs are often
    several times larger than the network's input.
    """
    return tf.image.resize(image, (size, size), antialias=True)


def _uniform(shape: tuple[int, ...], seed: tf.Tensor) -> tf.Tensor:
    # The algorithm is named since the automatic choice differs between devices.
    return tf.random.stateless_uniform(shape, seed, alg="philox")


def _derived(seed: tf.Tensor, purpose: int) -> tf.Tensor:
    return tf.random.experimental.stateless_fold_in(seed, purpose, alg="philox")


def _whole_pixels(side: tf.Tensor, full_side: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(tf.round(side), 1, full_side)
