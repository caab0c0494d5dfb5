"""Min-sum loopy belief propagation on the spatial pyramid of DSP.

Level `l` of the pyramid is a `2**l x 2**l` grid of nodes; a node is tied to its four children and
to its four neighbours in the level. Nodes are numbered level by level, inside a level along y
first: node `(x, y)` of level `l` is `(4**l - 1) / 3 + y + x * 2**l`.

Messages that do not depend on one another travel together, so that an iteration is a fixed
sequence of a few batched steps however many nodes there are.

Reference:
- [Deformable Spatial Pyramid Matching for Fast Dense Correspondences](https://openaccess.thecvf.com/content_cvpr_2013/html/Kim_Deformable_Spatial_Pyramid_2013_CVPR_paper.html)
"""

import functools
import itertools
import math

import numpy as np
import tensorflow as tf

_FAR = 1e30  # Stands for infinity in sums that must not become NaN.


def num_nodes(num_levels: int) -> int:
    """Returns the number of nodes of a pyramid."""
    return (4**num_levels - 1) // 3


def propagate_beliefs(
    unary_costs: tf.Tensor,
    *,
    num_levels: int = 3,
    deformation: float = 0.005,
    truncation: float = 0.25,
    max_iterations: int | tf.Tensor = 50,
    bottom_up: bool = True,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds a displacement for each node of the pyramid that its neighbours agree with.

    The pairwise cost of states `(i, j)` and `(i', j')` is
    `min(deformation * |i - i'|, truncation) + min(deformation * |j - j'|, truncation)`.

    Args:
        unary_costs: float tensor `(nodes, x states, y states)`.
        num_levels: int. Levels of the pyramid, which has `num_nodes(num_levels)` nodes.
        deformation: float. Cost of one step between the states of two tied nodes.
        truncation: float. Largest cost along one axis.
        max_iterations: int or int32 tensor. Iterations at most; fewer when the states settle.
        bottom_up: bool. Whether children send messages to their parents. The published program
            meant to and does not.

    Returns:
        Tuple of the states `(nodes,)`, int32, each `y + x * (y states)` (the lowest number among
        equals), and the number of iterations made, int32.

    Raises:
        ValueError: If the number of nodes does not fit `num_levels`.
    """
    unary_costs = tf.convert_to_tensor(unary_costs)
    expected = num_nodes(num_levels)
    if unary_costs.shape.rank != 3 or unary_costs.shape[0] not in (None, expected):
        raise ValueError(
            f"`unary_costs` must have shape ({expected}, x states, y states) for "
            f"num_levels={num_levels}. Received: unary_costs.shape={unary_costs.shape}"
        )
    tails, heads, schedule = _message_schedule(num_levels, bottom_up)
    num_messages = len(tails)

    def send(turn, beliefs, messages):
        first, end = tf.unstack(tf.gather(schedule, turn))
        edges = tf.range(first, end)
        received = tf.gather(messages, (edges + num_messages // 2) % num_messages)
        sent = tf.gather(messages, edges)
        new = _distance_transform(
            tf.gather(beliefs, tf.gather(tails, edges)) - received, deformation, truncation
        )
        beliefs += tf.math.unsorted_segment_sum(new - sent, tf.gather(heads, edges), expected)
        # A constant added to a belief changes no decision; without it numbers stay small.
        beliefs -= tf.reduce_mean(beliefs, axis=(1, 2), keepdims=True)
        messages = tf.tensor_scatter_nd_update(messages, edges[:, tf.newaxis], new)
        return turn + 1, beliefs, messages

    def iterate(iteration, changed, states, beliefs, messages):
        del changed
        _, beliefs, messages = tf.while_loop(
            lambda turn, *_: turn < len(schedule), send, (0, beliefs, messages)
        )
        flat = tf.reshape(beliefs, (expected, -1))
        new_states = tf.argmin(flat, axis=-1, output_type=tf.int32)
        changed = tf.reduce_any(new_states != states)
        return iteration + 1, changed, new_states, beliefs, messages

    iterations, _, states, _, _ = tf.while_loop(
        lambda iteration, changed, *_: changed,
        iterate,
        loop_vars=(
            tf.constant(0),
            tf.constant(True),
            tf.fill([expected], -1),
            unary_costs,
            tf.zeros(tf.concat([[num_messages], tf.shape(unary_costs)[1:]], axis=0)),
        ),
        maximum_iterations=max_iterations,
    )
    return states, iterations


@functools.cache
def _message_schedule(
    num_levels: int, bottom_up: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orders the messages of an iteration.

    Those that do not depend on one another are sent in one turn: from a level to the next, then
    (in all levels at once, as their sweeps do not meet) from an anti-diagonal to the next.

    Returns:
        Sender and receiver `(messages,)` of each message; message `m` answers the one half their
        number away. And the turns `(turns, 2)`: first message and end of each.
    """

    def node(level, x, y):
        return num_nodes(level) + y + x * 2**level

    groups = []
    for level in range(1, num_levels):
        places = itertools.product(range(2**level), repeat=2)
        groups.append([(node(level - 1, x // 2, y // 2), node(level, x, y)) for x, y in places])
    for diagonal in range(2**num_levels - 2):
        groups.append([])
        for level in range(1, num_levels):
            for x in range(diagonal + 1):
                y = diagonal - x
                for head in ((x + 1, y), (x, y + 1)):
                    if max(x, y, *head) < 2**level:
                        groups[-1].append((node(level, x, y), node(level, *head)))
    tails, heads = np.array([edge for group in groups for edge in group], np.int32).T
    ends = np.cumsum([len(group) for group in groups])
    forward = np.stack([ends - [len(group) for group in groups], ends], axis=1)
    backward = forward[::-1] + ends[-1]
    trees = num_levels - 1
    schedule = np.concatenate(
        [
            forward[:trees],
            backward[len(groups) - trees :] if bottom_up else backward[:0],
            forward[trees:],
            backward[: len(groups) - trees],
        ]
    )
    return (
        np.concatenate([tails, heads]),
        np.concatenate([heads, tails]),
        schedule.astype(np.int32),
    )


def _distance_transform(costs: tf.Tensor, deformation: float, truncation: float) -> tf.Tensor:
    """Minimises `costs` plus the pairwise cost over the sender's states.

    Args:
        costs: float tensor `(messages, x states, y states)`.

    Returns:
        Tensor of the same shape.
    """
    # A move of d steps is made of moves of 1, 2, 4, ... steps, so few passes reach every state
    # that truncation leaves within reach.
    num_passes = max(math.ceil(truncation / deformation) - 1, 0).bit_length()
    for axis in (2, 1):
        size = tf.shape(costs)[axis]
        ceiling = tf.reduce_min(costs, axis=axis, keepdims=True) + truncation
        for step in (2**power for power in range(num_passes)):
            paddings = [[0, 0] for _ in range(3)]
            paddings[axis] = [step, step]
            moved = tf.pad(costs + deformation * step, paddings, constant_values=_FAR)
            before = [slice(None)] * 3
            after = [slice(None)] * 3
            before[axis] = slice(None, size)
            after[axis] = slice(2 * step, None)
            costs = tf.minimum(costs, tf.minimum(moved[tuple(before)], moved[tuple(after)]))
        costs = tf.minimum(costs, ceiling)
    return costs
