"""SD filter: smooths a field along an image's regions and fills in its missing pixels.

The smoothed field u of a field f with missing values minimises

    sum over valid p of (u_p - f_p)^2 + smoothness * sum over neighbours p, q of w_pq (u_p - u_q)^2,

whose weights w_pq fall with the colour difference of p and q (static guidance) and with the
difference of u itself in the step before (dynamic guidance).

Reference:
    Ham, Cho, Ponce: Robust Image Filtering Using Joint Static and Dynamic Guidance, CVPR 2015, with
    the constants and the colour space of the Proposal Flow program.
"""

import concurrent.futures

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

_SMALLEST_WEIGHT = 1e-5  # keeps all pixels connected, so that the system has one solution

# Rec. 709 primaries and transfer function, white D65; the program's digits.
_XYZ_TO_RGB = np.array(
    [
        [3.240479, -1.53715, -0.498535],
        [-0.969256, 1.875992, 0.041556],
        [0.055648, -0.204043, 1.057311],
    ]
)
_WHITE = np.array([0.950456, 1.0, 1.088754])


def static_dynamic_filter(
    field: np.ndarray,
    valid: np.ndarray,
    image: np.ndarray,
    smoothness: float = 20.0,
    static_rate: float = 30.0,
    dynamic_rate: float = 15.0,
    num_steps: int = 2,
) -> np.ndarray:
    """Smooths each channel of a field by itself.

    Args:
        field: `(height, width, channels)`; values where `valid` is False are not read.
        valid: `(height, width)` bool.
        image: `(height, width, 3)` uint8 RGB, the static guidance.
        smoothness: float. Weight of smoothness against fidelity.
        static_rate: float. How fast weights fall with the colour difference.
        dynamic_rate: float. How fast weights fall with the difference of the field.
        num_steps: int. Steps of re-weighting; the first has no dynamic guidance.

    Returns:
        float64 `(height, width, channels)`; zeros if nothing is valid.

    Raises:
        ValueError: If shapes disagree or the image is less than 2 pixels high or wide.
    """
    field, valid, image = np.asarray(field, np.float64), np.asarray(valid, bool), np.asarray(image)
    if field.ndim != 3 or valid.shape != field.shape[:2] or image.shape != (*valid.shape, 3):
        raise ValueError(
            "`field` must be (height, width, channels), `valid` (height, width) and `image` "
            "(height, width, 3) of one size. "
            f"Received: field.shape={field.shape}, valid.shape={valid.shape}, "
            f"image.shape={image.shape}"
        )
    if min(valid.shape) < 2:
        raise ValueError(
            "The image must be at least 2 pixels high and wide. "
            f"Received: image.shape={image.shape}"
        )
    if not valid.any():
        return np.zeros_like(field)
    static = _edge_weights(lab_from_rgb(image), static_rate)
    flat = np.where(valid[..., np.newaxis], field, 0).reshape(valid.size, -1)  # (pixels, channels)
    # The first step weighs every channel alike: one factorisation serves all.
    no_difference = 1 + _SMALLEST_WEIGHT
    smoothed = _solve([weight * no_difference for weight in static], valid, flat, smoothness)

    def improve(channel):
        dynamic = _edge_weights(smoothed[:, channel].reshape(*valid.shape, 1), dynamic_rate)
        weights = [a * b for a, b in zip(static, dynamic, strict=True)]
        return _solve(weights, valid, flat[:, channel], smoothness)

    # The solver lets go of the interpreter, so that threads do the channels side by side.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for _ in range(num_steps - 1):
            smoothed = np.stack(list(pool.map(improve, range(field.shape[2]))), axis=1)
    return smoothed.reshape(field.shape)


def _edge_weights(guide: np.ndarray, rate: float) -> list[np.ndarray]:
    """Returns weights of the edges to the right `(h, w - 1)` and downwards `(h - 1, w)`."""
    distances = [np.linalg.norm(np.diff(guide, axis=axis), axis=-1) for axis in (1, 0)]
    values = np.concatenate([distance.ravel() for distance in distances])
    low, high = values.min(), values.max()
    # Distances are spread over [0, 1]; those of a constant guide are all equal and count as 0.
    spread = high - low if high > low else np.inf
    return [np.exp(-rate * (distance - low) / spread) + _SMALLEST_WEIGHT for distance in distances]


def _solve(weights, valid, values, smoothness):
    """Solves (diag(valid) + smoothness * Laplacian) u = values, `(pixels,)` or `(pixels, k)`."""
    right, down = (smoothness * weight for weight in weights)
    width = valid.shape[1]
    # Weight of each pixel's edge to the right and downwards, 0 where the image ends.
    right = np.pad(right, ((0, 0), (0, 1)))
    down = np.pad(down, ((0, 1), (0, 0)))
    degree = right + down + np.roll(right, 1, axis=1) + np.roll(down, 1, axis=0)
    diagonal = (valid + degree).ravel()
    along, below = -right.ravel()[:-1], -down.ravel()[:-width]
    system = scipy.sparse.diags_array(
        (diagonal, along, along, below, below), offsets=(0, 1, -1, width, -width), format="csc"
    )
    # The system is symmetric and diagonally dominant: it needs no pivoting, and its own pattern
    # tells the order that keeps the factors sparse.
    factors = scipy.sparse.linalg.splu(
        system,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0,
        panel_size=4,
        options={"SymmetricMode": True},
    )
    return factors.solve(values)


def lab_from_rgb(image: np.ndarray) -> np.ndarray:
    """Returns CIE L*a*b* `(height, width, 3)` float64 of a uint8 RGB image."""
    levels = np.arange(256) / 255
    linear_levels = np.where(
        levels <= 0.018 * 4.5138, levels / 4.5138, ((levels + 0.099) / 1.099) ** (1 / 0.45)
    )
    rgb = linear_levels[image]
    xyz = rgb @ np.linalg.inv(_XYZ_TO_RGB).T / _WHITE
    cube_root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (841 / 108) + 4 / 29)
    x, y, z = np.moveaxis(cube_root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
