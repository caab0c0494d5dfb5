"""What Proposal Flow's steps pass on: a pair of images with boxes, and their matches."""

import dataclasses
from typing import NamedTuple

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class BoxPair:
    """Two images with boxes, and how similar the boxes are: all that an algorithm looks at.

    Attributes:
        similarity: float32 array `(n_source, n_target)`, not negative.
        source_boxes: `(n_source, 4)` boxes as in `anchornet_tf.features.boxes`.
        target_boxes: `(n_target, 4)` boxes.
        source_size: `(height, width)` of the source image.
        target_size: `(height, width)` of the target image.
    """

    similarity: np.ndarray
    source_boxes: np.ndarray
    target_boxes: np.ndarray
    source_size: tuple[int, int]
    target_size: tuple[int, int]


class BoxMatches(NamedTuple):
    """The match of each source box.

    Attributes:
        best: int array `(n_source,)`: the index of a target box.
        confidence: float array `(n_source,)`: how sure the match is; 0 where there is none.
    """

    best: np.ndarray
    confidence: np.ndarray
