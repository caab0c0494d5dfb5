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
    tree, sweep = _edge_groups(num_levels)
    schedule = [(group, False) for group in range(len(tree))]
    if bottom_up:
        schedule += [(group, True) for group in reversed(range(len(tree)))]
    lateral = range(len(tree), len(tree) + len(sweep))
    schedule += [(group, False) for group in lateral]
    schedule += [(group, True) for group in reversed(lateral)]
    edges = tree + sweep

    def send(beliefs, messages, group, backward):
        tails, heads = edges[group][::-1] if backward else edges[group]
        sent, received = messages[group][::-1] if backward else messages[group]
        new = _distance_transform(tf.gather(beliefs, tails) - received, deformation, truncation)
        beliefs += tf.math.unsorted_segment_sum(new - sent, heads, expected)
        # A constant added to a belief changes no decision; without it numbers stay small.
        beliefs -= tf.reduce_mean(beliefs, axis=(1, 2), keepdims=True)
        messages = list(messages)
        messages[group] = (received, new) if backward else (new, received)
        return beliefs, tuple(messages)

    def iterate(iteration, changed, states, beliefs, messages):
        del changed
        for group, backward in schedule:
            beliefs, messages = send(beliefs, messages, group, backward)
        flat = tf.reshape(beliefs, (expected, -1))
        new_states = tf.argmin(flat, axis=-1, output_type=tf.int32)
        changed = tf.reduce_any(new_states != states)
        return iteration + 1, changed, new_states, beliefs, messages

    silence = [tf.zeros_like(unary_costs[: len(heads)]) for _, heads in edges]
    iterations, _, states, _, _ = tf.while_loop(
        lambda iteration, changed, *_: changed,
        iterate,
        loop_vars=(
            tf.constant(0),
            tf.constant(True),
            tf.fill([expected], -1),
            unary_costs,
            tuple((message, message) for message in silence),
        ),
        maximum_iterations=max_iterations,
    )
    return states, iterations


@functools.cache
def _edge_groups(num_levels: int) -> tuple[list, list]:
    """Lists the edges of the pyramid in groups whose messages travel together.

    Returns:
        Tuple of two lists of `(tails, heads)` arrays of node numbers: from each level to the next,
        and from each anti-diagonal of a level to the next (all levels at once, as their sweeps
        do not meet).
    """

    def node(level, x, y):
        return num_nodes(level) + y + x * 2**level

    tree = []
    for level in range(num_levels - 1):
        side = 2 ** (level + 1)
        children = [(x, y) for x in range(side) for y in range(side)]
        tree.append(
            (
                np.array([node(level, x // 2, y // 2) for x, y in children], np.int32),
                np.array([node(level + 1, x, y) for x, y in children], np.int32),
            )
        )
    sweep = []
    for diagonal in range(2 ** max(num_levels, 1) - 2):
        pairs = []
        for level in range(1, num_levels):
            side = 2**level
            for x in range(min(diagonal, side - 1) + 1):
                y = diagonal - x
                if y < side:
                    heads = [(x + 1, y), (x, y + 1)]
                    inside = [head for head in heads if max(head) < side]
                    pairs += [(node(level, x, y), node(level, *head)) for head in inside]
        sweep.append(tuple(np.array(ends, np.int32) for ends in zip(*pairs, strict=True)))
    return tree, sweep


# A function of its own is traced once, not at each of the sixteen places that send messages.
@tf.function(reduce_retracing=True)
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
