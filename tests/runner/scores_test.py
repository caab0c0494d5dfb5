"""Scores, their averages and intervals, against values by hand and the plain functions."""

import dataclasses

import numpy as np
import pytest

from anchornet_tf.metrics import region_matching
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.scores import (
    Score,
    iou_score,
    pck_curve,
    pck_scores,
    region_scores,
    scores_of,
)
from tests.runner.made_up import PROTOCOL, benchmark

LENGTHS = {"image": 100.0, "bbox_kp": None}


def _pck(errors, **lengths):
    return {"errors": errors, "lengths": LENGTHS | lengths}


def test_pck_per_image_and_per_point():
    records = [_pck([1, 9]), _pck([1, 1, 1, 30]), _pck([])]
    image, point = pck_scores(records, "image", (0.05,), inclusive=False)
    every = np.ones(3)
    assert image.value(every) == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert point.value(every) == pytest.approx(4 / 6)
    np.testing.assert_allclose(image.of_pairs(), [0.5, 0.75, np.nan])
    assert (image.name, point.name) == ("PCK@0.05", "PCK@0.05 per point")


def test_thresholds_may_be_inclusive_and_lengths_missing():
    (strict, _), (inclusive, _) = (
        pck_scores([_pck([5.0, None])], "image", (0.05,), inclusive=flag) for flag in (False, True)
    )
    assert (strict.value(np.ones(1)), inclusive.value(np.ones(1))) == (0, 0.5)
    nothing, _ = pck_scores([_pck([1.0])], "bbox_kp", (0.05,), inclusive=False)
    assert np.isnan(nothing.value(np.ones(1)))


def test_region_scores_equal_the_plain_functions():
    rng = np.random.default_rng(0)
    distances = [rng.uniform(size=count) for count in (150, 3, 0, 40)]
    pcr, mean_iou = region_scores([{"distances": pair.tolist()} for pair in distances])
    every = np.ones(4)
    expected = region_matching.pcr_area(region_matching.pcr_curve(distances))
    assert pcr.value(every) == pytest.approx(expected)
    ranks = [-np.arange(len(pair)) for pair in distances]
    curve = region_matching.mean_iou_curve(distances, ranks)
    assert mean_iou.value(every) == pytest.approx(region_matching.mean_iou_area(curve))
    # Integer weights equal repetitions.
    twice = region_matching.mean_iou_curve([*distances, distances[1]], [*ranks, ranks[1]])
    weighted = mean_iou.value(np.array([1, 2, 1, 1]))
    assert weighted == pytest.approx(region_matching.mean_iou_area(twice))


def test_classes_without_parts_use_the_whole_object():
    made_up = benchmark()
    records = [
        {"part_iou": 0.2, "object_iou": 0.8, "has_parts": pair.group == "one"}
        for pair in made_up.pairs
    ]
    values = Resampling(made_up, 0).group_values(iou_score(made_up, records))
    assert values == {"one": pytest.approx(0.2), "two": pytest.approx(0.8)}
    # If one image of a class has parts, the part IoU counts for all pairs of the class.
    records[0] |= {"has_parts": True}
    records[6] |= {"has_parts": True, "part_iou": 0.0}
    values = Resampling(made_up, 0).group_values(iou_score(made_up, records))
    assert values["two"] == pytest.approx(0.2 * 5 / 6)


def _score(values):
    values = np.asarray(values, float)[:, np.newaxis]
    known = np.isfinite(values)
    return Score("s", np.nan_to_num(values), known.astype(float), lambda ratios: ratios[..., 0])


def test_averages_over_groups_or_pairs():
    made_up = benchmark()
    values = [1.0] * 6 + [0.0, np.nan, np.nan, np.nan, np.nan, np.nan]
    assert Resampling(made_up, 0).value(_score(values)) == pytest.approx(0.5)
    pooled = dataclasses.replace(PROTOCOL, average="pairs")
    assert Resampling(benchmark(protocol=pooled), 0).value(_score(values)) == pytest.approx(6 / 7)
    assert Resampling(made_up, 0).interval(np.zeros(0)) is None


def test_intervals_cover_the_truth_as_often_as_they_say():
    made_up = benchmark(groups=[f"g{i}" for i in range(8)])
    rng, hits = np.random.default_rng(0), 0
    resampling = Resampling(made_up, 400, seed=1)
    for _ in range(100):
        samples = resampling.samples(_score(rng.normal(size=len(made_up.pairs))))
        low, high = resampling.interval(samples)
        hits += low <= 0 <= high
    assert 85 <= hits <= 100


def test_single_pairs_are_not_taken_for_certain():
    made_up = benchmark(groups=[f"g{i}" for i in range(6)])
    one_each = dataclasses.replace(made_up, pairs=made_up.pairs[::6])
    low, high = (resampling := Resampling(one_each, 200)).interval(
        resampling.samples(_score([0, 1, 0, 1, 0, 1]))
    )
    assert low < 0.4 and high > 0.6


def test_resampled_images_give_wider_intervals():
    made_up = benchmark(groups=[f"g{i}" for i in range(4)])
    # The score of a pair depends only on its source image.
    keys = list(made_up.annotations())
    score = _score([keys.index(pair.source.image_key) % 3 for pair in made_up.pairs])
    widths = {}
    for unit in ("pairs", "images"):
        resampling = Resampling(made_up, 500, unit=unit)
        low, high = resampling.interval(resampling.samples(score))
        widths[unit] = high - low
    assert widths["images"] > widths["pairs"]


def test_bad_resampling():
    with pytest.raises(ValueError, match="Received: unit='points'"):
        Resampling(benchmark(), unit="points")
    with pytest.raises(ValueError, match="Received: num_samples=-1"):
        Resampling(benchmark(), num_samples=-1)


def test_scores_of_measures_and_the_curve():
    made_up = benchmark()
    records = [_pck([1, 9]) | {"distances": [0.1]} for _ in made_up.pairs]
    names = [score.name for score in scores_of(made_up, records, ("regions",), "image", (0.1,))]
    assert names == ["AuC PCR", "AuC mIoU@k"]
    curve = pck_curve(records, "image", (0.005, 0.05, 0.2))
    np.testing.assert_allclose(curve, [0, 0.5, 1])
    assert np.isnan(pck_curve([_pck([])], "image", (0.1,))).all()
