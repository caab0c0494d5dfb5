"""Average precision by hand."""

import numpy as np
import pytest

from anchornet_tf.metrics.average_precision import average_precision


def test_by_hand():
    # Ranks of the positives: 1, 3, 4 of 5; precisions 1/1, 2/3, 3/4.
    assert average_precision([9, 8, 7, 6, 5], [1, 0, 1, 1, 0]) == pytest.approx(
        (1 + 2 / 3 + 3 / 4) / 3
    )


def test_extremes():
    assert average_precision([3, 2, 1], [1, 1, 0]) == 1
    assert average_precision([1, 2, 3, 4], [1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert average_precision([1, 1, 1, 1], [1, 0, 0, 0]) == pytest.approx(1 / 4)


def test_bad_input():
    with pytest.raises(ValueError, match="Received: 0 positives"):
        average_precision([1, 2], [0, 0])
    with pytest.raises(ValueError, match="nan"):
        average_precision([1, np.nan], [0, 1])
    with pytest.raises(ValueError, match=r"Received: \(2,\), \(3,\)"):
        average_precision([1, 2], [0, 1, 1])
