"""Trains on the synthetic taps in a process of its own.

    python -m tests.training.distributed_program STRATEGY OUT

ANCHORNET_TEST_STAGE=2 trains the second stage.
"""

import os
import pathlib
import sys

import numpy as np
import tensorflow as tf

if __name__ == "__main__":
    strategy, output = sys.argv[1], pathlib.Path(sys.argv[2])
    if strategy == "mirrored":
        # Two logical devices on one processor stand for two accelerators.
        configuration = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], configuration
        )
    from tests.training import synthetic, synthetic_joint

    data = synthetic_joint if os.environ.get("ANCHORNET_TEST_STAGE") == "2" else synthetic
    training = data.train(data.small_config(), output / "run", strategy)
    assert training.strategy.num_replicas_in_sync == (1 if strategy == "one" else 2)
    worker = training.strategy.cluster_resolver.task_id if strategy == "multiworker" else 0
    np.savez(output / f"worker{worker}.npz", **synthetic.arrays(training))
