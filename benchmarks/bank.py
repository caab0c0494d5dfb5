"""What a bank of anchor filters costs: against the plain convolution on the hypercolumn, and against the trunk.

    python -m benchmarks.bank --num_filters=64 --batch_size=8

Prints medians of several repeats as multiples of one 2048x2048 float32 matrix product in the same run ("mm"), so that
figures of different machines compare.
"""

import time

from absl import app, flags

_NUM_FILTERS = flags.DEFINE_integer("num_filters", 64, "K, filters of the bank.", 1)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 8, "Images of 224x224 pixels.", 1)
_REPEATS = flags.DEFINE_integer("repeats", 7, "Timed repeats; the median counts.", 1)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import numpy as np
    import tensorflow as tf

    from anchornet_tf.backbone import Backbone
    from anchornet_tf.layers import hypercolumn
    from anchornet_tf.layers.anchor_bank import AnchorBank, factored_convolution
    from anchornet_tf.models.tap_extractor import TapExtractor

    def median(work) -> float:
        work()
        times = []
        for _ in range(_REPEATS.value):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    rng = np.random.default_rng(0)
    # Random weights: speed does not depend on them.
    extractor = TapExtractor(Backbone(weights=None))
    images = tf.constant(rng.uniform(0, 255, (_BATCH_SIZE.value, 224, 224, 3)), tf.float32)
    taps = [tf.constant(tap) for tap in extractor(images)]
    bank = AnchorBank(_NUM_FILTERS.value)
    bank.linear(taps)
    kernel, bias = bank.kernel.value, bank.bias.value

    def plain(taps):
        return tf.nn.bias_add(tf.nn.conv2d(hypercolumn.stack(taps), kernel, 1, "SAME"), bias)

    def factored(taps):
        return factored_convolution(taps, kernel, bias)

    def backward(compute):
        def work(taps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.softplus(compute(taps)))
            return tape.gradient(loss, [kernel, bias])

        return work

    def timed(compute, inputs) -> float:
        compiled = tf.function(compute)
        return median(
            lambda: tf.nest.map_structure(lambda tensor: tensor.numpy(), compiled(inputs))
        )

    square = rng.random((2048, 2048), np.float32)
    matmul = median(lambda: square @ square)
    trunk = timed(lambda images: extractor.backbone(images)[2], images)
    whole = timed(lambda images: bank.linear(extractor.taps(images)), images)
    rows = {
        "trunk alone": trunk,
        "trunk, PCA and bank": whole,
        "bank, plain, forward": timed(plain, taps),
        "bank, factored, forward": timed(factored, taps),
        "bank, plain, forward and backward": timed(backward(plain), taps),
        "bank, factored, forward and backward": timed(backward(factored), taps),
    }
    print(
        f"K = {_NUM_FILTERS.value}, {_BATCH_SIZE.value} images of 224x224; one mm = {matmul:.3f} s"
    )
    for name, seconds in rows.items():
        print(f"  {name:<38} {seconds / matmul:6.2f} mm  {seconds / trunk:5.2f} x the trunk")


if __name__ == "__main__":
    app.run(main)
