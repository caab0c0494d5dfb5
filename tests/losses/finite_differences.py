"""Compares a loss's gradient with central differences along random directions."""

import numpy as np
import tensorflow as tf


def assert_gradient(loss, point, *, step=1e-2, directions=5, tolerance=2e-2):
    """Fails where the gradient of `loss` at `point` disagrees with finite differences."""
    point = tf.constant(point, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(point)
        value = loss(point)
    gradient = tape.gradient(value, point).numpy().astype(np.float64)
    rng = np.random.default_rng(0)
    for _ in range(directions):
        # Leaning on the gradient keeps the difference well above float32's rounding.
        direction = rng.normal(size=point.shape) * np.abs(gradient).mean() + gradient
        direction = direction / np.linalg.norm(direction)
        ahead, behind = (
            float(loss(point + sign * step * np.float32(direction))) for sign in (1, -1)
        )
        slope = (ahead - behind) / (2 * step)
        expected = float((gradient * direction).sum())
        assert abs(slope - expected) <= tolerance * max(abs(expected), 1e-4), (slope, expected)
