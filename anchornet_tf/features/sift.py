"""Dense SIFT: a histogram of gradient orientations around every pixel, without keypoints.

The layout and the constants are those of VLFeat's `dsift` at one scale, the descriptor that the
published DSP and FlowWeb results use.

Reference:
- [Distinctive Image Features from Scale-Invariant Keypoints](
  https://doi.org/10.1023/B:VISI.0000029664.99615.94)
"""

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from anchornet_tf.features.feature_map import FeatureMap, cell_centers
from anchornet_tf.features.shipped_confidence import shipped_confidence

NUM_BINS = 4  # Spatial bins along each side.
NUM_ORIENTATIONS = 8
DEPTH = NUM_BINS * NUM_BINS * NUM_ORIENTATIONS
WINDOW_SIZE = 2.0  # Standard deviation of the Gaussian window, in bins.
CLIP = 0.2  # Largest entry of a unit descriptor before it is normalised again.
SCALE = 512.0  # Norm of a descriptor...
LARGEST = 255.0  # ... whose entries end here, as they did in bytes.
_EPSILON = 1.2e-7
_LUMA = np.array([0.298936021293775, 0.587043074451121, 0.114020904255103])  # ITU-R BT.601


class SiftDescriptor:
    """Extracts dense SIFT from images, each at its own size.

    Args:
        step: int. Distance between neighbouring cells in pixels; 1 gives a map of pixel
            resolution. With larger steps a cell takes the descriptor of the pixel nearest to its
            centre.
        bin_size: int. Side of a spatial bin in pixels; a descriptor sees about 4 x 4 bins.
        window: `"flat"` (each bin is weighted as a whole, faster) or `"gaussian"`
            (each pixel is).
        padded: bool. Whether the image is continued beyond its border by its border pixels.
            Otherwise only descriptors whose bins lie inside the image are computed, and cells
            nearer to the border repeat the nearest of them.

    Example:

    ```python
    extract = SiftDescriptor()
    [feature_map] = extract([image])  # image: (height, width, 3) uint8
    feature_map.values.shape  # (height, width, 128)
    ```
    """

    def __init__(self, step: int = 1, bin_size: int = 4, window: str = "flat", padded: bool = True):
        _check_options(step, bin_size, window)
        self.confidence = shipped_confidence("sift")
        self.step = step
        self.bin_size = bin_size
        self.window = window
        self.padded = padded

    def __call__(self, images: Sequence[np.ndarray]) -> list[FeatureMap]:
        """Returns one feature map per image.

        Args:
            images: sequence of `(height, width)` or `(height, width, 3)` arrays with values from
                0 to 255.
        """
        return [self._extract(image) for image in images]

    def _extract(self, image: np.ndarray) -> FeatureMap:
        gray = to_gray(image)
        size = gray.shape
        if self.padded:
            values = dense_sift(gray, self.step, self.bin_size, self.window, padded=True)
        else:
            _check_support(size, self.bin_size)
            span = _span(self.bin_size)
            first_bins = [
                np.clip(_cell_pixels(side, self.step) - span // 2, 0, side - 1 - span)
                for side in size
            ]
            values = _describe(gray, *first_bins, self.bin_size, self.window)
        return FeatureMap(values, size)


def dense_sift(
    image: np.ndarray,
    step: int = 1,
    bin_size: int = 4,
    window: str = "flat",
    padded: bool = False,
) -> np.ndarray:
    """Computes SIFT descriptors on a regular grid of one image.

    Args:
        image: `(height, width)` or `(height, width, 3)` array with values from 0 to 255.
        step: int. Distance between neighbouring descriptors in pixels.
        bin_size: int. Side of a spatial bin in pixels.
        window: `"flat"` or `"gaussian"`.
        padded: bool. Whether the image is continued beyond its border, so that the grid covers it
            as that of a `FeatureMap` does.

    Returns:
        float32 array `(rows, columns, 128)` with values from 0 to 255; entry
        `orientation + 8 * (bin_x + 4 * bin_y)`. Without padding the first descriptor is centred
        `1.5 * bin_size` pixels inside the image and they lie `step` pixels apart:
        `ceil((height - 3 * bin_size) / step)` rows. Where the image is constant they are zero.

    Raises:
        ValueError: If an option is out of range, or the image is too small to hold a descriptor.
    """
    _check_options(step, bin_size, window)
    gray = to_gray(image)
    if padded:
        margin = (_span(bin_size) + 1) // 2 + 1
        shift = margin - _span(bin_size) // 2
        first_bins = [_cell_pixels(side, step) + shift for side in gray.shape]
        gray = np.pad(gray, margin, mode="edge")
    else:
        _check_support(gray.shape, bin_size)
        first_bins = [np.arange(0, side - _span(bin_size), step) for side in gray.shape]
    return _describe(gray, *first_bins, bin_size, window)


def to_gray(image: np.ndarray) -> np.ndarray:
    """Returns a `(height, width)` float32 image; colours become whole grey levels.

    Raises:
        ValueError: If the image is neither grey nor RGB, empty or not finite.
    """
    image = np.asarray(image)
    if image.ndim == 3 and image.shape[-1] == 1:
        image = image[..., 0]
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[-1] != 3):
        raise ValueError(
            "`image` must have shape (height, width) or (height, width, 3). "
            f"Received: image.shape={image.shape}"
        )
    if image.size == 0:
        raise ValueError(f"`image` must not be empty. Received: image.shape={image.shape}")
    gray = np.rint(image @ _LUMA) if image.ndim == 3 else image
    gray = gray.astype(np.float32)
    if not np.isfinite(gray).all():
        raise ValueError("`image` must be finite. Received: NaN or infinite values")
    return gray


def _describe(
    gray: np.ndarray, rows: np.ndarray, columns: np.ndarray, bin_size: int, window: str
) -> np.ndarray:
    """Computes the descriptors whose first bins are centred on the given rows and columns."""
    maps = _orientation_maps(gray)
    reach = np.arange(1 - bin_size, bin_size)
    triangle = 1 - np.abs(reach) / bin_size  # Shares a pixel between its two nearest bins.
    bins = np.arange(NUM_BINS)
    from_center = reach - bin_size * (bins - (NUM_BINS - 1) / 2)[:, np.newaxis]
    gaussian = np.exp(-0.5 * (from_center / (WINDOW_SIZE * bin_size)) ** 2)  # (bins, taps)
    in_rows = rows[:, np.newaxis] + bin_size * bins
    in_columns = columns[:, np.newaxis] + bin_size * bins
    shape = (len(rows), len(columns), NUM_BINS, NUM_BINS, NUM_ORIENTATIONS)
    descriptors = np.empty(shape, np.float32)
    if window == "flat":
        # Bins that are weighted as a whole share one filter: the image is filtered once.
        pooled = _filter(_filter(maps, triangle, axis=0), triangle, axis=1)
        weights = gaussian.mean(axis=1).astype(np.float32)
        for y in bins:
            strip = pooled[in_rows[:, y]] * weights[y]
            for x in bins:
                descriptors[:, :, y, x] = strip[:, in_columns[:, x]] * weights[x]
    else:
        for y in bins:
            strip = _filter(maps, triangle * gaussian[y], axis=0)[in_rows[:, y]]
            for x in bins:
                pooled = _filter(strip, triangle * gaussian[x], axis=1)
                descriptors[:, :, y, x] = pooled[:, in_columns[:, x]]
    return _normalize(descriptors.reshape(len(rows), len(columns), DEPTH))


def _orientation_maps(gray: np.ndarray) -> np.ndarray:
    """Shares the gradient's magnitude linearly between its two nearest orientations.

    Returns:
        float32 array `(height, width, orientations)`.
    """
    down, across = np.gradient(gray)
    magnitude = np.hypot(down, across)
    position = np.arctan2(down, across) * (NUM_ORIENTATIONS / (2 * np.pi))
    lower = np.floor(position)
    upper_share = magnitude * (position - lower)
    lower = lower.astype(np.int64)[..., np.newaxis] % NUM_ORIENTATIONS
    maps = np.zeros((*gray.shape, NUM_ORIENTATIONS), np.float32)
    np.put_along_axis(maps, lower, (magnitude - upper_share)[..., np.newaxis], axis=-1)
    upper = (lower + 1) % NUM_ORIENTATIONS
    np.put_along_axis(maps, upper, upper_share[..., np.newaxis], axis=-1)
    return maps


def _filter(maps: np.ndarray, kernel: np.ndarray, axis: int) -> np.ndarray:
    return ndimage.convolve1d(maps, kernel, axis=axis, mode="nearest")


def _normalize(descriptors: np.ndarray) -> np.ndarray:
    """Brings `(rows, columns, depth)` histograms to their final scale, in place."""
    for scale, largest in ((1.0, CLIP), (SCALE, LARGEST)):
        norms = np.sqrt(np.einsum("rcd,rcd->rc", descriptors, descriptors)) + _EPSILON
        descriptors *= (scale / norms)[..., np.newaxis]
        np.minimum(descriptors, largest, out=descriptors)
    return descriptors


def _cell_pixels(side: int, step: int) -> np.ndarray:
    """Returns the pixels nearest to the centres of the cells that cover a side of an image."""
    return np.floor(cell_centers(-(-side // step), side) + 0.5).astype(np.int64)


def _span(bin_size: int) -> int:
    """Returns the distance between the centres of a descriptor's first and last bin."""
    return (NUM_BINS - 1) * bin_size


def _check_options(step: int, bin_size: int, window: str) -> None:
    for name, value in (("step", step), ("bin_size", bin_size)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value!r}")
    if window not in ("flat", "gaussian"):
        raise ValueError(f"`window` must be 'flat' or 'gaussian'. Received: window={window!r}")


def _check_support(size: tuple[int, int], bin_size: int) -> None:
    if min(size) <= _span(bin_size):
        raise ValueError(
            f"Without padding the image must be higher and wider than {_span(bin_size)} pixels, "
            f"the distance between the outer bins. Received: (height, width)={size}"
        )
