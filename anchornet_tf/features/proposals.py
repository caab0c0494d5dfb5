"""Box proposals: rectangles of an image that may hold an object or a part of one."""

import numpy as np
from absl import logging

from anchornet_tf.features.boxes import check_boxes, whole_image_box

METHODS = ("auto", "selective_search", "sliding_window")

MINIMUM_SIDE = 20  # Pixels.
_FRAME = 0.01  # Of the image's sides, for the boundary filter.
# With fewer boxes than this, neighbours have nothing to agree on: sliding windows are taken, and
# where the image is too small for these, windows with sides of at least a few pixels.
_FEWEST_BOXES = 10
_SMALLEST_SIDE = 3  # Pixels.

# Graph segmentations that start selective search: the scales of the Proposal Flow program, with as
# many pixels for the smallest segment.
_SEGMENTATION_SCALES = (50, 100, 150, 300)
_SEGMENTATION_SIGMA = 0.8

# Sliding windows: geometric means of the sides and ratios of width to height, relative to those of
# the image.
_WINDOW_SIDES = (0.9, 0.7, 0.5, 0.35, 0.25, 0.18)
_WINDOW_ASPECTS = (0.5, 0.71, 1.0, 1.41, 2.0)
_WINDOW_STRIDE = 0.25  # of the window's own side


def propose_boxes(
    image: np.ndarray,
    num_proposals: int = 1000,
    method: str = "auto",
    seed: int = 0,
) -> np.ndarray:
    """Proposes boxes of an image, the same ones every time.

    The first box is the whole image, so that every pixel is covered. Boxes that touch the border of
    the image only partly are left out: they are cut-off objects or artefacts of the border. Where
    hardly a box is left (a constant or a very small image), sliding windows take their place, which
    is logged.

    Args:
        image: uint8 array `(height, width, 3)`, RGB.
        num_proposals: int. How many boxes to return at most. More are thinned out at random, large
            boxes being more likely to stay.
        method: `"selective_search"` (needs OpenCV with its contributed modules),
            `"sliding_window"` or `"auto"`: the first if it can be had, else the second.
        seed: int. Seed of the thinning.

    Returns:
        float64 array `(n, 4)` of boxes as in `anchornet_tf.features.boxes`, with
        `1 <= n <= num_proposals`.

    Raises:
        ImportError: If selective search is asked for and OpenCV is not installed.
        ValueError: If an argument is out of range.
    """
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise ValueError(
            "`image` must be a uint8 array of shape (height, width, 3). "
            f"Received: image.shape={image.shape}, image.dtype={image.dtype}"
        )
    if num_proposals < 1:
        raise ValueError(
            f"`num_proposals` must be a positive integer. Received: num_proposals={num_proposals}"
        )
    method = resolve_method(method)
    size = image.shape[:2]
    boxes = selective_search(image) if method == "selective_search" else sliding_windows(size)
    boxes = boxes[inside_or_whole(boxes, size)]
    if len(boxes) < min(_FEWEST_BOXES, num_proposals - 1):
        boxes = _small_windows(size, len(boxes))
    return np.concatenate([whole_image_box(size), _thin_out(boxes, num_proposals - 1, seed)])


def resolve_method(method: str) -> str:
    """Returns the method that is used: `"auto"` is selective search where it can be had.

    Raises:
        ValueError: If the method is unknown.
    """
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {METHODS}. Received: method={method!r}")
    if method == "auto":
        return "selective_search" if _has_selective_search() else "sliding_window"
    return method


def inside_or_whole(boxes: np.ndarray, image_size: tuple[int, int]) -> np.ndarray:
    """The boundary filter: finds boxes that keep clear of the border or fill the image.

    Args:
        boxes: `(n, 4)` boxes.
        image_size: `(height, width)`.

    Returns:
        `(n,)` bool: True for boxes strictly inside the frame of 1 % to 99 % of the image on all
        four sides, and for boxes that reach it or beyond on all four.
    """
    boxes = check_boxes(boxes)
    height, width = image_size
    # The frame is defined for pixels that count from one.
    low = boxes[:, :2] + 1 - np.multiply(_FRAME, (width, height))
    high = np.multiply(1 - _FRAME, (width, height)) - (boxes[:, 2:] + 1)
    margins = np.concatenate([low, high], axis=1)  # (n, 4), positive inside the frame
    return (margins > 0).all(axis=1) | (margins <= 0).all(axis=1)


def selective_search(image: np.ndarray) -> np.ndarray:
    """Proposes boxes by merging segments of an image into ever larger ones.

    Five colour spaces (Hsv, Lab, normalised rg with intensity, hue, intensity), four similarities
    of segments and four scales of the segments to begin with, as in the Proposal Flow experiments.

    Args:
        image: uint8 array `(height, width, 3)`, RGB.

    Returns:
        float64 array `(n, 4)` of distinct boxes of at least 20 x 20 pixels, in reading order.

    Raises:
        ImportError: If OpenCV with its contributed modules is not installed.
    """
    try:
        import cv2

        segmentation = cv2.ximgproc.segmentation
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "Selective search needs OpenCV with its contributed modules: "
            "pip install 'anchornet-tf[proposals]'. Without it, method='sliding_window' works."
        ) from error
    search = segmentation.createSelectiveSearchSegmentation()
    search.setBaseImage(np.ascontiguousarray(image[..., ::-1]))
    # The quality mode brings the colour spaces and similarities; its scales are replaced.
    search.switchToSelectiveSearchQuality()
    search.clearGraphSegmentations()
    for scale in _SEGMENTATION_SCALES:
        search.addGraphSegmentation(
            segmentation.createGraphSegmentation(_SEGMENTATION_SIGMA, float(scale), scale)
        )
    found = np.asarray(search.process(), np.float64).reshape(-1, 4)  # x, y, width, height
    # OpenCV ranks the boxes by random numbers that cannot be seeded, but it always finds
    # the same ones.
    found = np.unique(found[(found[:, 2:] >= MINIMUM_SIDE).all(axis=1)], axis=0)
    return np.concatenate([found[:, :2], found[:, :2] + found[:, 2:] - 1], axis=1)


def _has_selective_search() -> bool:
    try:
        import cv2
    except ImportError:
        found = False
    else:
        found = hasattr(cv2, "ximgproc")
    if not found:
        logging.log_first_n(
            logging.INFO,
            "OpenCV's selective search is not installed (extra 'proposals'): using sliding "
            "windows.",
            1,
        )
    return found


def sliding_windows(image_size: tuple[int, int], minimum_side: int = MINIMUM_SIDE) -> np.ndarray:
    """Proposes windows of several sizes and aspect ratios, spread evenly inside the image's frame.

    Args:
        image_size: `(height, width)`.
        minimum_side: int. Pixels that a window has at least along each side.

    Returns:
        float64 array `(n, 4)` of windows, large ones first; none for images that are too small.
    """
    height, width = image_size
    windows = [np.empty((0, 4))]
    for side in _WINDOW_SIDES:
        for aspect in _WINDOW_ASPECTS:
            # Of the image's width and height.
            share = (side * np.sqrt(aspect), side / np.sqrt(aspect))
            if max(share) > _WINDOW_SIDES[0]:
                continue
            x1, x2 = _window_ends(share[0], width)
            y1, y2 = _window_ends(share[1], height)
            if min(x2[0] - x1[0], y2[0] - y1[0]) + 1 < minimum_side:
                continue
            row, column = (index.ravel() for index in np.indices((len(y1), len(x1))))
            windows.append(np.stack([x1[column], y1[row], x2[column], y2[row]], axis=1))
    return np.concatenate(windows)


def _small_windows(image_size: tuple[int, int], num_found: int) -> np.ndarray:
    """Returns sliding windows where hardly a box was found, smaller ones than usual if need be."""
    for minimum_side in (MINIMUM_SIDE, _SMALLEST_SIDE):
        boxes = sliding_windows(image_size, minimum_side)
        boxes = boxes[inside_or_whole(boxes, image_size)]
        if len(boxes) >= _FEWEST_BOXES:
            break
    logging.warning(
        "Only %d boxes were found in an image of %dx%d pixels: %d sliding windows take their "
        "place.",
        num_found,
        *image_size,
        len(boxes),
    )
    return boxes


def _window_ends(share: float, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns first and last pixels of windows that take a share of an axis."""
    margin = 2 * _FRAME * extent  # Keeps windows clear of the boundary filter.
    length = share * extent
    room = extent - 1 - 2 * margin - length
    count = int(np.ceil(max(room, 0) / (_WINDOW_STRIDE * length))) + 1
    first = np.rint(margin + np.linspace(0, max(room, 0), count))
    return first, np.minimum(first + np.rint(length), extent - 1)


def _thin_out(boxes: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Returns `count` boxes; the chance to stay falls with the rank in size."""
    # Selective search draws a random number for each box and multiplies it by the level of the
    # hierarchy that the box comes from, counted from the top. The rank in size stands for the level
    # here.
    extent = boxes[:, 2:] - boxes[:, :2] + 1
    boxes = boxes[np.lexsort((*boxes.T, -extent.prod(axis=1)))]
    rank = np.arange(1, len(boxes) + 1)
    priority = rank * np.random.default_rng(seed).random(len(boxes))
    return boxes[np.argsort(priority, kind="stable")[:count]]
