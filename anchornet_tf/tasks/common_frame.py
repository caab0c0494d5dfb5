"""Images of any sizes, brought to one common size."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import PIL.Image

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks.flow_web.web import LARGEST_SIDE, as_pixels
from anchornet_tf.utils.image_io import ScaledImage

# Networks look at no more of an image than this.
SEEN_SIDE = 512
_SMALLEST_SIDE = 8


@dataclasses.dataclass(frozen=True, eq=False)
class CommonFrame:
    """Images and the size that flows among them are worked on at.

    Args:
        images: The images, as `read_scaled` gives them.
        size: `(height, width)` that all of them are stretched to.
    """

    images: tuple[ScaledImage, ...]
    size: tuple[int, int]

    @classmethod
    def of(cls, images: Sequence[ScaledImage], max_side: int) -> "CommonFrame":
        """Chooses the size: of the images' median shape, with a longest side of `max_side`.

        Images that are all smaller than that are not enlarged.

        Raises:
            ValueError: If `max_side` is no number of pixels that can be worked with.
        """
        if not _SMALLEST_SIDE <= max_side <= LARGEST_SIDE:
            raise ValueError(
                f"`max_side` must be from {_SMALLEST_SIDE} to {LARGEST_SIDE} pixels. "
                f"Received: max_side={max_side}"
            )
        sizes = np.array([image.original_size for image in images], np.float64)
        height, width = np.exp(np.median(np.log(sizes / sizes.max(axis=1, keepdims=True)), axis=0))
        longest = min(max_side, sizes.max()) / max(height, width)
        size = (max(2, round(side * longest)) for side in (height, width))
        return cls(tuple(images), tuple(size))

    def __len__(self) -> int:
        return len(self.images)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """`(height, width)` of each image as it was given."""
        return tuple(image.original_size for image in self.images)

    def stretched(self, number: int, size: tuple[int, int] | None = None) -> np.ndarray:
        """Returns an image at the common size, or at another one, as uint8."""
        height, width = size or self.size
        pixels = self.images[number].pixels
        if pixels.shape[:2] == (height, width):
            return pixels
        resized = PIL.Image.fromarray(pixels).resize((width, height), PIL.Image.Resampling.BILINEAR)
        return np.asarray(resized)

    def seen_by(self, matcher: Matcher) -> list:
        """Returns what a matcher is given of the images.

        A network has a size of its own, and sees the images as they are. What works with pixels
        sees them at the common size.
        """
        if matcher.on_grid and isinstance(matcher.descriptor, DeepDescriptor):
            return list(self.images)
        return [self.stretched(number) for number in range(len(self))]

    def whole_pixels(self, flow: Flow) -> np.ndarray:
        """Returns a flow of two images in whole pixels of the common size, int16 `(pixels, 2)`."""
        moved = flow.resized(self.size, self.size).displacement
        moved = np.where(np.isfinite(moved), moved, 0)
        # Halves are rounded away from zero; what leaves every image need not be told apart.
        moved = np.copysign(np.floor(np.abs(moved) + 0.5), moved)
        return as_pixels(np.clip(moved, -LARGEST_SIDE, LARGEST_SIDE).astype(np.int16))
