"""A small AnchorNet with a random trunk, and stage 2 on random taps."""

import functools

import numpy as np
import tensorflow as tf

from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training import loop, run_folder, seeded_draws, strategies
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.training.stage2.step import JointTraining
from anchornet_tf.trunks.backbone import Backbone

CLASSES = ("bird", "cow", "dog")
DIMENSIONS, FILTERS, LATENT, SLOTS = 8, 4, 6, 4
SHAPES = ((8, 8, DIMENSIONS), (2, 2, DIMENSIONS), (1, 1, DIMENSIONS))


def small_config(**changes) -> Stage2Config:
    """A configuration that runs in seconds."""
    values = {"banks": ("none",), "latent_filters": LATENT, "steps": 6, "freeze_trunk": True}
    return Stage2Config(**{**values, "batch_size": 2 * SLOTS, **changes})


# Takes seconds to make, and is frozen in all but one test.
@functools.cache
def _trunk() -> Backbone:
    return Backbone(weights=None)


def small_model(config: Stage2Config) -> AnchorNet:
    """An untrained network with the same values each time, but for its trunk."""
    model = AnchorNet(
        CLASSES,
        FILTERS,
        config.latent_filters,
        gamma=config.gamma,
        noise=config.noise,
        dimensions=DIMENSIONS,
        weights=_trunk(),
    )
    rng = np.random.default_rng(0)
    for layer in (*model.banks, model.autoencoder, model.hypercolumn_layer):
        for variable in layer.variables:
            value = rng.normal(size=variable.shape) * 0.3
            variable.assign(1 + value**2 if variable.name == "running_square" else value)
    return model


def batch(step: int, share: slice = slice(None)) -> dict:
    """The batch of one step: a function of the step."""
    rng = np.random.default_rng(step)
    taps = [rng.normal(size=(2, SLOTS, *shape)).astype(np.float32) for shape in SHAPES]
    seeds = seeded_draws.seed_pairs(seeded_draws.NOISE_SEED, step, np.arange(2 * SLOTS))
    return {
        "taps": tuple(tap[:, share].reshape(-1, *tap.shape[2:]) for tap in taps),
        "class_index": rng.integers(0, len(CLASSES), SLOTS)[share],
        "noise_seed": seeds.reshape(2, SLOTS, 2)[:, share].reshape(-1, 2),
    }


def shard(config, start: int, shards: int, index: int) -> tf.data.Dataset:
    """One replica's share of each step's batch."""
    share = slice(index * SLOTS // shards, (index + 1) * SLOTS // shards)
    slots = SLOTS // shards
    signature = {
        "taps": tuple(tf.TensorSpec((2 * slots, *shape)) for shape in SHAPES),
        "class_index": tf.TensorSpec((slots,), tf.int64),
        "noise_seed": tf.TensorSpec((2 * slots, 2), tf.int64),
    }
    return tf.data.Dataset.from_generator(
        lambda: (batch(step, share) for step in range(start, config.steps)),
        output_signature=signature,
    )


def train(config, workdir, strategy: str = "one") -> JointTraining:
    """Trains on the random taps through the same loop and strategies as the real thing."""
    where = strategies.make(strategy)
    with where.scope():
        model = small_model(config)
    training = JointTraining(config, model, where)
    loop.run(
        folder=run_folder.RunFolder(workdir, writes=strategies.is_chief(where)),
        variables=training.state(),
        batches_from=lambda start: strategies.distribute(
            where, lambda n, i: shard(config, start, n, i)
        ),
        step=training.step,
        steps=config.steps,
        checkpoint_every=2,
    )
    return training
