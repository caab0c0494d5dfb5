"""Stage 1: one step on cached taps, and all classes in one pass."""

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets import sources
from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import tap_cache
from anchornet_tf.training.stage1 import input as bank_input
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage1.step import BankTraining
from benchmarks import models
from benchmarks.results import Goal, Results, Row
from benchmarks.settings import Settings
from benchmarks.timing import MATMUL, Timed, in_turn


def make_config(settings: Settings, classes: tuple[str, ...], **changes) -> Stage1Config:
    """Returns the configuration that users get by default, smaller for a quick run."""
    sizes = settings.choose({}, {"image_size": 64, "num_filters": 4, "batch_size": 2, "steps": 5})
    return Stage1Config(**{"classes": classes, "data": settings.data, **sizes, **changes})


def present_classes(source: ImageSource) -> tuple[str, ...]:
    """Returns the classes that a source has images of."""
    counts = source.labels.sum(axis=0)
    return tuple(name for name, count in zip(source.class_names, counts, strict=True) if count)


def step_work(config: Stage1Config):
    """Returns one training step on random taps that are in memory, as the cache gives them."""
    training = BankTraining(config, tf.distribute.get_strategy(), lambda taps: taps)
    rng = np.random.default_rng(0)
    images = (len(config.classes) + 1) * (config.batch_size // 2)
    taps = []
    for shape in tap_cache.tap_shapes(config.image_size):
        tap = rng.normal(size=(images, *shape)).astype(np.float32)
        tap /= np.linalg.norm(tap, axis=-1, keepdims=True)
        taps.append(tf.constant(tap, tf.float16))
    return lambda: training.step(tuple(taps))


def trunk_work(config: Stage1Config):
    """Returns one pass of the bare trunk over the batch of one class."""
    images = models.random_images(config.batch_size, config.image_size)
    trunk = models.compiled(models.trunk)
    return lambda: trunk(images)


def one_step(settings: Settings) -> Results:
    """The banks of one class, against the trunk's pass over the same batch."""
    config = make_config(settings, ("bird",))
    timed = in_turn({"trunk": trunk_work(config), "step": step_work(config)}, settings.repeats)
    name = f"stage 1, one step, batch {config.batch_size}, one class, cached taps"
    return Results((timed.row("step", name, per="trunk", goal=Goal(0.25)),))


def twenty_classes(settings: Settings) -> Results:
    """All classes of the data in one run, against a run for each.

    The times of a step and of an image are measured; how many images pass through the trunk is
    counted in the plans of the runs.
    """
    source = sources.open_source(settings.data)
    classes = present_classes(source)
    joint = make_config(settings, classes)
    single = make_config(settings, classes[:1])
    works = {
        "trunk": trunk_work(single),
        "step": step_work(single),
        "joint step": step_work(joint),
    }
    timed = in_turn(works, settings.repeats)
    together = distinct_images(joint, source)
    alone = [distinct_images(make_config(settings, (name,)), source) for name in classes]
    whole = run_seconds(timed, joint, together, "joint step")
    live = len(classes) * single.steps * single.batch_size
    comparisons = (
        ("with the trunk in each step", live, Goal(6, at_most=False), "20 trunk passes"),
        ("with a cache each", sum(alone), None, ""),
        ("with one cache", together, None, ""),
    )
    title = f"stage 1, {len(classes)} classes in one pass, {joint.steps} steps"
    rows = [timed.row("joint step", f"{title}: one of them, cached taps")]
    for name, images, goal, reference in comparisons:
        runs = run_seconds(timed, single, images, "step", len(classes))
        ratios = tuple(a / b for a, b in zip(runs, whole, strict=True))
        note = f"{images} images through the trunk against {together}"
        compared = f"{title}: against {len(classes)} runs {name}"
        times = whole, timed.seconds[MATMUL]
        rows.append(Row(compared, "x faster", ratios, goal, reference, note, *times))
    return Results(tuple(rows))


def distinct_images(config: Stage1Config, source: ImageSource) -> int:
    """Returns how many views a run passes through the trunk when it caches their taps."""
    plan = bank_input.plan(config, source, 0)
    return len(np.unique(plan.image_index * config.views + plan.view))


def run_seconds(
    timed: Timed, config: Stage1Config, images: int, step: str, runs: int = 1
) -> tuple[float, ...]:
    """Returns the time of whole runs by the times of each round."""
    pairs = zip(timed.seconds["trunk"], timed.seconds[step], strict=True)
    return tuple(
        images * batch / config.batch_size + runs * config.steps * one for batch, one in pairs
    )
