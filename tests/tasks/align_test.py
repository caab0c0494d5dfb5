"""Aligning images: drawn ones under known shifts, sizes that differ, and wrong input."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf import Flow, Matcher
from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.annotated.annotation import Annotation, Protocol
from anchornet_tf.runner.align_scores import alignment_scores
from anchornet_tf.tasks.align import align
from anchornet_tf.tasks.aligned import AlignedImages
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings

SHIFTS = ((0, 0), (4, 2), (-3, 5), (2, -4), (-5, -3))
SIDE = 48


@pytest.fixture(scope="module")
def shifted():
    """One drawn car under known shifts (dy, dx), cut out of a larger picture."""
    drawn = PIL.Image.fromarray(parts_world.draw("car", 3).image).resize((72, 72))
    drawn = np.asarray(drawn)
    return [drawn[12 - dy : 12 - dy + SIDE, 12 - dx : 12 - dx + SIDE] for dy, dx in SHIFTS]


@pytest.fixture(scope="module")
def aligned(shifted):
    return align(shifted, "sift", "nearest", max_side=SIDE)


def _errors(aligned, pair):
    """Distances of the flow of a pair from the true shift, away from the border."""
    true = np.subtract(SHIFTS[pair[1]], SHIFTS[pair[0]])
    inner = slice(12, SIDE - 12)
    return np.linalg.norm(aligned[pair].displacement[inner, inner] - true, axis=-1)


def test_known_shifts_are_found(shifted, aligned):
    assert aligned.size == (SIDE, SIDE) and len(aligned) == len(SHIFTS)
    before = align(
        shifted, "sift", "nearest", max_side=SIDE, settings=FlowWebSettings(iterations=0)
    )
    assert before.objective == aligned.objective[:1]
    assert aligned.objective[-1] > before.objective[-1]
    wrong = [
        np.mean([(_errors(one, (0, n)) > 2).mean() for n in range(1, 5)])
        for one in (before, aligned)
    ]
    assert wrong[1] <= wrong[0] and wrong[1] < 0.05
    flow = aligned[0, 3]
    assert flow.shape == flow.target_size == (SIDE, SIDE)
    assert 0 < flow.confidence.mean() <= 1 and flow.confidence.max() <= 1


def test_cycles_get_more_consistent(shifted):
    """Spoilt flows, as a poor matcher would give them."""
    rng = np.random.default_rng(0)
    flows = {}
    for i in range(len(SHIFTS)):
        for j in range(len(SHIFTS)):
            true = np.broadcast_to(np.subtract(SHIFTS[j], SHIFTS[i]), (SIDE, SIDE, 2))
            spoilt = rng.random((SIDE, SIDE, 1)) < 0.35
            noise = rng.integers(-20, 20, (SIDE, SIDE, 2))
            flows[i, j] = Flow(np.where(spoilt, noise, true), (SIDE, SIDE))
    aligned = align(shifted, flows=flows, max_side=SIDE)
    assert aligned.objective[-1] > 2 * aligned.objective[0]
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    wrong = np.mean([(_errors(aligned, pair) > 2).mean() for pair in pairs])
    assert wrong < 0.15  # 0.35 before

    def around(find):
        there, on, back = find(0, 1), find(1, 2), find(2, 0)
        points = np.stack(np.meshgrid(np.arange(14, 34), np.arange(14, 34)), -1).reshape(-1, 2)
        ends = points.astype(np.float32)
        for flow in (there, on, back):
            ends = flow.transfer_points(ends, rounded=True, outside="nearest")
        return np.nanmean(np.linalg.norm(ends - points, axis=1) <= 2)

    assert around(lambda i, j: aligned[i, j]) > around(lambda i, j: flows[i, j]) + 0.2
    # What is sure is right more often, even before anything is changed.
    before = align(shifted, flows=flows, max_side=SIDE, settings=FlowWebSettings(iterations=0))
    sure = np.concatenate([before[p].confidence[12:-12, 12:-12].ravel() for p in pairs])
    right = np.concatenate([_errors(before, p).ravel() <= 2 for p in pairs])
    assert sure[right].mean() > 10 * sure[~right].mean()


def test_equal_images_stay(shifted):
    aligned = align([shifted[0]] * 4, "sift", "nearest", max_side=SIDE)
    for pair in ((0, 1), (3, 2), (1, 1)):
        assert np.abs(aligned[pair].displacement).max() == 0
        assert aligned[pair].confidence.min() == 1


def test_sizes_may_differ(shifted):
    images = [
        np.asarray(PIL.Image.fromarray(image).resize(size))
        for image, size in zip(shifted, [(48, 48), (96, 96), (72, 60), (48, 48)], strict=False)
    ]
    aligned = align(images, "sift", "nearest", max_side=40)
    assert aligned.size == (40, 40)
    flow = aligned[0, 1]
    assert flow.shape == (48, 48) and flow.target_size == (96, 96)
    moved = flow.transfer_points([[24, 24]])[0]
    dy, dx = SHIFTS[1]
    assert np.linalg.norm(moved - [2 * (24 + dx) + 0.5, 2 * (24 + dy) + 0.5]) < 6
    assert aligned[1, 2].target_size == (60, 72)


def test_the_common_size_has_the_usual_shape(shifted):
    images = [np.zeros((30, 60, 3), np.uint8) + 9] * 2 + [np.zeros((50, 50, 3), np.uint8)]
    assert align(images, "sift", "none", max_side=20).size == (10, 20)
    assert align(images, "sift", "none").size == (30, 60)  # not enlarged


def test_a_matcher_can_be_given(shifted, aligned):
    found = align(shifted, matcher=Matcher("sift", "nearest"), max_side=SIDE)
    assert found.objective == aligned.objective


def test_few_links(shifted, aligned):
    found = align(shifted, "sift", "nearest", max_side=SIDE, neighbors=2)
    missing = np.argwhere(np.isnan(found.consistency()))
    assert len(missing)
    pair = tuple(int(number) for number in missing[0])
    assert np.median(_errors(found, pair)) <= 3
    complete = align(shifted, "sift", "nearest", max_side=SIDE, neighbors=len(shifted) - 1)
    assert complete.objective == aligned.objective


def test_saving(aligned, tmp_path):
    aligned.save(tmp_path / "flows.npz")
    loaded = AlignedImages.load(tmp_path / "flows.npz")
    assert loaded.objective == aligned.objective and loaded.sizes == aligned.sizes
    np.testing.assert_array_equal(loaded[1, 2].displacement, aligned[1, 2].displacement)
    np.testing.assert_array_equal(loaded[1, 2].confidence, aligned[1, 2].confidence)
    assert loaded.center() == aligned.center()
    with pytest.raises(FileNotFoundError, match="Received: "):
        AlignedImages.load(tmp_path / "nothing.npz")
    (tmp_path / "junk.npz").write_text("junk")
    with pytest.raises(ValueError, match="Received: "):
        AlignedImages.load(tmp_path / "junk.npz")


def test_scores_of_known_shifts(shifted, aligned):
    """Keypoints that move with the car are found, and more of them than without any flow."""
    places = np.array([[20.0, 22], [26, 24], [24, 28]])  # (x, y)
    images = [
        Annotation(
            name=str(n),
            image_key=str(n),
            class_name="car",
            points=places + [dx, dy],
            point_names=("a", "b", "c"),
            visible=np.ones(3, bool),
            load=lambda image=image: image,
        )
        for n, (image, (dy, dx)) in enumerate(zip(shifted, SHIFTS, strict=True))
    ]
    protocol = Protocol(("pck",), ("image",), (0.05,), inclusive=True, length_of="source")
    still = align(shifted, "sift", "none", max_side=SIDE)
    scores = [alignment_scores(one, images, protocol) for one in (still, aligned)]
    assert scores[0]["pairs"] == 20
    assert scores[1]["PCK 0.05"] > 0.9 > scores[0]["PCK 0.05"]


@pytest.mark.parametrize(
    "images, options, message",
    [
        ("photographs", {}, "a list of images"),
        (7, {}, "a list of images"),
        ([np.zeros((9, 9, 3), np.uint8)] * 2, {}, "at least 3 images"),
        ([], {}, "at least 3 images"),
        ([np.zeros((9, 9, 3), np.uint8)] * 3, {"max_side": 2}, "max_side"),
        ([np.zeros((9, 9, 3), np.uint8)] * 3, {"neighbors": 0}, "neighbors"),
        ([np.zeros((9, 9, 3), np.uint8)] * 3, {"flows": {}}, r"none for \(0, 1\)"),
        ([np.zeros((9, 9, 3), np.uint8)] * 3, {"features": "sift", "wrong": 1}, "wrong"),
        (
            [np.zeros((9, 9, 3), np.uint8)] * 3,
            {"flows": {(0, 1): Flow(np.zeros((8, 9, 2)), (9, 9))}},
            r"flows\[0, 1\]",
        ),
    ],
)
def test_wrong_input(images, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        align(images, **options)
    assert "Received: " in str(caught.value)


def test_wrong_pairs(aligned):
    for pair in ((0, 9), "ab", 3, (0, 1, 2)):
        with pytest.raises(IndexError, match="Received: "):
            aligned[pair]


def test_the_program_does_not_hide_the_function(shifted):
    import anchornet_tf.align

    found = anchornet_tf.align(shifted[:3], "sift", "none", max_side=16)
    assert isinstance(found, AlignedImages)
