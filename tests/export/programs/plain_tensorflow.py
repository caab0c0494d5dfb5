"""Uses an exported model with TensorFlow alone: plain_tensorflow.py MODEL.

Reads in.npz in the working folder.
"""

import sys

import numpy as np
import tensorflow as tf

# From here on, an import of the package fails, whether it is installed or not.
for name in ("anchornet_tf", "export", "trainers"):
    assert name not in sys.modules
    sys.modules[name] = None

loaded = tf.saved_model.load(sys.argv[1])
given = np.load("in.npz")
images, target = given["images"], given["target"]
np.savez(
    "out.npz",
    call=loaded(images),
    features=loaded.signatures["features"](image=images)["features"],
    flow=loaded.signatures["match"](source=images, target=target)["flow"],
)
