"""Trains, saves and loads small networks on two logical devices; prints what came out, as JSON."""

import json
import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

import anchornet_tf
from anchornet_tf.optimizers import optimizer_by_path

TAPS = ((8, 8, 6), (4, 4, 6), (2, 2, 6))
MAPS = ((8, 8, 6),)
IMAGES = ((32, 32, 3),)


def _convolution(**options):
    return keras.layers.Conv2D(4, 3, activation="softplus", padding="same", **options)


def _backbone():
    """A trunk of three taps with batch normalisation, which keeps its statistics in `fit`."""
    inputs = keras.Input((None, None, 3))
    maps = inputs
    for number in range(3):
        maps = keras.layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(maps)
        maps = keras.layers.BatchNormalization()(maps)
        maps = keras.layers.Activation("tanh", name=f"tap{number}")(maps)
    taps = ["tap0", "tap1", "tap2"]
    model = keras.Model(inputs, maps, name="small")
    return anchornet_tf.Backbone.from_model(model, taps, preprocessing="tf")


def _anchornet():
    return anchornet_tf.AnchorNet(
        ["bird", "cow"], 4, latent_filters=4, dimensions=4, image_size=32, weights=_backbone()
    )


# What stands in the middle of a network, and the shapes of what it takes.
PARTS = {
    "AnchorBank": (lambda: anchornet_tf.AnchorBank(4, response="whitened"), TAPS),
    "AnchorNet": (_anchornet, IMAGES),
    "Backbone": (_backbone, IMAGES),
    "Equalizer": (lambda: anchornet_tf.Equalizer(0.5), MAPS),
    "FilterDiversity": (
        lambda: _convolution(kernel_regularizer=anchornet_tf.FilterDiversity(3.0)),
        MAPS,
    ),
    "Hypercolumn": (lambda: anchornet_tf.Hypercolumn(4), TAPS),
    "PCAProjection": (lambda: anchornet_tf.PCAProjection(4), MAPS),
    "ResponseDiversity": (
        lambda: _convolution(activity_regularizer=anchornet_tf.ResponseDiversity(3.0, sigma=1.0)),
        MAPS,
    ),
    "TiedAutoencoder": (lambda: anchornet_tf.TiedAutoencoder(4), MAPS),
}


def network(name: str) -> keras.Model:
    """Returns a compiled classifier around a part, with rates by layer."""
    make, shapes = PARTS[name]
    inputs = [keras.Input(shape) for shape in shapes]
    # Layers before it, so that gradients have to pass through the part.
    hidden = [
        keras.layers.Dense(shape[-1], name=f"first{index}")(value)
        for index, (shape, value) in enumerate(zip(shapes, inputs, strict=True))
    ]
    maps = make()(hidden if len(hidden) > 1 else hidden[0])
    # A trunk gives several maps.
    pooled = [
        keras.layers.GlobalAveragePooling2D(dtype="float32")(each)
        for each in (maps if isinstance(maps, list | tuple) else [maps])
    ]
    pooled = keras.layers.Concatenate()(pooled) if len(pooled) > 1 else pooled[0]
    model = keras.Model(inputs, keras.layers.Dense(2, name="head", dtype="float32")(pooled))
    optimizer = optimizer_by_path(
        {"first.*": 0.1, "(?!first).*": 1.0},
        model.trainable_variables,
        keras.optimizers.SGD(0.05, momentum=0.9),
    )
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def check(name: str, strategy: tf.distribute.Strategy) -> dict:
    """Returns what a test wants to know of a part."""
    rng = np.random.default_rng(0)
    shapes = PARTS[name][1]
    inputs = tuple(rng.normal(size=(8, *shape)).astype(np.float32) for shape in shapes)
    labels = np.arange(8) % 2
    part = PARTS[name][0]()
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(part))
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = network(name)
        before = [np.array(variable) for variable in model.trainable_variables]
        data = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(4)
        history = model.fit(data, epochs=2, verbose=0)
    changed = [
        bool(np.abs(np.array(variable) - old).max() > 0)
        for variable, old in zip(model.trainable_variables, before, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        loaded = keras.saving.load_model(path)
    difference = np.abs(np.array(loaded(list(inputs))) - np.array(model(list(inputs)))).max()
    keras.config.set_dtype_policy("mixed_bfloat16")
    mixed = network(name).fit(data, verbose=0).history["loss"]
    keras.config.set_dtype_policy("float32")
    return {
        "same_class": type(again) is type(part),
        "same_config": again.get_config() == part.get_config(),
        "optimizer": type(loaded.optimizer).__name__,
        "losses": history.history["loss"],
        "mixed_losses": mixed,
        "all_trained": all(changed),
        "difference": float(difference),
        "extra_losses": len(loaded.losses),
    }


def main() -> None:
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = {name: check(name, strategy) for name in PARTS}
    with open(sys.argv[1], "w") as handle:
        json.dump({"replicas": strategy.num_replicas_in_sync, **results}, handle)


if __name__ == "__main__":
    main()
