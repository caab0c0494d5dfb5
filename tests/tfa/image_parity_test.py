"""Blur, warp and point sampling give the values and gradients of tensorflow-addons."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import image as image_ops
from tests.tfa import cases

pytestmark = pytest.mark.tfa


def _indexed(members):
    return [pytest.param(i, case, id=f"{i}") for i, case in enumerate(members)]


def _assert_same(reference, key, function):
    """Compares eager results, and those of a graph that knows nothing but ranks."""
    entries = {
        name.removeprefix(f"{key}/"): array
        for name, array in reference.items()
        if name.startswith(f"{key}/")
    }
    expected, upstream = entries.pop("output"), entries.pop("upstream")
    gradients = {
        name.removeprefix("gradient/"): entries.pop(name)
        for name in list(entries)
        if name.startswith("gradient/")
    }
    assert gradients.keys() == entries.keys()  # what is left are the inputs

    def run(upstream, inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = function(**inputs)
        return output, tape.gradient(output, inputs, output_gradients=upstream)

    inputs = {name: tf.constant(array) for name, array in entries.items()}
    unknown = tf.nest.map_structure(
        lambda x: tf.TensorSpec([None] * x.ndim, x.dtype), (upstream, entries)
    )
    graph = tf.function(run, input_signature=unknown)
    for output, ours in (run(tf.constant(upstream), inputs), graph(upstream, inputs)):
        assert output.shape == expected.shape
        np.testing.assert_allclose(output, expected, rtol=1e-6, atol=1e-6)
        for name, gradient in gradients.items():
            np.testing.assert_allclose(
                ours[name], gradient, rtol=1e-6, atol=1e-6, err_msg=f"gradient of {name}"
            )


def test_the_reference_is_the_one_we_mean(reference):
    assert list(reference["versions"]) == ["0.23.0", "2.15.1", "2.15.0"]


@pytest.mark.parametrize("index,case", _indexed(cases.BLURS))
def test_gaussian_filter2d(reference, index, case):
    arguments = (case.filter_shape, case.sigma, case.padding, case.constant_values)
    _assert_same(
        reference,
        f"blur/{index}",
        lambda image: image_ops.gaussian_filter2d(image, *arguments),
    )


@pytest.mark.parametrize("index,case", _indexed(cases.INTERPOLATIONS))
def test_interpolate_bilinear(reference, index, case):
    _assert_same(
        reference,
        f"interpolation/{index}",
        lambda grid, query_points: image_ops.interpolate_bilinear(
            grid, query_points, case.indexing
        ),
    )


@pytest.mark.parametrize("index", range(len(cases.WARPS)))
def test_dense_image_warp(reference, index):
    _assert_same(reference, f"warp/{index}", image_ops.dense_image_warp)
