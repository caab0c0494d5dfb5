"""Where a training runs: one device, all devices of a machine, or several machines."""

import os

import tensorflow as tf

from anchornet_tf.training.config import STRATEGIES


def make(name: str = "auto") -> tf.distribute.Strategy:
    """Returns the `tf.distribute` strategy of a name.

    `auto` takes several workers where `TF_CONFIG` names them, else all GPUs where there is more
    than one, else one device. A strategy for several workers must be made before anything else is
    computed.

    Raises:
        ValueError: for an unknown name, or several workers without `TF_CONFIG`.
    """
    if name not in STRATEGIES:
        raise ValueError(f"The strategy must be one of {', '.join(STRATEGIES)}. Received: {name!r}")
    if name == "auto":
        if os.environ.get("TF_CONFIG"):
            name = "multiworker"
        else:
            name = "mirrored" if len(tf.config.list_logical_devices("GPU")) > 1 else "one"
    if name == "one":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    if not os.environ.get("TF_CONFIG"):
        raise ValueError(
            "Expected the environment variable TF_CONFIG to name the workers and this one's place "
            "among them. Received: --strategy=multiworker without TF_CONFIG"
        )
    return tf.distribute.MultiWorkerMirroredStrategy()


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Tells whether this process writes the files: the only one, or the first worker."""
    resolver = strategy.cluster_resolver
    return resolver is None or not resolver.task_id


def distribute(strategy: tf.distribute.Strategy, shard) -> tf.distribute.DistributedDataset:
    """Makes the input of all replicas of this worker.

    Args:
        strategy: the strategy.
        shard: function of (number of shares, index) that returns the dataset of one replica's share
            of each batch.
    """
    replicas = strategy.num_replicas_in_sync

    def of_worker(context: tf.distribute.InputContext) -> tf.data.Dataset:
        local = replicas // context.num_input_pipelines
        first = context.input_pipeline_id * local
        shares = [shard(replicas, first + index) for index in range(local)]
        # The replicas of a worker take elements in turn.
        return tf.data.Dataset.choose_from_datasets(shares, tf.data.Dataset.range(local).repeat())

    return strategy.distribute_datasets_from_function(of_worker)
