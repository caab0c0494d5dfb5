"""Tests of the Proposal Flow matcher from features to flow."""

import pickle

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.features import proposals
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.whitened_hog import HogDescriptor
from anchornet_tf.matchers.box_pair import BoxMatches, BoxPair
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher
from tests.shared_data import shared_path

_SIZE = (60, 80)


def _image(size=_SIZE, seed=0):
    """Smooth random colours: distinct everywhere, and stable under resampling."""
    small = np.random.default_rng(seed).integers(0, 256, (9, 12, 3)).astype(np.uint8)
    return np.array(PIL.Image.fromarray(small).resize(size[::-1], PIL.Image.Resampling.BICUBIC))


def _features(image):
    return FeatureMap(image.astype(np.float32), image.shape[:2])


def _windows(size=_SIZE, count=150):
    return proposals.propose_boxes(np.zeros((*size, 3), np.uint8), count, "sliding_window")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_identical_images_have_no_flow(algorithm):
    image = _image()
    matcher = ProposalFlowMatcher(algorithm, num_proposals=150, proposal_method="sliding_window")
    flow = matcher(_features(image), _features(image), source_image=image, target_image=image)
    assert flow.valid.all() and (flow.confidence > 0).all()
    np.testing.assert_allclose(flow.displacement, 0, atol=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_shifted_image_gives_the_shift(algorithm):
    scene = _image((70, 95))
    source, target = scene[4:64, 6:86], scene[1:61, 1:81]  # the target shows things at (+3, +5)
    boxes = _windows()[1:]
    shifted = boxes + [5, 3, 5, 3]
    inside = (shifted[:, 2] < 80) & (shifted[:, 3] < 60)
    flow = ProposalFlowMatcher(algorithm)(
        _features(source),
        _features(target),
        source_image=source,
        source_boxes=boxes,
        target_boxes=shifted[inside],
    )
    middle = flow.displacement[15:45, 15:60].reshape(-1, 2)
    np.testing.assert_allclose(np.median(middle, axis=0), [3, 5], atol=0.05)


def test_a_mirrored_pair_gives_the_mirrored_flow():
    source, target = _image(seed=1), _image((50, 70), seed=2)
    boxes, target_boxes = _windows(), _windows((50, 70))

    def mirrored(image, image_boxes):
        last = image.shape[1] - 1
        x1, y1, x2, y2 = image_boxes.T
        return image[:, ::-1], np.stack([last - x2, y1, last - x1, y2], axis=1)

    def match(source, boxes, target, target_boxes):
        return ProposalFlowMatcher("nam", smooth=False)(
            _features(source),
            _features(target),
            source_image=source,
            source_boxes=boxes,
            target_boxes=target_boxes,
        )

    flow = match(source, boxes, target, target_boxes)
    back = match(*mirrored(source, boxes), *mirrored(target, target_boxes))
    # Halves are rounded to the right in both, which moves ties by one pixel.
    expected = flow.target_positions() * [1, -1] + [0, 69]
    found = back.target_positions()[:, ::-1]
    assert np.abs(found - expected).max() <= 1
    np.testing.assert_allclose(back.confidence[:, ::-1], flow.confidence, rtol=1e-4)


@pytest.mark.parametrize("smooth", [True, False])
def test_flow_stays_inside_the_target_and_is_one_to_one(smooth):
    source, target = _image(seed=3), _image((40, 100), seed=4)
    flow = ProposalFlowMatcher("lom", 120, "sliding_window", smooth=smooth)(
        _features(source), _features(target), source_image=source, target_image=target
    )
    assert flow.shape == _SIZE and flow.target_size == (40, 100)
    places = flow.target_positions()
    assert places.min() >= 0 and (places.max(axis=(0, 1)) <= (39.0001, 99.0001)).all()
    assert flow.lands_inside()[flow.valid].all()
    if not smooth:
        taken = places[flow.valid]
        assert len(np.unique(taken, axis=0)) == len(taken)
        assert not flow.valid.all()


def test_whitened_hog_describes_boxes_from_the_image():
    image = _image()
    features = HogDescriptor()([image])[0]
    matcher = ProposalFlowMatcher("lom", 80, "sliding_window")
    flow = matcher(features, features, source_image=image, target_image=image)
    np.testing.assert_allclose(flow.displacement, 0, atol=1e-6)


def test_features_alone_are_enough():
    flow = ProposalFlowMatcher("phm", 100)(_features(_image()), _features(_image()))
    np.testing.assert_allclose(flow.displacement, 0, atol=1e-6)


def test_proposals_of_an_image_are_made_once(monkeypatch):
    calls, boxes = [], _windows(count=20)

    def counted(image, *arguments):
        calls.append(image)
        return boxes

    monkeypatch.setattr(proposals, "propose_boxes", counted)
    matcher = ProposalFlowMatcher("nam", 20)
    first, second = _image(), _image(seed=5)
    for _ in range(2):
        matcher(_features(first), _features(second), source_image=first, target_image=second.copy())
    assert len(calls) == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kind", ["map", "hog"])
def test_constant_images_give_a_finite_flow(algorithm, kind):
    image = np.full((*_SIZE, 3), 90, np.uint8)
    features = _features(image) if kind == "map" else HogDescriptor()([image])[0]
    flow = ProposalFlowMatcher(algorithm, 60, "sliding_window")(
        features, features, source_image=image, target_image=image
    )
    assert flow.valid.all()
    assert np.isfinite(flow.displacement).all() and np.isfinite(flow.confidence).all()
    if kind == "map":  # Boxes equal their mean: they have no match, and pixels keep their places.
        assert not flow.displacement.any() and not flow.confidence.any()


@pytest.mark.parametrize("smooth", [True, False])
def test_no_match_is_said(caplog, smooth):
    source, target = (
        FeatureMap(np.ones((4, 4, 3)), (40, 60)),
        FeatureMap(np.ones((4, 4, 3)), (80, 60)),
    )
    flow = ProposalFlowMatcher("nam", 50, smooth=smooth)(source, target)
    assert "nam found no match between" in caplog.text
    assert ("not valid anywhere" in caplog.text) == (not smooth)
    assert (flow.valid == smooth).all() and not flow.confidence.any()
    # The same relative place: rows of the target are twice as many.
    np.testing.assert_allclose(flow.target_positions()[10, 20], [20.5, 20])
    assert flow.lands_inside().all() == smooth


def test_steps_by_hand_equal_the_call():
    source, target = _image(seed=3), _image((50, 70), seed=4)
    maps = _features(source), _features(target)
    matcher = ProposalFlowMatcher("lom", 120, "sliding_window", num_cells=3, centered=False)
    boxes = matcher.propose(source), matcher.propose(None, (50, 70))
    descriptors = [matcher.describe(*each) for each in zip(maps, boxes, strict=True)]
    assert descriptors[0].values.shape[1] == 3 * 3 * 3
    similarity = matcher.similarity(*descriptors)
    pair = BoxPair(similarity, *boxes, _SIZE, (50, 70))
    flow = matcher.flow(pair, matcher.match_boxes(pair), source)
    expected = matcher(*maps, source_image=source, target_image=target)
    np.testing.assert_array_equal(flow.displacement, expected.displacement)
    np.testing.assert_array_equal(flow.confidence, expected.confidence)


def test_another_process_gets_the_options_without_what_is_remembered():
    matcher = ProposalFlowMatcher("phm", 30, "sliding_window", aspect_filter=False, smooth=False)
    boxes = matcher.propose(_image())
    assert len(pickle.dumps(matcher)) < boxes.nbytes
    copy = pickle.loads(pickle.dumps(matcher))
    options = {name: value for name, value in vars(matcher).items() if name != "_remembered"}
    assert {name: getattr(copy, name) for name in options} == options
    np.testing.assert_array_equal(copy.propose(_image()), boxes)


def test_one_box_no_box_and_boxes_off_the_image():
    image = _image()
    features = _features(image)
    box, far = np.array([[10, 10, 40, 40]]), np.array([[200, 200, 260, 260]])
    # A single box equals the mean of the pair, so that it must not be centred.
    matcher = ProposalFlowMatcher("lom", smooth=False, centered=False)
    one = matcher(features, features, source_boxes=box, target_boxes=box)
    np.testing.assert_array_equal(one.valid[10:41, 10:41], True)
    assert one.valid.sum() == 31 * 31 and not one.displacement.any()
    # Boxes off the image have matches, but no pixels.
    for source_boxes, target_boxes in ((np.zeros((0, 4)), box), (box, []), (far, box)):
        flow = matcher(features, features, source_boxes=source_boxes, target_boxes=target_boxes)
        assert not flow.valid.any() and not flow.displacement.any()
    filled = ProposalFlowMatcher("lom", centered=False)(
        features, features, source_image=image, source_boxes=box, target_boxes=box
    )
    assert filled.valid.all()
    np.testing.assert_allclose(filled.displacement, 0, atol=1e-9)


def test_bad_input_is_refused():
    features = _features(_image())
    with pytest.raises(ValueError, match="`algorithm` must be one of"):
        ProposalFlowMatcher("best")
    with pytest.raises(ValueError, match="`num_proposals` must be"):
        ProposalFlowMatcher(num_proposals=0)
    with pytest.raises(ValueError, match="`num_cells` must be"):
        ProposalFlowMatcher(num_cells=0)
    with pytest.raises(ValueError, match="`proposal_method` must be"):
        ProposalFlowMatcher(proposal_method="magic")
    with pytest.raises(ValueError, match="`lom_variant` must be"):
        ProposalFlowMatcher(lom_variant="best")
    matcher = ProposalFlowMatcher(num_proposals=20, proposal_method="sliding_window")
    with pytest.raises(ValueError, match="one kind and depth"):
        matcher(features, FeatureMap(np.ones((4, 4, 5)), _SIZE))
    with pytest.raises(ValueError, match="one kind and depth"):
        [hog] = HogDescriptor()([_image()])
        matcher(FeatureMap(np.ones((4, 4, 31)), _SIZE), hog)
    with pytest.raises(ValueError, match="`source_image` must have shape"):
        matcher(features, features, source_image=_image((30, 30)))
    with pytest.raises(ValueError, match="x1 <= x2"):
        matcher(features, features, source_boxes=[[9, 0, 3, 5]])


def _photographs():
    golden = np.load(shared_path("golden/pf__car_pair_boxes.npz"))
    images = []
    for name in ("Cars_008a", "Cars_014b"):
        path = shared_path(f"data/pf-willow/car(S)/{name}.png")
        images.append(np.array(PIL.Image.open(path).convert("RGB")))
    return golden, images


def _keypoint_errors(flow, golden):
    """Errors relative to the larger side of the keypoints' box, as PF-WILLOW is evaluated."""
    points, truth = golden["ptsA"].T - 1, golden["ptsB"].T - 1
    moved = flow.transfer_points(points, rounded=True)
    return np.linalg.norm(moved - truth, axis=1) / np.ptp(truth, axis=0).max()


def test_published_matches_give_the_published_keypoint_accuracy():
    golden, images = _photographs()
    boxes = golden["boxesA"] - 1, golden["boxesB"] - 1
    sizes = [image.shape[:2] for image in images]
    matches = BoxMatches(golden["match_HOG_LOM"], golden["confidence_HOG_LOM"])
    pair = BoxPair(np.zeros((500, 500), np.float32), *boxes, *sizes)
    flow = ProposalFlowMatcher("lom").flow(pair, matches, images[0])
    errors = _keypoint_errors(flow, golden)
    accuracy = [(errors < threshold).mean() for threshold in (0.05, 0.1, 0.2)]
    assert accuracy == [0.6, 0.9, 1.0]


@pytest.mark.slow
def test_whitened_hog_matches_a_pair_of_photographs():
    golden, images = _photographs()
    matcher = ProposalFlowMatcher("lom")
    flow = matcher(
        *HogDescriptor()(images),
        source_image=images[0],
        source_boxes=golden["boxesA"] - 1,
        target_boxes=golden["boxesB"] - 1,
    )
    # No displacement at all has a mean error of 0.16.
    assert _keypoint_errors(flow, golden).mean() < 0.075
