"""Whether training waits for its input: steps on real data against steps on tensors in memory."""

import tempfile

import tensorflow as tf

from anchornet_tf.datasets import sources
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import strategies
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.stage1 import input as bank_input
from anchornet_tf.training.stage1.step import BankTraining
from benchmarks import models
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.stage1 import make_config, present_classes
from benchmarks.timing import Prepared, in_turn

_GOAL = Goal(1.05)
# While other work is timed the pipeline runs ahead: so many steps use up what it has in store.
_STEPS_AHEAD = 4
_WARMUPS = 1


def cached_taps(settings: Settings) -> Results:
    """Taps from the cache, the default of stage 1."""
    timed_steps = settings.choose(8, 1)
    source, config = _prepared(settings, timed_steps, views=1)
    extractor = TapExtractor(models.backbone())
    with tempfile.TemporaryDirectory(prefix="anchornet-bench-") as folder:
        cached = CachedViews(
            source,
            folder,
            pca_digest=extractor.pca_digest,
            weights="random",
            image_size=config.image_size,
            views=config.views,
            seed=config.seed,
        )
        cached.fill(extractor, bank_input.plan(config, source, 0))
        training = BankTraining(config, tf.distribute.get_strategy(), lambda taps: taps)
        return _compare(settings, source, training, cached, timed_steps, "cached taps")


def live_trunk(settings: Settings) -> Results:
    """Images that are read, decoded and augmented anew for each step, and the trunk in it."""
    timed_steps = settings.choose(3, 1)
    source, config = _prepared(settings, timed_steps, cache_features=False)
    extractor = TapExtractor(models.backbone())
    training = BankTraining(config, tf.distribute.get_strategy(), extractor.taps)
    return _compare(settings, source, training, None, timed_steps, "images and the live trunk")


def _prepared(settings, timed_steps, **changes):
    source = sources.open_source(settings.data)
    # Enough batches for all rounds.
    steps = (_WARMUPS + settings.repeats) * (_STEPS_AHEAD + timed_steps) + 1
    config = make_config(settings, present_classes(source)[:1], steps=steps, **changes)
    return source, config


def _compare(settings, source, training, cached, timed_steps, name) -> Results:
    config = training.config

    def open_batches():
        batches = strategies.distribute(
            training.strategy,
            lambda shards, index: bank_input.batches(
                config, source, cached, bank_input.plan(config, source, 0, shards, index)
            ),
        )
        return iter(batches)

    batches, bare = open_batches(), open_batches()
    in_memory = next(batches)

    def real(count):
        for _ in range(count):
            training.step(next(batches))

    def synthetic(count):
        for _ in range(count):
            training.step(in_memory)

    def only_input(count):
        for _ in range(count):
            next(bare)

    works = {
        work.__name__: Prepared(
            lambda work=work: work(_STEPS_AHEAD), lambda work=work: work(timed_steps)
        )
        for work in (real, synthetic, only_input)
    }
    timed = in_turn(works, settings.repeats, _WARMUPS)
    title = f"step on {name} from {config.data.partition(':')[0]}"
    return Results(
        (
            timed.row("real", title, per="synthetic", goal=_GOAL),
            timed.row("only_input", f"making the batches of {name} alone", per="synthetic"),
        )
    )
