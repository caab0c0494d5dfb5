"""How many floating point operations a graph needs: what no implementation of it can do without."""

from collections.abc import Callable

import tensorflow as tf
from absl import logging

from benchmarks.timing import MATMUL_SIDE

# Of the unit "mm": a multiplication and an addition for each term.
PER_MATMUL = 2 * MATMUL_SIDE**3


def count_operations(function: Callable, *inputs: tf.Tensor) -> int:
    """Returns the floating point operations of a function: convolutions and matrix products."""
    graph = tf.function(function).get_concrete_function(*inputs).graph
    options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    # The profiler itself is fine, but warns of what it calls.
    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        return tf.compat.v1.profiler.profile(graph, options=options).total_float_ops
    finally:
        logging.set_verbosity(before)


def count_stacked_maps(function: Callable, channels: int, *inputs: tf.Tensor) -> int:
    """Returns how many maps `(batch, height, width, channels)` a graph joins from others."""
    graph = tf.function(function).get_concrete_function(*inputs).graph
    joined = [operation for operation in graph.get_operations() if operation.type == "ConcatV2"]
    shapes = [operation.outputs[0].shape for operation in joined]
    return sum(shape.rank == 4 and shape[-1] == channels for shape in shapes)
