"""Pictures of correspondences and of responses, as matplotlib figures.

Figures are made without a window system and never shown: save them with `figure.savefig(path)`, or
return them from a notebook cell. Images of more than 1,200 pixels per side are drawn smaller;
points are always given in pixels of the original images.
"""

import math
import pathlib

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from anchornet_tf.features.feature_map import resize_bilinear
from anchornet_tf.image import gaussian_filter2d
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.flow_sampling import rescaled_points
from anchornet_tf.utils.image_io import read_scaled

_PANEL_INCHES = 4.0
_BACKGROUND = 255
_TITLE_INCHES = 0.3
_GAP_SHARE = 0.02  # Of the width, between two images side by side.
_DRAWN_SIDE = 1200  # More than the default figures show of an image at 200 dots per inch.
# A neighbourhood is flat where its brightness varies by less than this many of 255 levels, or by
# less than this share of the liveliest neighbourhood of the image (noise, traces of compression).
_FLAT_LEVELS, _FLAT_SHARE = 3.0, 0.08
_NEIGHBOURHOOD_SHARE = 0.002  # Of the long side: the standard deviation of a Gaussian.
_MATCH_REACH = 4  # A match need not be exact: something to see not far from it is enough.
_SMALLER_FIELDS = 0.8
# Matches of this probability are more likely right than not.
SURE = 0.5


def plot_matches(
    source_image,
    target_image,
    flow: Flow,
    points: ArrayLike | None = None,
    num_points: int = 60,
    max_pixels: int | None = None,
) -> Figure:
    """Draws both images side by side with lines between corresponding points.

    The colour of a point is its place among the points: hue across, brightness down.

    Args:
        source_image: The source image: a path, an array or a PIL image.
        target_image: The target image.
        flow: The flow from source to target.
        points: array `(n, 2)` of `(x, y)` in the source to draw, or None for those of
            `choose_points`.
        num_points: int. About how many points to choose when `points` is None.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        The figure.

    Raises:
        ValueError: If an image does not have the flow's size, or a point lies off the image.
    """
    source, target, small = _drawn(source_image, target_image, flow, max_pixels)
    ends = _ends(source, target, flow, small, points, num_points)
    canvas, shift = _side_by_side(source, target)
    figure, [axes] = _figure(1, canvas.shape[0] / canvas.shape[1], width=2 * _PANEL_INCHES)
    _draw_matches(axes, canvas, *ends, shift)
    axes.set_title(_how_many_sure(ends, small))
    return figure


def plot_warp(source_image, target_image, flow: Flow, max_pixels: int | None = None) -> Figure:
    """Shows source, target, the target pulled into the source's frame, and the confidence.

    Args:
        source_image: The source image: a path, an array or a PIL image.
        target_image: The target image.
        flow: The flow from source to target.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        The figure, of four panels.

    Raises:
        ValueError: If an image does not have the flow's size.
    """
    source, target, flow = _drawn(source_image, target_image, flow, max_pixels)
    tallest = max(source.shape[0] / source.shape[1], target.shape[0] / target.shape[1])
    figure, axes = _figure(4, tallest, width=_PANEL_INCHES)
    warped = flow.warp(target, fill=_BACKGROUND)
    pictures = {"source": source, "target": target, "target warped onto source": warped}
    for panel, (title, image) in zip(axes, pictures.items(), strict=False):
        panel.imshow(image)
        panel.set_title(title)
    _draw_confidence(figure, axes[3], flow)
    return figure


def plot_summary(
    source_image,
    target_image,
    flow: Flow,
    points: ArrayLike | None = None,
    num_points: int = 60,
    max_pixels: int | None = None,
) -> Figure:
    """Draws all there is to see of a flow: matches, warp, both images overlaid, confidence.

    Args:
        source_image: The source image: a path, an array or a PIL image.
        target_image: The target image.
        flow: The flow from source to target.
        points: As in `plot_matches`.
        num_points: As in `plot_matches`.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        The figure.

    Raises:
        ValueError: If an image does not have the flow's size, or a point lies off the image.
    """
    source, target, small = _drawn(source_image, target_image, flow, max_pixels)
    ends = _ends(source, target, flow, small, points, num_points)
    canvas, shift = _side_by_side(source, target)
    upper = 3 * _PANEL_INCHES * canvas.shape[0] / canvas.shape[1]
    lower = _PANEL_INCHES * source.shape[0] / source.shape[1] + _TITLE_INCHES
    figure = Figure(figsize=(3 * _PANEL_INCHES, upper + lower), layout="constrained")
    axes = figure.subplot_mosaic(
        [["matches"] * 3, ["warped", "overlaid", "confidence"]], height_ratios=[upper, lower]
    )
    for panel in axes.values():
        panel.set_axis_off()
    _draw_matches(axes["matches"], canvas, *ends, shift)
    axes["matches"].set_title(_how_many_sure(ends, small))
    warped = small.warp(target, fill=_BACKGROUND)
    overlaid = (source.astype(np.uint16) + warped) // 2
    for panel, title, image in (
        (axes["warped"], "target warped onto source", warped),
        (axes["overlaid"], "the same over the source", overlaid),
    ):
        panel.imshow(image)
        panel.set_title(title)
    _draw_confidence(figure, axes["confidence"], small)
    return figure


def plot_responses(
    image,
    response_maps: ArrayLike,
    top: int = 8,
    columns: int = 4,
    titles: list[str] | None = None,
) -> Figure:
    """Lays the strongest response maps over the image, each with its peak marked.

    Args:
        image: A path, an array or a PIL image.
        response_maps: array `(height, width, k)` on a regular grid of the image.
        top: int. How many maps to show, those with the highest peaks first.
        columns: int. Panels per row.
        titles: One name per map, or None for their numbers.

    Returns:
        The figure.

    Raises:
        ValueError: If `response_maps` is not finite or not of rank 3, `top` or `columns` is not
            positive, or there are not as many titles as maps.
    """
    image = read_scaled(image, _DRAWN_SIDE).pixels
    maps = np.asarray(response_maps, np.float32)
    if maps.ndim != 3 or maps.size == 0 or not np.isfinite(maps).all():
        raise ValueError(
            "`response_maps` must be a finite array of shape (height, width, k). "
            f"Received: response_maps.shape={maps.shape}"
        )
    if top < 1 or columns < 1:
        raise ValueError(
            f"`top` and `columns` must be positive. Received: top={top}, columns={columns}"
        )
    if titles is not None and len(titles) != maps.shape[2]:
        raise ValueError(
            f"`titles` must name each of the {maps.shape[2]} maps. Received: {len(titles)} titles"
        )
    peaks = maps.max(axis=(0, 1))
    chosen = np.argsort(-peaks, kind="stable")[:top]
    figure, axes = _figure(
        len(chosen), image.shape[0] / image.shape[1], width=_PANEL_INCHES / 1.5, columns=columns
    )
    heat = resize_bilinear(maps[..., chosen], image.shape[:2])
    for panel, index, overlay in zip(axes, chosen, np.moveaxis(heat, -1, 0), strict=True):
        row, column = np.unravel_index(overlay.argmax(), overlay.shape)
        panel.imshow(image)
        panel.imshow(overlay, cmap="inferno", alpha=0.6)
        panel.plot(column, row, "o", ms=7, mfc="none", mec="cyan")
        name = titles[index] if titles is not None else f"{index}"
        panel.set_title(f"{name}  (max {peaks[index]:.2f})", fontsize=9)
    return figure


def check_format(path: str) -> None:
    """Raises ValueError for the path of a picture that cannot be written, by its ending."""
    known = Figure().canvas.get_supported_filetypes()
    ending = pathlib.Path(path).suffix.lower().lstrip(".")
    if ending not in known:
        raise ValueError(
            f"Expected a picture that ends in one of {', '.join(sorted(known))}. Received: {path!r}"
        )


def choose_points(
    flow: Flow, num_points: int, source_image=None, target_image=None, max_pixels: int | None = None
) -> np.ndarray:
    """Returns confident points that are spread over the source image, or over what it shows.

    The image is cut into about twice as many fields as points; of the surest pixels of all fields
    the surer half is taken. Where images are given, a point counts only if there is something to
    see around it and around its match: a line from one empty background to another says nothing.
    Of a flow with probabilities, points that are more likely right than not come before all others.
    The fields become smaller then, so that an object gets the lines that its background does not.

    Args:
        flow: The flow whose confidence decides.
        num_points: int. About how many points; fewer where the flow is not valid or the images are
            flat.
        source_image: The source image, a path, an array or a PIL image, or None.
        target_image: The target image, or None.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        float array `(n, 2)` of `(x, y)`.

    Raises:
        ValueError: If `num_points` is not positive, or an image does not have the flow's size.
    """
    if num_points < 1:
        raise ValueError(f"`num_points` must be positive. Received: num_points={num_points}")
    source = _read_drawn(source_image, flow.shape, "source_image", max_pixels)
    target = _read_drawn(target_image, flow.target_size, "target_image", max_pixels)
    small = _resized_for(flow, source, target)
    counts = small.valid
    if source is not None:
        counts = counts & _textured(source)
    if target is not None:
        counts = counts & small.transfer_mask(_textured(target, _MATCH_REACH))
    sure = counts & (small.confidence >= SURE)
    if flow.has_probabilities and sure.any():
        # A few sure lines tell more than many unsure ones beside them.
        counts = sure
    chosen = _surest_of_fields(np.where(counts, small.confidence, -np.inf), num_points)
    return rescaled_points(chosen, small.shape, flow.shape)


def _surest_of_fields(confidence: np.ndarray, num_points: int) -> np.ndarray:
    """Returns `(n, 2)` points, at most one per square field and none where confidence is -inf."""
    height, width = confidence.shape
    field = max(1, round(math.sqrt(height * width / (2 * num_points))))
    while True:
        rows, columns = -(-height // field), -(-width // field)
        padded = np.full((rows * field, columns * field), -np.inf, np.float32)
        padded[:height, :width] = confidence
        fields = padded.reshape(rows, field, columns, field).swapaxes(1, 2)
        fields = fields.reshape(rows * columns, field * field)
        surest = fields.max(axis=1)
        if field == 1 or np.isfinite(surest).sum() >= num_points:
            break
        field = max(1, int(_SMALLER_FIELDS * field))
    best = fields.argmax(axis=1)
    row, column = np.divmod(np.arange(rows * columns), columns)
    points = np.stack([column * field + best % field, row * field + best // field], axis=-1)
    # Of fields that are equally sure, those at random: the first ones would all be at the top.
    shuffled = np.random.default_rng(0).permutation(len(surest))
    order = shuffled[np.argsort(-surest[shuffled], kind="stable")[:num_points]]
    return points[order[np.isfinite(surest[order])]].astype(float)


def _textured(image: np.ndarray, reach: float = 1) -> np.ndarray:
    """Returns `(height, width)` bool: where colours vary in the neighbourhood of a pixel.

    Args:
        image: uint8 `(height, width, 3)`.
        reach: float. Factor on the size of neighbourhoods.
    """
    sigma = reach * max(1.0, _NEIGHBOURHOOD_SHARE * max(image.shape[:2]))
    # An image can be reflected up to its own size.
    size = [2 * min(math.ceil(2.5 * sigma), side - 1) + 1 for side in image.shape[:2]]
    deviation = np.zeros(image.shape[:2], np.float32)
    # One channel after the other: three at once take three times the memory.
    for channel in np.moveaxis(image, -1, 0):
        values = channel - channel.mean(dtype=np.float32)
        mean = gaussian_filter2d(values, size, sigma).numpy()
        variance = gaussian_filter2d(values**2, size, sigma).numpy() - mean**2
        deviation = np.maximum(deviation, np.sqrt(np.maximum(variance, 0)))
    return deviation > max(_FLAT_LEVELS, _FLAT_SHARE * deviation.max())


def _read_drawn(image, size, name, max_pixels) -> np.ndarray | None:
    """Returns an image of the flow's size as it is drawn, or None for None."""
    if image is None:
        return None
    read = read_scaled(image, _DRAWN_SIDE, max_pixels)
    if read.original_size != size:
        raise ValueError(
            f"`{name}` must have the flow's (height, width) = {size}. "
            f"Received: {read.original_size}"
        )
    return read.pixels


def _resized_for(flow: Flow, source: np.ndarray | None, target: np.ndarray | None) -> Flow:
    """Returns the flow between the images as they are drawn."""
    sizes = []
    for size, image in ((flow.shape, source), (flow.target_size, target)):
        scale = min(1, _DRAWN_SIDE / max(size))
        by_scale = tuple(max(1, round(side * scale)) for side in size)
        sizes.append(by_scale if image is None else image.shape[:2])
    return flow.resized(*sizes)


def _drawn(source_image, target_image, flow, max_pixels):
    """Returns both images as they are drawn, and the flow between these."""
    source = _read_drawn(source_image, flow.shape, "source_image", max_pixels)
    target = _read_drawn(target_image, flow.target_size, "target_image", max_pixels)
    return source, target, _resized_for(flow, source, target)


def _ends(source, target, flow, small, points, num_points):
    """Returns points and their matches, both in pixels of the images as they are drawn."""
    if points is None:
        points = choose_points(small, num_points, source, target)
        return points, small.transfer_points(points)
    points = np.asarray(points, float)
    moved = flow.transfer_points(points)
    return (
        rescaled_points(points, flow.shape, small.shape),
        rescaled_points(moved, flow.target_size, small.target_size),
    )


def _side_by_side(source, target):
    """Returns both images on one canvas, and how far right the target begins."""
    gap = max(1, round(_GAP_SHARE * (source.shape[1] + target.shape[1])))
    shift = source.shape[1] + gap
    height = max(source.shape[0], target.shape[0])
    canvas = np.full((height, shift + target.shape[1], 3), _BACKGROUND, np.uint8)
    canvas[: source.shape[0], : source.shape[1]] = source
    canvas[: target.shape[0], shift:] = target
    return canvas, shift


def _draw_matches(axes, canvas, points, moved, shift):
    """Draws points and what became of them; those without a match stay alone."""
    axes.imshow(canvas)
    colors = _place_colors(points)
    known = np.isfinite(moved).all(axis=-1)
    ends = moved + [shift, 0]
    segments = np.stack([points, ends], axis=1)[known]  # (matches, 2, 2)
    axes.add_collection(LineCollection(segments, colors=colors[known], lw=0.8, alpha=0.8))
    drawn = np.concatenate([points, ends[known]])
    drawn_colors = np.concatenate([colors, colors[known]])
    axes.scatter(*drawn.T, c=drawn_colors, s=16, edgecolors="white", linewidths=0.5, zorder=3)
    axes.set_xlim(-0.5, canvas.shape[1] - 0.5)
    axes.set_ylim(canvas.shape[0] - 0.5, -0.5)


def _how_many_sure(ends, flow) -> str:
    """Says how many of the drawn matches are sure, and what that means."""
    points = ends[0]
    if not flow.has_probabilities or not len(points):
        return f"{len(points)} matches"
    _, confidence = flow.transfer_with_confidence(points, outside="nearest")
    sure = int((confidence >= SURE).sum())
    return f"{len(points)} matches, {sure} of them more likely right than not"


def _draw_confidence(figure, axes, flow):
    limits = {"vmin": 0, "vmax": 1} if flow.has_probabilities else {}
    drawn = axes.imshow(np.where(flow.valid, flow.confidence, np.nan), cmap="viridis", **limits)
    axes.set_title("probability that a match is right" if limits else "confidence")
    # In coordinates of the picture: a bar beside the panel would be as high as the panel, which is
    # higher than the picture.
    figure.colorbar(drawn, cax=axes.inset_axes([1.02, 0, 0.04, 1]))


def _place_colors(points):
    """Returns `(n, 3)` colours: the hue says how far across, the brightness how far down."""
    if not len(points):
        return np.zeros((0, 3))
    # Over the extent of the points: a small object shows all colours too.
    low = points.min(axis=0)
    across, down = ((points - low) / np.maximum(points.max(axis=0) - low, 1)).T
    return matplotlib.colormaps["hsv"](0.85 * across)[:, :3] * (1 - 0.45 * down[:, np.newaxis])


def _figure(panels, aspect, width, columns=None):
    """Returns a figure and its panels without axes; unused places of the last row stay empty."""
    columns = min(panels, columns or panels)
    rows = math.ceil(panels / columns)
    # Figure rather than pyplot: no window system, and nothing to close.
    figure = Figure(
        figsize=(width * columns, (width * aspect + _TITLE_INCHES) * rows), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in axes:
        panel.set_axis_off()
    return figure, list(axes[:panels])
