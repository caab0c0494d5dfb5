"""Small random taps in the layout of stage 1's input, and a run of the banks on them."""

import numpy as np
import tensorflow as tf

from anchornet_tf.training import loop, run_folder, strategies
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage1.step import BankTraining

SHAPES = ((8, 8, 256), (2, 2, 256), (1, 1, 256))
SLOTS = 4


def small_config(classes=("bird", "cow"), **changes) -> Stage1Config:
    """A configuration that runs in seconds."""
    values = {"num_filters": 3, "steps": 6, "batch_size": 2 * SLOTS, "learning_rate": 0.05}
    return Stage1Config(**{"classes": classes, **values, **changes})


def _group(name: str, step: int) -> list[np.ndarray]:
    """Returns the taps of one group of a batch: a function of the group's name and the step."""
    rng = np.random.default_rng([step, *name.encode()])
    taps = [rng.normal(size=(SLOTS, *shape)).astype(np.float32) for shape in SHAPES]
    if name != "background":
        # Something to find: one cell of every image of a class has the class's own direction.
        taps[0][:, 2, 3] = np.random.default_rng([*name.encode()]).normal(size=256)
    return [tap / np.linalg.norm(tap, axis=-1, keepdims=True) for tap in taps]


def shard(config, start: int, shards: int, index: int) -> tf.data.Dataset:
    """One replica's share of each step's batch."""
    share = slice(index * SLOTS // shards, (index + 1) * SLOTS // shards)

    def steps():
        for step in range(start, config.steps):
            groups = [_group(name, step) for name in (*config.classes, "background")]
            yield tuple(
                np.concatenate([taps[share] for taps in tap]) for tap in zip(*groups, strict=True)
            )

    rows = (len(config.classes) + 1) * SLOTS // shards
    signature = tuple(tf.TensorSpec((rows, *shape)) for shape in SHAPES)
    return tf.data.Dataset.from_generator(steps, output_signature=signature)


def train(config, workdir, strategy: str = "one", checkpoint_every: int = 2) -> BankTraining:
    """Trains banks on the random taps through the same loop and strategies as the real thing."""
    where = strategies.make(strategy)
    training = BankTraining(config, where, lambda taps: taps)
    loop.run(
        folder=run_folder.RunFolder(workdir, writes=strategies.is_chief(where)),
        variables=training.state(),
        batches_from=lambda start: strategies.distribute(
            where, lambda n, i: shard(config, start, n, i)
        ),
        step=training.step,
        steps=config.steps,
        checkpoint_every=checkpoint_every,
    )
    return training


def arrays(training) -> dict[str, np.ndarray]:
    """The state of a training as plain arrays."""
    return {name: np.asarray(variable) for name, variable in training.state().items()}
