"""Learning rates by layer train to the weights that `tfa.optimizers.MultiOptimizer` gives."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import optimizers
from tests.tfa import cases

pytestmark = pytest.mark.tfa


def _model(reference, key):
    layers = [
        keras.layers.Dense(columns, name=name)
        for name, (_, columns) in zip(cases.LAYERS, cases.LAYER_SIZES, strict=True)
    ]
    model = keras.Sequential([keras.Input(cases.LAYER_SIZES[0][:1]), *layers])
    for layer in layers:
        layer.set_weights([reference[f"{key}/{layer.name}/{name}"] for name in ("kernel", "bias")])
    return model


def _optimizer(case, variables):
    """States the optimizers as multiples of the first one's rate where they differ by rate only."""
    rules = [f".*/{name}/.*" for name in cases.LAYERS]
    kinds = {(name, tuple(settings.items())) for name, _, settings in case.optimizers}
    if len(kinds) > 1:
        made = [getattr(keras.optimizers, n)(r, **settings) for n, r, settings in case.optimizers]
        return optimizers.optimizer_by_path(dict(zip(rules, made, strict=True)), variables)
    name, base_rate, settings = case.optimizers[0]
    base = getattr(keras.optimizers, name)(base_rate, **settings)
    multipliers = [rate / base_rate for _, rate, _ in case.optimizers]
    return optimizers.optimizer_by_path(dict(zip(rules, multipliers, strict=True)), variables, base)


@pytest.mark.parametrize(
    "index,case", [pytest.param(i, c, id=c.name) for i, c in enumerate(cases.TRAININGS)]
)
def test_weights_after_training(reference, index, case):
    key = f"training/{index}"
    model = _model(reference, key)
    variables = model.trainable_variables
    optimizer = _optimizer(case, variables)

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply(tape.gradient(loss, variables), variables)

    optimizer.build(variables)
    for x, y in zip(reference[f"{key}/x"], reference[f"{key}/y"], strict=True):
        train(tf.constant(x), tf.constant(y))

    for layer, (_, rate, _) in zip(model.layers, case.optimizers, strict=True):
        for name, weights in zip(("kernel", "bias"), layer.get_weights(), strict=True):
            start = reference[f"{key}/{layer.name}/{name}"]
            expected = reference[f"{key}/output/{layer.name}/{name}"]
            # Weights that hardly move would agree under any rate.
            assert rate == 0 or np.abs(expected - start).max() > 1e-4
            np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-6)
