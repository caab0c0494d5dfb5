"""Run lengths against pycocotools."""

import numpy as np
import pytest
from pycocotools import mask as reference

from anchornet_tf.annotations import rle


def _masks():
    rng = np.random.default_rng(0)
    for _ in range(200):
        height, width = rng.integers(1, 40, 2)
        yield rng.random((height, width)) < rng.random()
    yield np.zeros((3, 5), bool)
    yield np.ones((3, 5), bool)
    large = np.zeros((900, 1200), bool)  # Runs of several characters.
    large[100:700, 300:1000] = True
    yield large


def test_encodes_and_compresses_as_pycocotools():
    for mask in _masks():
        expected = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert rle.compress(rle.encode(mask)) == expected["counts"].decode()


def test_decodes_what_pycocotools_wrote():
    for mask in _masks():
        text = reference.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()
        np.testing.assert_array_equal(rle.decode(rle.expand(text), mask.shape), mask)


def test_uncompressed_lengths_agree_with_pycocotools():
    rng = np.random.default_rng(1)
    mask = rng.random((17, 13)) < 0.4
    runs = {"size": [17, 13], "counts": rle.encode(mask).tolist()}
    np.testing.assert_array_equal(reference.decode(reference.frPyObjects(runs, 17, 13)), mask)


def test_runs_go_down_the_columns():
    mask = np.zeros((3, 2), bool)
    mask[1:, 0] = True
    assert rle.encode(mask).tolist() == [1, 2, 3]


def test_any_lengths_survive_compression():
    rng = np.random.default_rng(2)
    for _ in range(100):
        counts = rng.integers(0, 2 ** rng.integers(1, 29), rng.integers(1, 50))
        assert rle.expand(rle.compress(counts)).tolist() == counts.tolist()


@pytest.mark.parametrize("text", ["", "P", "0\x7f", "é", "P" * 20 + "0", "\ud800"])
def test_refuses_text_that_is_none(text):
    with pytest.raises(ValueError, match="Received: "):
        rle.expand(text)


@pytest.mark.parametrize("counts", [[], [5], [7], [-1, 7], [2**62, 2**62, 6], [3, -3, 6]])
def test_refuses_lengths_that_do_not_add_up(counts):
    with pytest.raises(ValueError, match="add up to 2 x 3 = 6"):
        rle.decode(counts, (2, 3))
