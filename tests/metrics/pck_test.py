"""PCK by hand, with every way to normalise."""

import numpy as np
import pytest

from anchornet_tf.metrics.pck import correct_points, pck, reference_length


def test_by_hand():
    true = np.array([[0, 0], [10, 0], [0, 20], [30, 30]])
    predicted = true + [[0, 0], [3, 4], [0, 2], [6, 8]]  # errors 0, 5, 2, 10
    np.testing.assert_allclose(pck(predicted, true, 50.0, (0.05, 0.1, 0.2)), [0.5, 0.5, 0.75])


def test_the_threshold_itself_is_not_correct():
    assert pck([[5, 0]], [[0, 0]], 100.0, [0.05])[0] == 0
    assert pck([[4.999, 0]], [[0, 0]], 100.0, [0.05])[0] == 1


def test_reference_lengths():
    assert reference_length("image", image_size=(100, 150)) == 150
    assert reference_length("bbox", box=(10, 20, 50, 90)) == 70
    assert reference_length("bbox_kp", points=[[1, 2], [31, 12], [5, 40]]) == 38


def test_bad_input():
    with pytest.raises(ValueError, match="Received: 'box'"):
        reference_length("box")
    with pytest.raises(ValueError, match="Received: None"):
        reference_length("bbox", image_size=(3, 4))
    with pytest.raises(ValueError, match="positive size"):
        reference_length("bbox_kp", points=[[1, 2]])
    with pytest.raises(ValueError, match=r"Received: \(0, 2\)"):
        pck(np.zeros((0, 2)), np.zeros((0, 2)), 1.0, [0.1])


def test_an_inclusive_threshold_counts_itself():
    assert pck([[5, 0]], [[0, 0]], 100.0, [0.05], inclusive=True)[0] == 1


def test_the_padded_box_reaches_to_the_corner_and_inflates():
    points = [[101, 52], [131, 62], [105, 90]]
    assert reference_length("bbox_kp_padded", points=points) == 132
    assert reference_length("bbox_kp_padded", points=points) > reference_length(
        "bbox_kp", points=points
    )


def test_points_without_a_match_are_wrong():
    correct = correct_points([1.0, np.inf], 10.0, (0.2, 100.0))
    np.testing.assert_array_equal(correct, [[True, True], [False, False]])
