"""Tests of NAM, PHM and LOM against the published program's output and plain versions of them."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.features.box_features import normalize_descriptors
from anchornet_tf.features.hog import box_hog
from anchornet_tf.features.hog_background import HogBackground
from anchornet_tf.matchers import box_matching
from tests.shared_data import shared_path


def _golden():
    golden = dict(np.load(shared_path("golden/pf__tiny_pf.npz")))
    golden["boxesA"] -= 1
    golden["boxesB"] -= 1
    sizes = [tuple(golden[name].astype(int).ravel()) for name in ("sizeA", "sizeB")]
    return golden, sizes


def _random_problem(count=30, target_count=35, seed=0):
    rng = np.random.default_rng(seed)
    sets = []
    for number in (count, target_count):
        corners = rng.integers(0, (100, 80), (number, 2, 2))
        boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1) + 3], axis=1)
        sets.append(boxes.astype(float))
    return rng.uniform(-0.3, 1, (count, target_count)).clip(0).astype(np.float32), *sets


def _assert_equals(confidence, expected):
    # Dot products close to zero carry an absolute error of float32.
    np.testing.assert_allclose(confidence, expected, rtol=1e-5, atol=1e-6 * expected.max())
    np.testing.assert_array_equal(confidence.argmax(axis=1), expected.argmax(axis=1))


@pytest.mark.parametrize(("suffix", "aspect_filter"), [("", True), ("_noaspect", False)])
def test_all_three_equal_the_golden_file(suffix, aspect_filter):
    golden, (source_size, target_size) = _golden()
    boxes = golden["boxesA"], golden["boxesB"]
    similarity = box_matching.box_similarity(golden["descA"], golden["descB"])
    appearance = box_matching.naive_appearance_matching(similarity, *boxes, aspect_filter)
    _assert_equals(appearance, golden["NAM" + suffix])
    hough = box_matching.probabilistic_hough_matching(appearance, *boxes, source_size, target_size)
    _assert_equals(hough, golden["PHM" + suffix])
    offsets = box_matching.local_offset_matching(appearance, *boxes, "published")
    _assert_equals(offsets, golden["LOM" + suffix])


def test_a_pair_of_photographs_is_matched_as_in_the_golden_file():
    golden = np.load(shared_path("golden/pf__car_pair_boxes.npz"))
    statistics = np.load(shared_path("golden/feat__tiny_hog.npz"))
    covariance = np.zeros((15, 15, 31, 31))
    for index, (dx, dy) in enumerate(statistics["bg_dxy"].astype(int)):
        covariance[7 + dy, 7 + dx] = statistics["bg_cov"][:, :, index]
        covariance[7 - dy, 7 - dx] = statistics["bg_cov"][:, :, index].T
    background = HogBackground(statistics["bg_neg"][:, 0], covariance)
    cells, boxes = [], [golden["boxesA"] - 1, golden["boxesB"] - 1]
    for name, image_boxes in zip(("Cars_008a", "Cars_014b"), boxes, strict=True):
        path = shared_path(f"data/pf-willow/car(S)/{name}.png")
        image = np.array(PIL.Image.open(path).convert("RGB"))
        cells.append(box_hog(image, image_boxes, reference=True))
    flat = [image_cells.reshape(len(image_cells), -1) for image_cells in cells]
    descriptors = {
        "HOG": [background.whiten(image_cells) for image_cells in cells],
        "DOT": normalize_descriptors(*flat),
    }
    sizes = tuple(golden["sizeA"]), tuple(golden["sizeB"])
    for kind, pair in descriptors.items():
        similarity = box_matching.box_similarity(*pair)
        appearance = box_matching.naive_appearance_matching(similarity, *boxes)
        results = {
            "NAM": appearance,
            "PHM": box_matching.probabilistic_hough_matching(appearance, *boxes, *sizes),
            "LOM": box_matching.local_offset_matching(appearance, *boxes, "published"),
        }
        for algorithm, confidence in results.items():
            best, best_confidence = box_matching.best_matches(confidence)
            expected = golden[f"confidence_{kind}_{algorithm}"]
            # A few pixels of the crops are rounded differently, see the test of box_hog.
            assert (best == golden[f"match_{kind}_{algorithm}"]).mean() > 0.98
            assert np.median(np.abs(best_confidence / expected - 1)) < 2e-3


def test_hough_votes_equal_a_plain_version():
    similarity, source, target = _random_problem()
    size, target_size = (84, 104), (90, 95)
    appearance = box_matching.naive_appearance_matching(similarity, source, target)
    bins, shape = box_matching._hough_bins(source, target, size, target_size)
    votes = np.zeros(np.prod(shape))
    for row in range(len(source)):
        best = {}
        for column in range(len(target)):
            place = bins[row, column]
            if place >= 0:
                best[place] = max(best.get(place, 0), appearance[row, column])
        for place, vote in best.items():
            votes[place] += vote
    votes = np.pad(votes.reshape(shape), 2)
    offsets = np.arange(-2, 3)
    kernel = np.exp(-sum(o**2 for o in np.meshgrid(*[offsets] * 3)) / 2 / (5 / 2 / 2.354) ** 2)
    kernel /= kernel.sum()
    confidence = box_matching.probabilistic_hough_matching(
        appearance, source, target, size, target_size
    )
    for row in range(len(source)):
        for column in range(len(target)):
            expected = 0.0
            if bins[row, column] >= 0:
                y, x, s = np.unravel_index(bins[row, column], shape)
                expected = (votes[y : y + 5, x : x + 5, s : s + 5] * kernel).sum()
            expected *= appearance[row, column]
            np.testing.assert_allclose(confidence[row, column], expected, rtol=1e-4, atol=1e-7)


def _plain_offset_matching(similarity, source, target, in_order):
    """The formulas of LOM, box by box."""
    confidence, result = similarity.astype(np.float64), similarity.astype(np.float64)
    if in_order:
        confidence = result
    centers, target_centers = ((b[:, :2] + b[:, 2:]) / 2 for b in (source, target))
    areas, target_areas = ((b[:, 2:] - b[:, :2]).prod(axis=1) / 4 for b in (source, target))
    for row in range(len(source)):
        best = confidence.argmax(axis=1)
        offsets = np.column_stack([centers - target_centers[best], areas / target_areas[best]])
        low, high = (
            np.maximum(source[row, :2], source[:, :2]),
            np.minimum(source[row, 2:], source[:, 2:]),
        )
        near = (high >= low).all(axis=1)
        median = np.median(offsets[near], axis=0)
        weight = confidence.max(axis=1)[near].sum() / confidence.max(axis=1).sum()
        own = np.column_stack([centers[row] - target_centers, areas[row] / target_areas]) - median
        affinity = np.exp(-0.05 * np.hypot(own[:, 0], own[:, 1]) - 0.3 * np.abs(own[:, 2]))
        result[row] = similarity[row] * affinity * weight
    return result


@pytest.mark.parametrize(("variant", "in_order"), [("ordered", True), ("parallel", False)])
def test_offsets_equal_the_plain_formulas(variant, in_order):
    similarity, source, target = _random_problem()
    confidence = box_matching.local_offset_matching(similarity, source, target, variant)
    assert confidence.dtype == np.float32
    expected = _plain_offset_matching(similarity, source, target, in_order)
    np.testing.assert_allclose(confidence, expected, rtol=1e-4, atol=1e-9)


def test_medians_of_subsets():
    rng = np.random.default_rng(0)
    values, masks = rng.integers(0, 9, 21).astype(float), rng.random((40, 21)) > 0.5
    masks[:, 0] = True
    expected = [np.median(values[mask]) for mask in masks]
    np.testing.assert_array_equal(box_matching._masked_medians(values, masks), expected)
    for count in (1, 2, 5, 8):
        offsets = rng.normal(size=(3, count))
        np.testing.assert_allclose(box_matching._median(offsets), np.median(offsets, axis=1))


def test_published_median_stays_where_it_starts():
    offsets = np.array([[1.0, 20, 20, 20], [5, 20, 20, 20], [0.5, 20, 20, 20]])
    median = box_matching._published_median(offsets)
    np.testing.assert_allclose(median[1:], 20, atol=1e-6)
    assert median[0] < 15


def test_aspect_filter_by_hand():
    source = [[0, 0, 20, 10]]  # aspect 2
    target = [[0, 0, 10, 10], [0, 0, 11, 10], [0, 0, 40, 10], [0, 0, 39, 10]]  # 1, 1.1, 4, 3.9
    ones = np.ones((1, 4))
    kept = box_matching.naive_appearance_matching(ones, source, target)
    np.testing.assert_array_equal(kept, [[0, 1, 0, 1]])
    kept = box_matching.naive_appearance_matching(ones, source, target, aspect_filter=False)
    np.testing.assert_array_equal(kept, ones)


@pytest.mark.parametrize("algorithm", ["phm", "ordered", "published", "parallel"])
def test_degenerate_empty_and_hopeless_input(algorithm):
    def match(similarity, source, target):
        appearance = box_matching.naive_appearance_matching(similarity, source, target)
        if algorithm == "phm":
            return box_matching.probabilistic_hough_matching(
                appearance, source, target, (60, 60), (60, 60)
            )
        return box_matching.local_offset_matching(appearance, source, target, algorithm)

    box, line, point = [5, 5, 40, 30], [5, 5, 5, 30], [7, 7, 7, 7]
    boxes = np.array([box, line, point, [-50, -50, -10, -20]])
    confidence = match(np.ones((4, 4)), boxes, boxes)
    assert np.isfinite(confidence).all()
    assert (confidence[1:3] == 0).all() and (confidence[:, 1:3] == 0).all()
    one = match(np.ones((1, 1)), [box], [box])
    assert one.shape == (1, 1) and one[0, 0] > 0
    assert match(np.zeros((0, 1)), [], [box]).shape == (0, 1)
    assert match(np.zeros((1, 0)), [box], []).shape == (1, 0)
    np.testing.assert_array_equal(match(np.zeros((4, 4)), boxes, boxes), 0)


def test_matches_are_the_first_best():
    best, confidence = box_matching.best_matches(np.array([[0, 3, 3], [0, 0, 0], [1, 0, 2]]))
    np.testing.assert_array_equal(best, [1, 0, 2])
    np.testing.assert_array_equal(confidence, [3, 0, 2])


def test_bad_shapes_are_refused():
    boxes = np.array([[0, 0, 5, 5]])
    with pytest.raises(ValueError, match="one depth"):
        box_matching.box_similarity(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"shape \(1, 1\)"):
        box_matching.naive_appearance_matching(np.zeros((2, 1)), boxes, boxes)
    with pytest.raises(ValueError, match="`variant` must be one of"):
        box_matching.local_offset_matching(np.zeros((1, 1)), boxes, boxes, "best")
