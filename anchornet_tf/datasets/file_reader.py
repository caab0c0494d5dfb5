"""Images in files, each read in one of two ways that are chosen once.

TensorFlow decodes ordinary images inside the graph, without Python. What it cannot read, and what
has to be turned or scaled down, is read as the images that users match are.
"""

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.utils.encoded_image import check_size, encoded_size
from anchornet_tf.utils.image_formats import UPRIGHT, Header, read_header
from anchornet_tf.utils.image_io import pixel_limit, read_scaled, scaled_size

# Ways to read an image. The pass over a set keeps these numbers.
UNREADABLE, IN_GRAPH, WITH_PILLOW = range(3)
# What readers raise for an image that cannot be read.
READ_ERRORS = (tf.errors.OpError, ValueError, OSError)
# Pillow's names of what TensorFlow decodes. An MPO file is a JPEG with further ones behind it.
_GRAPH_FORMATS = ("JPEG", "MPO", "PNG", "BMP", "GIF", "WEBP")
# Training squashes images to squares, for which one row of pixels is enough.
_MINIMUM_SIDE = 1


def decode_image(encoded: tf.Tensor, max_pixels: int | None = None) -> tf.Tensor:
    """Decodes JPEG, PNG, BMP or GIF bytes (first frame) to uint8 RGB `(height, width, 3)`.

    Args:
        encoded: string scalar.
        max_pixels: int. An image of more pixels is refused before it is decoded. None means
            `anchornet_tf.utils.image_io.pixel_limit()`.

    Raises:
        tf.errors.InvalidArgumentError: when it runs, for other bytes or more pixels.
    """
    return _decode(encoded, tf.constant(pixel_limit(max_pixels), tf.int64))


# One graph for all calls: header and pixels by single operations would take twice as long.
@tf.function(
    input_signature=[tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int64)], autograph=False
)
def _decode(encoded, limit):
    with tf.control_dependencies([check_size(*encoded_size(encoded), limit)]):
        image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    return tf.ensure_shape(image, (None, None, 3))


def find_way(path: str) -> int:
    """Returns how an image can be read, having read it: one of the ways above.

    An image that TensorFlow decodes is left to it, so that its pixels stay what they always were,
    unless it is large or to be turned.
    """
    header = read_header(path)
    if header is not None and header.height * header.width > pixel_limit():
        return UNREADABLE
    likely = _likely_way(header)
    for way in (likely, WITH_PILLOW if likely == IN_GRAPH else IN_GRAPH):
        try:
            _read(path, way)
        except READ_ERRORS:
            continue
        return way
    return UNREADABLE


class FileReader:
    """Images in files, most of them read and decoded without Python when in a graph.

    Args:
        paths: the files.
        ways: for each file what `find_way` found; None to go by the headers alone.
    """

    def __init__(self, paths: Sequence[str], ways: Sequence[int] | None = None):
        self.paths = list(paths)
        self._ways = None
        self._tensors = None
        if ways is not None:
            self.ways = ways

    @classmethod
    def joined(cls, readers: Sequence["FileReader"]) -> "FileReader":
        """Returns one reader with the images of several, in order."""
        paths = [path for reader in readers for path in reader.paths]
        return cls(paths, np.concatenate([reader.ways for reader in readers]))

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def ways(self) -> np.ndarray:
        """uint8 `(images,)`, how each image is read."""
        if self._ways is None:
            self.ways = [_likely_way(read_header(path)) for path in self.paths]
        return self._ways

    @ways.setter
    def ways(self, ways: Sequence[int]) -> None:
        ways = np.asarray(ways, np.uint8)
        if ways.shape != (len(self.paths),):
            raise ValueError(
                "There must be one way to read for each path. "
                f"Received: {len(self.paths)} paths, ways of shape {ways.shape}"
            )
        self._ways = ways
        self._tensors = None

    def read(self, row: int) -> np.ndarray:
        """Returns image `row` as uint8 `(height, width, 3)`."""
        return _read(self.paths[row], self.ways[row])

    def image_tensor(self, row: tf.Tensor) -> tf.Tensor:
        """As `read`, for an int tensor."""
        if self._tensors is None:
            # Made outside the graph, which then refers to the lists instead of holding copies.
            with tf.init_scope():
                self._tensors = tf.constant(self.paths), tf.constant(self.ways == WITH_PILLOW)
        paths, with_pillow = self._tensors
        path = tf.gather(paths, row)
        if not (self.ways == WITH_PILLOW).any():
            return _read_in_graph(path)
        return tf.cond(
            tf.gather(with_pillow, row),
            lambda: tf.ensure_shape(
                tf.numpy_function(_read_with_pillow, [path], tf.uint8, stateful=False),
                (None, None, 3),
            ),
            lambda: _read_in_graph(path),
        )


def _likely_way(header: Header | None) -> int:
    # What Pillow cannot open may still be something for TensorFlow.
    if header is None:
        return IN_GRAPH
    size = header.height, header.width
    as_stored = header.orientation == UPRIGHT and scaled_size(*size) == size
    return IN_GRAPH if as_stored and header.format in _GRAPH_FORMATS else WITH_PILLOW


def _read(path: str, way: int) -> np.ndarray:
    return _read_with_pillow(path) if way == WITH_PILLOW else _read_in_graph(path).numpy()


def _read_in_graph(path: str | tf.Tensor) -> tf.Tensor:
    return decode_image(tf.io.read_file(path))


def _read_with_pillow(path: str | bytes) -> np.ndarray:
    return read_scaled(os.fsdecode(path), min_side=_MINIMUM_SIDE).pixels
