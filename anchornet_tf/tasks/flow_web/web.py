"""The flows among the images of a set, as whole pixels of one common size."""

import dataclasses
import functools

import numpy as np

from anchornet_tf.tasks.flow_web.links import Links

LARGEST_SIDE = 8192
# A position is one number, y * 65536 + x, so that both axes are compared at once. The highest bit
# of each half is free: it keeps a borrow of one axis from reaching the other.
FREE_BITS = np.uint32(0x80008000)
NOWHERE = np.uint32(0x40004000)


@dataclasses.dataclass(eq=False)
class Web:
    """Integer flows of all linked pairs of equally large images.

    Pixels are numbered column by column, `x * height + y`, as in the published program, where ties
    are broken by that number.

    Args:
        size: `(height, width)` of all images.
        links: Which pairs have flows.
        flows: For each image an int16 array `(pixels, neighbours, 2)` of `(dy, dx)`, in the order
            of its neighbours. That to itself is zero.
    """

    size: tuple[int, int]
    links: Links
    flows: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def num_pixels(self) -> int:
        """Pixels of one image."""
        return self.size[0] * self.size[1]

    def copy(self) -> "Web":
        """Returns a web whose flows can be changed without changing these."""
        return Web(self.size, self.links, [flow.copy() for flow in self.flows])

    def flow(self, source: int, target: int) -> np.ndarray:
        """Returns the flow of a linked pair as int16 `(height, width, 2)`."""
        return as_image(self.flows[source][:, self.links.column(source, target)], self.size)


@functools.lru_cache(maxsize=4)
def pixel_places(size: tuple[int, int]) -> np.ndarray:
    """Returns `(pixels, 2)` of (y, x), column by column."""
    x, y = np.divmod(np.arange(size[0] * size[1], dtype=np.int32), np.int32(size[0]))
    return np.stack([y, x], axis=1)


def as_image(values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Returns `(pixels, ...)` values, column by column, as `(height, width, ...)`."""
    return values.reshape(size[1], size[0], *values.shape[1:]).swapaxes(0, 1)


def as_pixels(values: np.ndarray) -> np.ndarray:
    """Returns `(height, width, ...)` values as `(pixels, ...)`, column by column."""
    return values.swapaxes(0, 1).reshape(-1, *values.shape[2:])


def is_inside(places: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Tells which places (y, x) are pixels of an image."""
    y, x = places[..., 0], places[..., 1]
    return (y >= 0) & (y < size[0]) & (x >= 0) & (x < size[1])


def pixel_numbers(packed_places: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Returns the numbers of packed places; `NOWHERE` gives the number after the last pixel."""
    y = packed_places >> np.uint32(16)
    numbers = (packed_places & np.uint32(0xFFFF)).astype(np.intp) * size[0] + y
    return np.where(packed_places == NOWHERE, size[0] * size[1], numbers)
