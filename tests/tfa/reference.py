"""Computes the outputs and gradients of tensorflow-addons, in the environment that holds it.

    .venv-tfa/bin/python -m tests.tfa.reference OUTPUT.npz

An entry `blur/3/image` is an input of case 3, `blur/3/output` its output, `blur/3/upstream` the
gradient that is sent back from there, and `blur/3/gradient/image` what arrives at the input.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

from tests.tfa import cases


def _image_results(function, inputs):
    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output = function(**tensors)
    upstream = np.random.default_rng(9).normal(size=output.shape).astype(np.float32)
    gradients = tape.gradient(output, tensors, output_gradients=tf.constant(upstream))
    results = {"output": output.numpy(), "upstream": upstream}
    for name, gradient in gradients.items():
        results[f"gradient/{name}"] = tf.convert_to_tensor(gradient).numpy()
    return results


def _trained_weights(case, inputs):
    layers = [
        tf.keras.layers.Dense(columns, name=name, input_shape=(rows,))
        for name, (rows, columns) in zip(cases.LAYERS, cases.LAYER_SIZES, strict=True)
    ]
    model = tf.keras.Sequential(layers)
    for layer in layers:
        layer.set_weights([inputs[f"{layer.name}/kernel"], inputs[f"{layer.name}/bias"]])
    optimizers = [
        getattr(tf.keras.optimizers.legacy, name)(rate, **settings)
        for name, rate, settings in case.optimizers
    ]
    optimizer = tfa.optimizers.MultiOptimizer(list(zip(optimizers, layers, strict=True)))
    for x, y in zip(inputs["x"], inputs["y"], strict=True):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return {
        f"output/{layer.name}/{name}": value
        for layer in layers
        for name, value in zip(("kernel", "bias"), layer.get_weights(), strict=True)
    }


def _results(case, inputs):
    if isinstance(case, cases.Blur):
        arguments = (case.filter_shape, case.sigma, case.padding, case.constant_values)
        return _image_results(lambda image: tfa.image.gaussian_filter2d(image, *arguments), inputs)
    if isinstance(case, cases.Interpolation):
        return _image_results(
            lambda grid, query_points: tfa.image.interpolate_bilinear(
                grid, query_points, case.indexing
            ),
            inputs,
        )
    if isinstance(case, cases.Warp):
        return _image_results(lambda image, flow: tfa.image.dense_image_warp(image, flow), inputs)
    return _trained_weights(case, inputs)


def main(path):
    arrays = {"versions": np.array([tfa.__version__, tf.__version__, keras.__version__])}
    for group, members in cases.CASES.items():
        for index, case in enumerate(members):
            inputs = case.inputs()
            for name, array in {**inputs, **_results(case, inputs)}.items():
                arrays[f"{group}/{index}/{name}"] = array
    np.savez(path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
