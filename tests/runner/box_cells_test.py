"""Box matches from shared similarities equal the matcher's own; proposals are found once."""

import numpy as np
import pytest

from anchornet_tf.features import proposals
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.whitened_hog import HogDescriptor
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.runner import box_cells, grid
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.proposal_store import ProposalStore
from tests.runner.made_up import annotation, benchmark

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
    matchers = {name: ProposalFlowMatcher(name, **OPTIONS) for name in ALGORITHMS}
    boxes = [matchers["nam"].propose(image) for image in images]
    boxed = [box_cells.BoxedImage(*each) for each in zip("ab", maps, boxes, strict=True)]
    pair = box_cells.DescriptorMemory(memory_limit=10**9).pair(matchers["nam"], *boxed)
    found = box_cells.match_pair(pair, matchers, images[0], tuple(matchers))
    for algorithm, matcher in matchers.items():
        flow = matcher(*maps, source_image=images[0], target_image=images[1])
        np.testing.assert_allclose(found[algorithm][1].displacement, flow.displacement, atol=1e-5)
        np.testing.assert_allclose(found[algorithm][1].confidence, flow.confidence, rtol=1e-6)
    [(matches, no_flow)] = box_cells.match_pair(
        pair, {"nam": matchers["nam"]}, images[0], ()
    ).values()
    assert no_flow is None
    np.testing.assert_array_equal(matches.best, found["nam"][0].best)


def test_descriptors_are_computed_once_while_they_fit():
    calls = []

    class Own(FeatureMap):
        def describe_boxes(self, boxes):
            calls.append(len(boxes))
            return np.ones((len(boxes), 25), np.float32)

    boxes = np.tile([[0.0, 0, 5, 5]], (10, 1))
    images = {
        name: box_cells.BoxedImage(name, Own(np.zeros((2, 2, 1)), (20, 20)), boxes)
        for name in "abc"
    }
    matcher = ProposalFlowMatcher("nam", **OPTIONS)
    # The second limit has room for two: c replaces a, a replaces b, and b replaces c.
    for limit, expected in ((10**6, 3), (2000, 5)):
        calls.clear()
        descriptors = box_cells.DescriptorMemory(limit)
        for pair in ("ab", "bc", "ca", "ab"):
            boxed = descriptors.pair(matcher, *(images[key] for key in pair))
            np.testing.assert_array_equal(boxed.similarity, np.full((10, 10), 25))
        assert len(calls) == expected


def test_proposals_are_found_once(tmp_path, monkeypatch):
    image = _images()[0]
    matcher = ProposalFlowMatcher("nam", 50, "sliding_window")
    store = ProposalStore(tmp_path)
    first = store.boxes(image, matcher)
    np.testing.assert_array_equal(first, proposals.propose_boxes(image, 50, "sliding_window"))

    def fail(*_):
        raise AssertionError("found again")

    monkeypatch.setattr(proposals, "propose_boxes", fail)
    other = ProposalFlowMatcher("lom", 50, "sliding_window")
    np.testing.assert_array_equal(ProposalStore(tmp_path).boxes(image, other), first)
    store.prepare([image, image], other, None, 2, progress=False)
    with pytest.raises(AssertionError, match="found again"):
        store.boxes(image, ProposalFlowMatcher("nam", 60, "sliding_window"))


@pytest.mark.parametrize("damage", ["half", "empty", "another", "archive"])
def test_damaged_proposals_are_found_again(tmp_path, damage):
    image = _images()[0]
    matcher = ProposalFlowMatcher("nam", 50, "sliding_window")
    first = ProposalStore(tmp_path).boxes(image, matcher)
    (path,) = tmp_path.glob("*.npy")
    whole = path.read_bytes()
    if damage == "another":
        np.save(path, np.zeros(7))
    elif damage == "archive":
        with open(path, "wb") as file:
            np.savez(file, boxes=first)
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "half" else b"")
    np.testing.assert_array_equal(ProposalStore(tmp_path).boxes(image, matcher), first)
    assert path.read_bytes() == whole


def test_proposals_of_many_images(tmp_path):
    images = _images()
    store = ProposalStore(tmp_path)
    matcher = ProposalFlowMatcher("nam", 50, "sliding_window")
    store.prepare([*images, images[0]], matcher, None, 3, progress=False)
    assert len(list(tmp_path.glob("*.npy"))) == 2


def test_automatic_proposals_are_kept_under_the_method_that_is_used(tmp_path, monkeypatch):
    # Boxes from a machine without OpenCV must not be taken for those of selective search.
    for has_it, method in ((False, "sliding_window"), (True, "selective_search")):
        monkeypatch.setattr(proposals, "_has_selective_search", lambda has_it=has_it: has_it)
        assert ProposalFlowMatcher("nam", 9).proposal_options == (method, 9)


def _options_of(matcher, options):
    return {name: value for name, value in options.items() if name in MATCHERS.options(matcher)}


def _run(tmp_path, workers=0, **options):
    """Runs two algorithms and returns the records of their journals."""
    small = benchmark(groups=("one",))
    options = {"num_proposals": 40, "proposal_method": "sliding_window"} | options
    folder = tmp_path / "-".join(str(value) for value in options.values())
    run = grid.Grid(
        small,
        Colours(),
        grid.GridOptions(
            ("hc",),
            ("nam", "lom"),
            num_boxes=35,
            matcher_options={name: _options_of(name, options) for name in ("nam", "lom")},
            workers=workers,
        ),
        folder / f"pairs{workers}",
        ProposalStore(tmp_path / "boxes"),
    )
    cells = run.run(progress=False)
    return [cell.journal.records for cell in cells]


class Colours(Descriptors):
    """Describes pixels by their colours."""

    def check(self, feature, classes):
        pass

    def identity(self, feature):
        return {}

    def describe(self, feature, class_name):
        return lambda images: [
            FeatureMap(image.astype(np.float32) - 127, image.shape[:2]) for image in images
        ]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("num_proposals", 25),
        ("proposal_method", "selective_search"),
        ("num_cells", 2),
        ("centered", False),
        ("smooth", False),
    ],
)
def test_every_option_reaches_what_is_scored(tmp_path, monkeypatch, option, value):
    if value == "selective_search":
        monkeypatch.setattr(proposals, "selective_search", _four_quarters)
    seen = []
    match = box_cells.match_pair

    def spy(pair, matchers, *arguments):
        seen.append((pair, matchers))
        return match(pair, matchers, *arguments)

    monkeypatch.setattr(box_cells, "match_pair", spy)
    default = _run(tmp_path)
    changed = _run(tmp_path, **{option: value})
    (old, _), (new, matchers) = seen[0], seen[-1]
    assert {getattr(matcher, option) for matcher in matchers.values()} == {value}
    assert changed != default
    if option in ("num_proposals", "proposal_method"):
        assert len(old.source_boxes) == 40 and len(new.source_boxes) != 40
    if option in ("num_cells", "centered"):
        assert (old.similarity != new.similarity).any()


def test_processes_get_the_same_options(tmp_path):
    options = {"num_cells": 2, "lom_variant": "parallel", "smooth": False}
    assert _run(tmp_path, **options) == _run(tmp_path, workers=1, **options)
    assert _run(tmp_path, **options) != _run(tmp_path)


def _four_quarters(image):
    """Stands in for selective search: 20 x 20 pixel boxes at several places in each quarter."""
    height, width = image.shape[:2]
    corners = np.array([[x, y] for x in range(2, width - 22, 8) for y in range(2, height - 22, 8)])
    return np.concatenate([corners, corners + 19], axis=1).astype(float)
