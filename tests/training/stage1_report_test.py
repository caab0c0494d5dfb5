"""The report on a bank with a known filter: it finds a cell that only its class has."""

import numpy as np
import pytest

from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.training.stage1 import report as stage1_report
from tests.training import synthetic


@pytest.fixture(scope="module")
def held_out():
    rng = np.random.default_rng(0)
    taps = [rng.normal(size=(6, *shape)).astype(np.float32) * 0.01 for shape in synthetic.SHAPES]
    taps[0][:3, 2, 5, 0] = 10.0
    labels = np.zeros((6, 20), bool)
    labels[:3, 2] = True
    negatives = np.repeat(~labels.any(axis=1)[:, None], 20, axis=1)
    images = rng.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    return stage1_report.HeldOut(images, labels, negatives, tuple(taps))


@pytest.fixture(scope="module")
def bank():
    layer = AnchorBank(5, kernel_initializer="zeros")
    layer.build([(None, None, None, 256)] * 3)
    layer.built = True
    kernel = np.zeros((3, 3, 768, 5), np.float32)
    kernel[1, 1, 0, :] = 1.0
    kernel[1, 1, 1, 1] = 1.0
    layer.kernel.assign(kernel)
    return layer


def test_summary(bank, held_out):
    summary = stage1_report.summarise(bank, held_out, column=2, sigma=0.0)
    assert summary["average_precision"] == 1.0
    assert (summary["positives"], summary["background"]) == (3, 3)
    # Four equal filters and one at 45 degrees to them, at one of nine taps: the pairs give
    # (12 * 1 + 8 * sqrt(1/2)) / 20 / 9.
    assert summary["filter_cosine"] == pytest.approx((12 + 8 * np.sqrt(0.5)) / 20 / 9, rel=1e-4)
    assert summary["map_overlap"] == pytest.approx(1, abs=0.01)


def test_a_title_may_be_anything(bank, held_out, tmp_path, recwarn):
    path = tmp_path / "name.png"
    stage1_report.draw_filters(bank, held_out, 2, "キリン costs $5_{, or $7", path, filters=1)
    assert path.stat().st_size > 5_000
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]


def test_mosaic_shows_the_peak(bank, held_out):
    mosaic = stage1_report.response_mosaic(bank, [tap[:1] for tap in held_out.taps])
    assert mosaic.shape == (1, 2 * 8, 4 * 8, 1)
    assert mosaic.min() == 0 and mosaic.max() == 1
    assert np.unravel_index(mosaic[0, :8, :8, 0].argmax(), (8, 8)) == (2, 5)
    assert (mosaic[0, 8:, 8:] == 0).all(), "five filters leave the rest of the second row empty"


def test_picture(bank, held_out, tmp_path):
    path = stage1_report.draw_filters(
        bank, held_out, 2, "planted", tmp_path / "new" / "bird.png", filters=2
    )
    assert path.stat().st_size > 5_000
    assert path.read_bytes()[:4] == b"\x89PNG"
