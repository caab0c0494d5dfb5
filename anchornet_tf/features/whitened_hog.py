"""The whitened HOG descriptor of Proposal Flow, as feature maps that describe boxes themselves."""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap, resize_bilinear
from anchornet_tf.features.hog import CELL_SIZE, box_hog, hog
from anchornet_tf.features.hog_background import HogBackground, shipped_background


@dataclasses.dataclass(frozen=True, eq=False)
class HogFeatureMap(FeatureMap):
    """HOG cells of an image that also describes boxes, at their own scale, from the pixels.

    Args:
        values: `(height, width, 31)` cells of the whole image, for matchers that work on a grid.
        image_size: `(height, width)` of the image in pixels.
        image: uint8 `(height, width, 3)`, the image itself.
        background: HogBackground, the statistics that box descriptors are whitened with.
        reference: bool. See `HogDescriptor`.
    """

    image: np.ndarray
    background: HogBackground
    reference: bool = False

    def describe_boxes(self, boxes: np.ndarray) -> np.ndarray:
        """Returns whitened HOG `(n, 1984)` float32 of `(n, 4)` boxes.

        The dot product of two of them is the score of linear discriminant analysis; they do not
        have length one.
        """
        cells = box_hog(self.image, boxes, self.reference)
        return self.background.whiten(cells).astype(np.float32)


class HogDescriptor:
    """Extracts HOG from images: cells of 8 pixels on a grid, and whitened templates of boxes.

    The matchers of boxes (NAM, PHM, LOM) use the templates of 8 x 8 cells, as the published
    Proposal Flow does; all others see the grid.

    Args:
        background: Path of statistics written by `learn_hog_background`; None means those that come
            with the package.
        reference: bool. Whether boxes are cut out exactly as by the published program, see
            `anchornet_tf.features.hog.box_hog`.

    Example:

    ```python
    extract = HogDescriptor()
    source, target = extract([image, other_image])  # (height, width, 3) uint8
    source.values.shape  # (height / 8, width / 8, 31)
    source.describe_boxes([[0, 0, 99, 79]]).shape  # (1, 1984)
    ```
    """

    def __init__(self, background: str | os.PathLike | None = None, reference: bool = False):
        self.background = (
            shipped_background() if background is None else HogBackground.load(background)
        )
        self.reference = reference

    def __call__(self, images: Sequence[np.ndarray]) -> list[HogFeatureMap]:
        """Returns one feature map per image.

        Args:
            images: sequence of `(height, width, 3)` uint8 arrays.

        Raises:
            ValueError: If an image has another shape.
        """
        return [self._extract(np.asarray(image)) for image in images]

    def _extract(self, image: np.ndarray) -> HogFeatureMap:
        if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
            raise ValueError(
                f"An image must have shape (height, width, 3). Received: image.shape={image.shape}"
            )
        # Whole cells that cover the image exactly, and one more on each side, which HOG takes off.
        size = [max(round(side / CELL_SIZE), 1) * CELL_SIZE for side in image.shape[:2]]
        resized = resize_bilinear(image, size, antialias=True)
        margin = (CELL_SIZE, CELL_SIZE)
        padded = np.pad(resized, (margin, margin, (0, 0)), mode="edge")
        cells = hog(padded[np.newaxis])[0]
        return HogFeatureMap(cells, image.shape[:2], image, self.background, self.reference)
