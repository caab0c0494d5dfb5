"""Trains an exported model for one step as a layer of tf_keras: hub_layer.py MODEL.

Reads in.npz in the working folder.
"""

import sys

import numpy as np
import tensorflow_hub as hub
import tf_keras

images = np.load("in.npz")["images"].astype(np.float32)
layer = hub.KerasLayer(sys.argv[1], trainable=True)
model = tf_keras.Sequential([layer, tf_keras.layers.GlobalAveragePooling2D()])
results = {"before": layer(images).numpy(), "losses": [float(loss) for loss in layer.losses]}

wanted = np.ones((len(images), 8), np.float32)
results["task"] = np.mean((model(images).numpy() - wanted) ** 2)
old = [variable.numpy() for variable in layer.trainable_weights]
old_statistics = [variable.numpy() for variable in layer.non_trainable_weights]
model.compile(tf_keras.optimizers.SGD(1e-3), "mse")
history = model.fit(images, wanted, epochs=1, batch_size=len(images), verbose=0)
results["total"] = history.history["loss"][0]
results["after"] = layer(images).numpy()


def changed(before, variables):
    pairs = zip(before, variables, strict=True)
    return sum(not np.array_equal(array, variable.numpy()) for array, variable in pairs)


results["changed"] = changed(old, layer.trainable_weights)
results["statistics_changed"] = changed(old_statistics, layer.non_trainable_weights)
np.savez("out.npz", **results)
