"""Every part of the benchmarks runs at tiny sizes and gives finite figures."""

import math

import pytest

from anchornet_tf.datasets.sources import open_source
from anchornet_tf.training.stage1 import input as bank_input
from benchmarks import catalogue, scale, stage1
from benchmarks.settings import Settings
from benchmarks.timing import Timed

# Processes of their own, the compilation by XLA and the conversion of models take longer than
# everything else together.
_SLOW = {"help_text", "imports", "first_call", "local_workers", "xla"}
_SLOW |= {"trunk_costs", "onnx_features", "onnx_match", "litert_features", "litert_match"}
_MAY_BE_ZERO = ("MB", "maps", "x the maps", "times")
_WITH_CURVES = {"growth", "workers"}
_PARTS = [
    pytest.param(group, part, marks=[pytest.mark.slow] if part in _SLOW else [], id=part)
    for group, part in catalogue.choose()
]


@pytest.mark.parametrize("group, part", _PARTS)
def test_part_gives_finite_figures(group, part, settings, small_trunk):
    results = catalogue.measure(group, part, settings)
    assert results.rows or results.curves
    for row in results.rows:
        assert row.samples and all(map(math.isfinite, row.samples)), row.name
        if row.unit in _MAY_BE_ZERO:
            assert min(row.samples) >= 0, row.name
        else:
            assert min(row.samples) > 0, row.name
        assert row.goal is None
    assert bool(results.curves) or group not in _WITH_CURVES
    for curve in results.curves:
        for line in curve.lines:
            assert len(line.x) == len(line.samples) > 1
            assert all(value > 0 for samples in line.samples for value in samples)


def test_the_graph_of_the_features_has_no_hypercolumn(settings, small_trunk):
    rows = catalogue.measure("features", "all_class_features", settings).rows
    counts = {row.name: row.samples for row in rows if row.unit == "maps"}
    assert list(counts.values()) == [(0.0,)]


def test_images_of_many_pairs_are_described_once(settings, small_trunk):
    described, speed = scale.described_once(settings).rows
    assert described.samples == (described.goal.bound,) == (6.0,)
    assert described.verdict == "met"


def test_a_descriptor_that_is_asked_twice_counts_twice():
    describe = scale.CountingDescriptor(list)
    assert describe([1, 2]) == [1, 2]
    describe([2])
    assert describe.count == 3


def test_the_configuration_is_the_users_unless_quick(settings):
    config = stage1.make_config(Settings(), ("bird",))
    assert (config.batch_size, config.image_size, config.num_filters) == (16, 224, 64)
    assert stage1.make_config(settings, ("bird",)).image_size == 64


def test_classes_are_those_that_have_images(settings):
    source = open_source(settings.data, heldout_fraction=0)
    assert stage1.present_classes(source) == ("bird", "cow")


def test_time_of_whole_runs():
    timed = Timed({"trunk": (2.0, 4.0), "step": (0.5, 1.0)})
    config = stage1.make_config(Settings(), ("bird",), steps=10)
    # 32 images are two batches; three runs of ten steps.
    assert stage1.run_seconds(timed, config, 32, "step", 3) == (2 * 2.0 + 15, 2 * 4.0 + 30)


def test_images_through_the_trunk(settings):
    source = open_source(settings.data, heldout_fraction=0)
    config = stage1.make_config(settings, ("bird", "cow"), steps=7, views=2)
    plan = bank_input.plan(config, source, 0)
    seen = set(zip(plan.image_index.ravel(), plan.view.ravel(), strict=True))
    assert stage1.distinct_images(config, source) == len(seen) <= 2 * len(source)
