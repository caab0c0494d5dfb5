"""The example of fine-tuning: mixed precision, a compiled step, a saved and an exported model."""

import importlib.util

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.datasets import parts_world
from tests.export import small_model
from tests.repository.tree import ROOT

SIZE = 64


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("fine_tune", ROOT / "examples" / "fine_tune.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_it_learns_saves_and_exports(example, tmp_path):
    images, labels = [], []
    for number in range(8):
        for label, name in enumerate(("bird", "bicycle")):
            images.append(parts_world.draw(name, number).image)
            labels.append(label)
    images = tf.image.resize(np.stack(images), (SIZE, SIZE), antialias=True)
    examples = tf.data.Dataset.from_tensor_slices((images, labels)).batch(8)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        network = small_model.make(image_size=(SIZE, SIZE))
        output = str(tmp_path / "tuned")
        options = {"epochs": 12, "rate": 2e-2, "train_trunk": True}
        model, history = example.fine_tune(network, examples, 2, SIZE, output, **options)
    finally:
        keras.config.set_dtype_policy(before)
    assert model.jit_compile
    trunk_layer = network.backbone.network.layers[-1]
    assert trunk_layer.compute_dtype == "bfloat16" and network.banks[0].compute_dtype == "float32"
    losses = history.history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < 0.8 * losses[0]
    # The exported model computes what the trained one does.
    expected = model(images, training=False)
    exported = tf.saved_model.load(output)
    np.testing.assert_allclose(exported.serve(images), expected, rtol=0, atol=0.05)
