"""Rows are ranked on the columns that they share, and compared on the same resamples."""

import numpy as np
import pytest

from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.paper.markdown import comparison_text, markdown
from anchornet_tf.runner.paper.measured import Entry, MeasuredRow, MeasuredTable
from anchornet_tf.runner.paper.methods import Method
from anchornet_tf.runner.paper.order import orders_of
from anchornet_tf.runner.paper.published import PublishedTable
from tests.runner.paper.worlds import within

# The paper's figures and ours of two columns; None where there is none.
_ROWS = {
    "dsp+anchornet": ((0.50, 0.40), (0.70, 0.60)),
    "dsp+hc": ((0.40, 0.30), (0.50, 0.40)),
    "dsp+sift": ((0.30, 0.30), (0.55, 0.45)),
    "none": ((0.30, 0.299), (0.10, 0.10)),
    "dsp+without-diversity": ((0.20, 0.20), (0.20, None)),
}


def _row(key, papers, ours) -> MeasuredRow:
    entries, samples = {}, {}
    noise = np.linspace(-0.04, 0.04, 41)
    for name, paper, value in zip(("car", "cat"), papers, ours, strict=True):
        entries[name] = Entry(np.nan if value is None else value, None, paper, 5, "")
        if value is not None:
            # The hypercolumn and SIFT err in opposite ways, all others together.
            samples[name] = value + (-noise if key == "dsp+sift" else noise)
    known = [entry for entry in entries.values() if np.isfinite(entry.value)]
    mean = Entry(
        np.mean([entry.value for entry in known]), None, np.mean([e.paper for e in known]), 5
    )
    return MeasuredRow(Method.of(key), entries, mean, samples, {})


@pytest.fixture
def table() -> MeasuredTable:
    papers = {key: row[0] for key, row in _ROWS.items()}
    published = PublishedTable(1, "IoU", "photographs", ("car", "cat"), papers, {"none": 0.3})
    rows = [_row(key, *figures) for key, figures in _ROWS.items()]
    return MeasuredTable(published, rows, [], "made up", 10, Resampling(within(), 5))


def test_ranks_and_correlation(table):
    [order] = orders_of(table)
    assert [line[0] for line in order.ranked] == [
        "DSP + ANet",
        "DSP + HC",
        "DSP + SIFT",
        "Baseline: NoFlow",
    ]
    assert [line[3:] for line in order.ranked] == [(1, 1), (2, 3), (3, 2), (4, 4)]
    assert order.correlation == pytest.approx(0.8)
    assert order.left_out == ["DSP + ANet-class w/o L_Div"]


def test_neighbours(table):
    [order] = orders_of(table)
    first, second, third = order.neighbors
    assert first.agrees and first.is_outside_noise and first.interval == pytest.approx((0.2, 0.2))
    assert comparison_text(first) == (
        "DSP + ANet above DSP + HC: paper yes (+0.100), "
        "here yes (+0.200 [+0.200, +0.200], outside the noise)"
    )
    assert not second.agrees and not second.is_outside_noise
    assert "here no (-0.050 [-0.126, +0.026], within the noise)" in comparison_text(second)
    assert third.is_level and "paper level (+0.001), here yes" in comparison_text(third)
    text = markdown(table)
    assert (
        "Of 3, the paper tells 2 apart (by 0.005 or more). Here 1 of these agree, 1 outside the "
        "noise, and 1 do not, 0 outside the noise." in text
    )
    assert "Spearman's rank correlation of the two orders: +0.80." in text


def test_without_resamples_there_are_no_intervals(table):
    for row in table.rows:
        row.samples.update({name: np.zeros(0) for name in row.samples})
    comparison = orders_of(table)[0].neighbors[0]
    assert comparison.interval is None and not comparison.is_outside_noise
    assert comparison_text(comparison).endswith("here yes (+0.200)")
