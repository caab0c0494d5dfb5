"""The functions of a model for runtimes that know fewer operations than TensorFlow.

They compute what those of `export.servable` compute, without variables, strings, checks that stop
the run, and lists of tensors. `export.onnx` and `export.litert` convert them.
"""

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import convert_to_constants

from anchornet_tf.layers.anchor_bank import factored_convolution
from anchornet_tf.matchers.cells import same_place, unravel
from anchornet_tf.matchers.confidence import confidence_of
from anchornet_tf.matchers.nearest import cell_offsets
from anchornet_tf.models import folding
from anchornet_tf.models.anchornet import AnchorNet
from export import graph_flow, graph_matching
from export.graph_rewriting import rewrite

_EPSILON = 1e-6


class Portable:
    """Functions from tensors to dicts of tensors, with the values that the model has now.

    Images are RGB from 0 to 255, of any number type, `(batch, height, width, 3)`.

    Args:
        model: `AnchorNet`.
        matcher: `"nearest"` or `"hough"`, for `match` and `match_points`.
        precision: Number type of pixel positions before they are subtracted from each other.

    Attributes:
        image_size: (height, width) that images are resized to before they are matched.

    Raises:
        ValueError: If the matcher is unknown.
    """

    def __init__(self, model: AnchorNet, matcher: str = "hough", precision: tf.DType = tf.float64):
        size = model.image_size
        self.image_size = (size, size) if isinstance(size, int) else tuple(size)
        self._model = model
        self._matcher = graph_matching.check_matcher(matcher)
        self._precision = precision
        self._confidence = confidence_of(model, "auto")
        self._describe = folding.features_function(model, fixed=True)

    def features(self, image) -> dict:
        """Returns the class-agnostic descriptors, `(batch, height / 4, width / 4, depth)`."""
        return {"features": self._describe(tf.cast(image, tf.float32))}

    def class_responses(self, image, class_index) -> dict:
        """Returns the descriptors of one class per image.

        Args:
            image: The images.
            class_index: int `(batch,)`: numbers of classes, in the order of the model. The maps of
                an image with another number are NaN.
        """
        kernels, biases = self._class_filters()
        class_index = tf.cast(class_index, tf.int32)
        known = (class_index >= 0) & (class_index < len(biases))
        index = tf.where(known, class_index, 0)
        responses = _for_each(
            lambda row, *taps: factored_convolution(
                [tap[tf.newaxis] for tap in taps], tf.gather(kernels, row), tf.gather(biases, row)
            )[0],
            (index, *self._model.taps(tf.cast(image, tf.float32))),
            tf.TensorSpec((None, None, self._model.num_filters), tf.float32),
        )
        return {"responses": tf.where(known[:, None, None, None], responses, float("nan"))}

    def match(self, source, target) -> dict:
        """Returns `flow`, `(batch, height, width, 2)`, and `confidence`, `(batch, height, width)`.

        Args:
            source: Images that are matched pixel by pixel.
            target: Images that they are matched to, of the same size or another.
        """
        flow, confidence = graph_flow.spread(self._matched(source, target))
        return {"flow": flow, "confidence": confidence}

    def match_points(self, source, target, points) -> dict:
        """Returns `target_points`, `(batch, n, 2)`, and `confidence`, `(batch, n)`.

        An input and an output of an ONNX graph cannot have one name, hence `target_points`.

        Args:
            source: Images that the points are in.
            target: Images that they are carried to.
            points: float `(batch, n, 2)`: (x, y) pixels of the source. For a point off the image
                the result is NaN.
        """
        flow = self._matched(source, target)
        inside = graph_flow.are_inside(points[..., ::-1], flow.source_size)  # (batch, n)
        safe = tf.where(inside[..., tf.newaxis], points, 0.0)
        moved, confidence = graph_flow.transfer_points(flow, safe, checked=False)
        nan = float("nan")
        return {
            "target_points": tf.where(inside[..., tf.newaxis], moved, nan),
            "confidence": tf.where(inside, confidence, nan),
        }

    def describe(self, image) -> dict:
        """Returns `features` of images at the model's size, which `match_features` takes.

        Args:
            image: The images, of any size.
        """
        resized = tf.image.resize(image, self.image_size, antialias=True)
        return {"features": self._describe(resized)}

    def match_features(self, source_features, target_features, source_size, target_size) -> dict:
        """Returns `cells`, `(batch, rows, columns, 3)`: where each cell of the sources lies.

        Images that were described once are matched in any pairs.

        Args:
            source_features: Those of `describe`.
            target_features: Those of the images that they are matched to.
            source_size: int `(2,)`: height and width of the source images.
            target_size: int `(2,)`: those of the target images.

        Returns:
            For each cell the x and the y of its match in pixels of the target, and the confidence.
        """
        flow = self._match_maps(source_features, target_features, source_size, target_size)
        grid = tf.shape(flow.confidence)[1:3]
        origin = graph_flow.centers(
            graph_flow.cells_of_grid(grid, tf.float32), grid, source_size
        )  # (rows, columns, 2)
        positions = (flow.displacement + origin)[..., ::-1]
        return {"cells": tf.concat([positions, flow.confidence[..., tf.newaxis]], axis=-1)}

    def _class_filters(self) -> list[np.ndarray]:
        """Returns the kernels and the biases of all classes, `(classes, ...)` each."""
        pairs = zip(self._model.banks, self._model.bank_equalizers, strict=True)
        with tf.init_scope():  # Now, not in the graph.
            filters = [folding.class_filters(bank, equalizer) for bank, equalizer in pairs]
        return [np.stack(parts) for parts in zip(*filters, strict=True)]

    def _matched(self, source, target) -> graph_flow.GridFlow:
        maps = graph_matching.describe_images(self._describe, source, target, self.image_size)
        return self._match_maps(*maps, tf.shape(source)[1:3], tf.shape(target)[1:3])

    def _match_maps(self, source, target, source_size, target_size) -> graph_flow.GridFlow:
        return graph_matching.match_maps(
            source,
            target,
            source_size,
            target_size,
            self._matcher,
            self._confidence,
            nearest=nearest_at_once,
            precision=self._precision,
        )


def frozen_graph(
    function: Callable[..., dict], inputs: Mapping[str, tf.TensorSpec]
) -> tuple[graph_pb2.GraphDef, dict[str, str]]:
    """Traces a function of `Portable` and makes one graph of constants of it.

    Args:
        function: From tensors to a dict of tensors.
        inputs: What it takes, by the names of its arguments.

    Returns:
        The graph, whose inputs have the names given, and for each output the name of its tensor.
    """
    specs = {name: tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in inputs.items()}
    traced = tf.function(function, autograph=False).get_concrete_function(**specs)
    frozen = convert_to_constants.convert_variables_to_constants_v2(
        traced, lower_control_flow=False
    )
    # Outputs are listed by name in the order of the traced function's.
    names = sorted(traced.structured_outputs)
    outputs = {name: tensor.name for name, tensor in zip(names, frozen.outputs, strict=True)}
    return rewrite(frozen.graph.as_graph_def()), outputs


def nearest_at_once(source: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds what `nearest_cells` finds by default, with all similarities in memory at once.

    Args:
        source: `(batch, height, width, depth)`.
        target: `(batch, target height, target width, depth)`.

    Returns:
        `positions` `(batch, height, width, 2)` and `similarity` `(batch, height, width)`.
    """
    source = tf.math.l2_normalize(source, axis=-1, epsilon=_EPSILON**2)
    target = tf.math.l2_normalize(target, axis=-1, epsilon=_EPSILON**2)
    found = _for_each(_nearest_of_one, (source, target), tf.TensorSpec((None, None, 3), tf.float32))
    return found[..., :2], found[..., 2]


def _nearest_of_one(source, target):
    """Returns `(height, width, 3)`: row, column and similarity of the best match of each cell."""
    size, target_size = tf.shape(source)[:2], tf.shape(target)[:2]
    cells, target_cells = (tf.reshape(grid, (-1, grid.shape[-1])) for grid in (source, target))
    products = tf.matmul(cells, target_cells, transpose_b=True)  # (n, m)
    index = tf.argmax(products, axis=-1, output_type=tf.int32)
    positions = unravel(index, target_size[1]) + cell_offsets(cells, target, index)
    # A cell of zeros, or a target of zeros, has nothing to say: the place stays.
    best = tf.reduce_max(tf.abs(products), axis=-1, keepdims=True)
    positions = tf.where(best > 0, positions, same_place(size, target_size))
    found = tf.concat([positions, tf.reduce_max(products, axis=-1, keepdims=True)], axis=-1)
    return tf.reshape(found, (size[0], size[1], 3))


def _for_each(function, batches, result: tf.TensorSpec) -> tf.Tensor:
    """Calls a function with each example of a batch; without a loop where there is only one."""
    if batches[0].shape[0] == 1:
        return function(*(batch[0] for batch in batches))[tf.newaxis]
    return tf.map_fn(lambda parts: function(*parts), batches, fn_output_signature=result)
