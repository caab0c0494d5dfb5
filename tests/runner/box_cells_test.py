"""Box matches from shared similarities equal those of the matcher itself; proposals are found once."""

import numpy as np
import pytest

from anchornet_tf.features import proposals
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.whitened_hog import HogDescriptor
from anchornet_tf.matchers import box_matching
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher
from anchornet_tf.runner import box_cells
from anchornet_tf.runner.proposal_store import ProposalStore
from tests.runner.made_up import annotation

OPTIONS = {"num_proposals": 60, "proposal_method": "sliding_window"}


def _images():
    return [
        np.kron(annotation("a", (i, 0)).read_image(), np.ones((2, 2, 1), np.uint8)) for i in (0, 3)
    ]


def _maps(kind, images):
    if kind == "hog":
        return HogDescriptor()(images)
    rng = np.random.default_rng(0)
    return [FeatureMap(rng.uniform(size=(10, 15, 6)), image.shape[:2]) for image in images]


@pytest.mark.parametrize("kind", ["hog", "map"])
def test_matches_and_flow_equal_the_matchers_own(kind):
    images = _images()
    maps = _maps(kind, images)
    boxes = [proposals.propose_boxes(image, 60, "sliding_window") for image in images]
    descriptors = box_cells.BoxDescriptors(memory_limit=10**9)
    similarity = descriptors.similarity(("a", maps[0], boxes[0]), ("b", maps[1], boxes[1]))
    task = box_cells.BoxPair(similarity, *boxes, images[0], images[1].shape[:2])
    found = box_cells.match_algorithms(task, ALGORITHMS, True, OPTIONS)
    for algorithm in ALGORITHMS:
        matcher = ProposalFlowMatcher(algorithm, **OPTIONS)
        confidence = matcher.box_confidence(*maps, *boxes)
        best, best_confidence = box_matching.match_boxes(confidence)
        np.testing.assert_array_equal(found[algorithm].best, best)
        np.testing.assert_allclose(found[algorithm].confidence, best_confidence, rtol=1e-6)
        flow = matcher(*maps, source_image=images[0], target_image=images[1])
        np.testing.assert_allclose(found[algorithm].flow.displacement, flow.displacement, atol=1e-5)
    without = box_cells.match_algorithms(task, ["nam"], False, OPTIONS)
    assert without["nam"].flow is None


def test_descriptors_are_computed_once_while_they_fit():
    calls = []

    class Own(FeatureMap):
        def describe_boxes(self, boxes):
            calls.append(len(boxes))
            return np.ones((len(boxes), 25), np.float32)

    maps = {name: Own(np.zeros((2, 2, 1)), (20, 20)) for name in "abc"}
    boxes = np.tile([[0.0, 0, 5, 5]], (10, 1))
    # With room for two, c pushes out a, then a pushes out b: five in all.
    for limit, expected in ((10**6, 3), (2000, 5)):
        calls.clear()
        descriptors = box_cells.BoxDescriptors(limit)
        for pair in ("ab", "bc", "ca", "ab"):
            similarity = descriptors.similarity(*((key, maps[key], boxes) for key in pair))
            np.testing.assert_array_equal(similarity, np.full((10, 10), 25))
        assert len(calls) == expected


def test_proposals_are_found_once(tmp_path, monkeypatch):
    image = _images()[0]
    store = ProposalStore(tmp_path, 50, "sliding_window")
    first = store.boxes(image)
    np.testing.assert_array_equal(first, proposals.propose_boxes(image, 50, "sliding_window"))

    def fail(*_):
        raise AssertionError("found again")

    monkeypatch.setattr(proposals, "propose_boxes", fail)
    np.testing.assert_array_equal(ProposalStore(tmp_path, 50, "sliding_window").boxes(image), first)
    store.prepare([image, image], None, 2, progress=False)
    with pytest.raises(AssertionError, match="found again"):
        ProposalStore(tmp_path, 60, "sliding_window").boxes(image)


def test_proposals_of_many_images(tmp_path):
    images = _images()
    store = ProposalStore(tmp_path, 50, "sliding_window")
    store.prepare([*images, images[0]], None, 3, progress=False)
    assert len(list(tmp_path.glob("*.npy"))) == 2
