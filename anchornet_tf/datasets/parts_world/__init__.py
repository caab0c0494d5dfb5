"""*parts_world*: the embedded data set, drawn figures of the twenty PASCAL VOC classes.

`draw` makes one picture from nothing but its number; `load` gives a split from disk, drawn on
first use. `builder.PartsWorld` is the same as a TFDS builder. Parts and keypoints are for
evaluation and for the confidence of matches, never for training.
"""

from anchornet_tf.datasets.parts_world.drawing import Example, draw
from anchornet_tf.datasets.parts_world.source import PartsWorldSource, load, prepare
from anchornet_tf.datasets.voc_classes import VOC_CLASSES as CLASSES

__all__ = ["CLASSES", "Example", "PartsWorldSource", "draw", "load", "prepare"]
