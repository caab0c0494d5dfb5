"""Descriptors in few bytes: the 64 directions in which they vary most, 8 bits each."""

import numpy as np

from anchornet_tf.trunks.pca import with_fixed_signs

NUM_DIRECTIONS = 64
_LARGEST = 127
_SMALLEST = 1e-12
# Factors of the equalizer that differ by less than this say nothing about the variances.
_EVEN = 1e-3


def strongest_directions(
    encoder: np.ndarray, equalizer: np.ndarray, count: int = NUM_DIRECTIONS
) -> np.ndarray:
    """Returns the directions in which a model's class-agnostic descriptors vary most.

    The model knows them, so that no pass over images is needed: its equalizer is C^-s, whose
    smallest factors belong to the directions of the largest variance. Without an equalizer
    (strength 0), they are those in which the encoder passes most of its white input.

    Args:
        encoder: `(channels, depth)`, the kernel of the autoencoder.
        equalizer: `(depth, depth)`, symmetric.
        count: int. How many directions; all of them where there are fewer.

    Returns:
        `(depth, count)`, orthonormal columns, strongest first.
    """
    factors, directions = np.linalg.eigh(np.asarray(equalizer, np.float64))
    if factors[-1] - factors[0] > _EVEN * factors[-1]:
        chosen = directions[:, :count]
    else:
        encoder = np.asarray(encoder, np.float64)
        chosen = np.linalg.eigh(encoder.T @ encoder)[1][:, ::-1][:, :count]
    return with_fixed_signs(chosen).astype(np.float32)


def quantize(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns vectors in 8 bits, with one scale per vector.

    Args:
        vectors: `(..., count)` float.

    Returns:
        int8 `(..., count)`, and float32 scales `(...)`: the vector is about values times scale.
    """
    vectors = np.asarray(vectors, np.float32)
    scales = np.abs(vectors).max(axis=-1) / np.float32(_LARGEST)
    scales = np.maximum(scales, np.float32(_SMALLEST))
    return np.rint(vectors / scales[..., np.newaxis]).astype(np.int8), scales


def dequantize(values: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Returns what `quantize` was given, up to its rounding."""
    return values.astype(np.float32) * np.asarray(scales, np.float32)[..., np.newaxis]


def unit_vectors(values: np.ndarray) -> np.ndarray:
    """Returns vectors `(n, count)` as float32 of length one."""
    values = np.asarray(values, np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), _SMALLEST)
