"""Speed and memory, as ratios measured in one run: `python -m benchmarks`."""

from anchornet_tf.command_line import start

# Every benchmark, in a process of its own too, runs with the settings of all programs, which
# TensorFlow reads when it is first imported.
start.set_environment()
