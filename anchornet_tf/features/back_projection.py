"""Where in the image the activation of a channel comes from: gradients, one map per channel."""

from collections.abc import Callable, Sequence

import tensorflow as tf

# Simon and Rodner smooth the maps with a Gaussian of 3 pixels, cut to 20 x 20.
SMOOTHING = 3.0
SMOOTHING_SIZE = 20

Taps = Callable[[tf.Tensor], Sequence[tf.Tensor]]
Finish = Callable[[tf.Tensor], tf.Tensor]


def back_project(
    taps_of: Taps,
    images: tf.Tensor,
    channels: Sequence[Sequence[int]],
    finish: Finish | None = None,
) -> tf.Tensor:
    """Projects channels of a network's taps back to the image (Simon and Rodner, 2015).

    The map of a channel is the sum over colours of the absolute gradient of the channel's total
    activation by the pixels. The network runs forward once; backward it runs once per channel, one
    after the other, so memory holds the activations of one batch however many channels there are.

    Args:
        taps_of: Function from images to taps `(batch, h, w, depth)`.
        images: float tensor `(batch, height, width, 3)`.
        channels: `(n, 2)` integers: the number of a tap and of a channel of it.
        finish: Function of a channel's maps `(batch, height, width)`, for what is wanted of them
            when they need not all be kept; None for the maps themselves.

    Returns:
        Tensor `(n, batch, ...)`: what `finish` returns for each channel, in the order of
        `channels`.

    Raises:
        ValueError: If there is no channel, or the network does not have one of them.

    Example:

    ```python
    import keras
    import tensorflow as tf
    from anchornet_tf.features.back_projection import back_project

    convolution = keras.layers.Conv2D(4, 3, padding="same", activation="relu")
    images = tf.random.uniform((2, 16, 20, 3))
    maps = back_project(lambda images: [convolution(images)], images, [(0, 3), (0, 1)])
    assert maps.shape == (2, 2, 16, 20)
    ```
    """
    channels = [(int(tap), int(channel)) for tap, channel in channels]
    if not channels:
        raise ValueError("Expected at least one channel. Received: none")
    images = tf.convert_to_tensor(images)
    # Persistent, because all channels share one pass forward.
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(images)
        taps = list(taps_of(images))
    _check(channels, taps)
    pieces, order = [], []
    for number, tap in enumerate(taps):
        places = [place for place, (of, _) in enumerate(channels) if of == number]
        if places:
            pieces.append(_of_tap(tape, images, tap, [channels[i][1] for i in places], finish))
            order += places
    del tape
    joined = tf.concat(pieces, axis=0)
    return tf.gather(joined, [order.index(place) for place in range(len(channels))])


def _of_tap(tape, images, tap, numbers: list[int], finish: Finish | None) -> tf.Tensor:
    def one(number):
        seed = tf.one_hot(number, tap.shape[-1], dtype=tap.dtype)
        gradient = tape.gradient(tap, images, output_gradients=tf.broadcast_to(seed, tf.shape(tap)))
        total = tf.reduce_sum(tf.abs(gradient), axis=-1)  # (batch, height, width)
        return total if finish is None else finish(total)

    # One at a time: by default, graphs work on ten elements at once, with the memory of ten.
    return tf.map_fn(
        one, tf.constant(numbers), fn_output_signature=images.dtype, parallel_iterations=1
    )


def _check(channels: list[tuple[int, int]], taps: list[tf.Tensor]) -> None:
    depths = [tap.shape[-1] for tap in taps]
    for tap, channel in channels:
        if not 0 <= tap < len(depths) or not 0 <= channel < depths[tap]:
            raise ValueError(
                f"Expected channels of taps of {depths} channels. "
                f"Received: channel {channel} of tap {tap}"
            )


def back_projected_network(
    taps_of: Taps, channels: Sequence[Sequence[int]]
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function from images to their maps `(batch, height, width, n)`, for descriptors.

    Args:
        taps_of, channels: As in `back_project`.
    """

    def network(images):
        return tf.transpose(back_project(taps_of, images, channels), (1, 2, 3, 0))

    return network
