"""An exported model that looks twice matches as `Matcher(look_twice=...)` does, and says so."""

import json

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import AnchorNet, Matcher
from anchornet_tf.datasets import parts_world
from anchornet_tf.features.object_probe import GRID, ObjectProbe, directions_and_lengths
from anchornet_tf.matchers import evidence, hough
from anchornet_tf.matchers.confidence import Calibration, Confidence, confidence_of
from anchornet_tf.models import folding
from export import archive, graph_closer_look, graph_flow, model_card
from export.servable import Servable
from tests.export.agreement import assert_confidences_agree, assert_flows_agree

LOOK_TWICE = 96


def _framed(image, top, left, height, width):
    """Returns an image that is bright inside a frame, and dark noise outside."""
    framed = np.random.default_rng(0).integers(0, 30, image.shape).astype(np.uint8)
    place = slice(top, top + height), slice(left, left + width)
    framed[place] = image[place] // 2 + 128
    return framed


@pytest.fixture(scope="module")
def source(image_a):
    return _framed(image_a, 15, 30, 36, 40)


@pytest.fixture(scope="module")
def target(image_b):
    return _framed(image_b, 50, 15, 45, 40)


@pytest.fixture(scope="module")
def focused_model(model, source, target):
    """A small model that knows what is inside a frame, with calibrations of random weights."""
    focused = AnchorNet(**model.options(), weights=model.backbone)
    focused.set_weights(model.get_weights())
    directions, bright = [], []
    for image in (source, target):
        maps = focused(tf.image.resize(image[None], focused.image_size, antialias=True))
        directions.append(directions_and_lengths(maps)[0][0])
        grey = tf.reduce_mean(tf.cast(image, tf.float32), axis=-1, keepdims=True)
        bright.append(np.ravel(tf.image.resize(grey, GRID, antialias=True)) > 80)
    cells = np.concatenate(directions)
    cells = np.concatenate([cells, np.ones((len(cells), 1))], axis=-1)
    weights = 30 * np.linalg.lstsq(cells, np.concatenate(bright) - 0.5)[0].astype(np.float32)
    probe = ObjectProbe(*map(tf.constant, (weights[:-1], np.float32(0), weights[-1])))
    rng = np.random.default_rng(5)

    def calibration(count):
        parts = rng.normal(size=count), rng.uniform(1, 2, count), rng.normal(0, 0.2, count)
        return Calibration(*(part.astype(np.float32) for part in parts), 0.5, -1.0)

    counts = {"nearest": len(evidence.NAMES), "hough": len(evidence.NAMES) + len(hough.EVIDENCE)}
    calibrations = {name: calibration(count) for name, count in counts.items()}
    focused.confidence = Confidence(calibrations, probe).contents()
    return focused


@pytest.fixture(scope="module", params=["hough", "nearest"])
def both(request, focused_model, tmp_path_factory):
    """The same model twice: as a SavedModel, and as a `Matcher`; and the folder of the first."""
    folder = archive.save(
        focused_model,
        tmp_path_factory.mktemp("twice"),
        matcher=request.param,
        look_twice=LOOK_TWICE,
    )
    options = {"image_size": focused_model.image_size, "look_twice": LOOK_TWICE}
    matcher = Matcher("anchornet", request.param, model=focused_model, **options)
    return tf.saved_model.load(str(folder)), matcher, folder


def _pairs(source, target, batch):
    sources = [source, source[:, ::-1], source[::-1]]
    targets = [target, target[::-1], target[:, ::-1]]
    return np.stack(sources[:batch]), np.stack(targets[:batch])


@pytest.mark.parametrize("batch", [1, 3])
def test_match_is_the_matcher(both, source, target, batch):
    loaded, matcher, _ = both
    sources, targets = _pairs(source, target, batch)
    answer = loaded.signatures["match"](source=sources, target=targets)
    for row in range(batch):
        flow = matcher(sources[row], targets[row])
        assert_flows_agree(answer["flow"][row], flow.displacement)
        assert_confidences_agree(answer["confidence"][row], flow.confidence)
    assert np.ptp(answer["confidence"]) > 0.1


def test_the_second_look_is_at_a_part(both, source, target):
    """Otherwise the other tests would compare whole images."""
    _, matcher, _ = both
    boxes = [features.box for features in matcher.descriptor([source, target])]
    np.testing.assert_allclose(boxes[0], (0.17, 0.31, 0.80, 0.83), atol=0.1)
    np.testing.assert_allclose(boxes[1], (0.38, 0.16, 0.90, 0.71), atol=0.1)


def test_points_are_carried_as_by_the_matcher(both, source, target):
    loaded, matcher, _ = both
    sources, targets = _pairs(source, target, 3)
    points = np.random.default_rng(6).uniform(0, (89, 70), (3, 100, 2)).astype(np.float32)
    given = {"source": sources, "target": targets, "points": points}
    answer = loaded.signatures["match_points"](**given)
    flows = [matcher(*pair) for pair in zip(sources, targets, strict=True)]
    expected = [
        flow.transfer_with_confidence(each) for flow, each in zip(flows, points, strict=True)
    ]
    assert_flows_agree(answer["points"], [moved for moved, _ in expected])
    assert_confidences_agree(answer["confidence"], [sure for _, sure in expected])


def test_floats_and_other_sizes(both, source, target):
    loaded, matcher, _ = both
    pair = {"source": target[20:].copy(), "target": source[10:].copy()}
    floats = {name: image[None].astype(np.float32) for name, image in pair.items()}
    assert_flows_agree(loaded.match(floats)["flow"][0], matcher(*pair.values()).displacement)


def test_the_model_says_so(both):
    _, _, folder = both
    configuration = json.loads((folder / "assets" / model_card.CONFIGURATION).read_text())
    assert configuration["look_twice"] == LOOK_TWICE
    card = (folder / "assets" / model_card.MODEL_CARD).read_text()
    assert "at each image: two, the second at its object in 96 pixels" in card


def test_a_model_that_looks_once_says_so(exported):
    configuration = json.loads((exported / "assets" / model_card.CONFIGURATION).read_text())
    assert configuration["look_twice"] == 0
    assert "at each image: one" in (exported / "assets" / model_card.MODEL_CARD).read_text()


def test_a_model_without_a_probe(model):
    with pytest.raises(ValueError, match="tells objects from background.*Received: one without"):
        Servable(model, look_twice=320)


@pytest.mark.parametrize("size", [-1, 1, 31])
def test_sizes_that_the_trunk_refuses(focused_model, size):
    with pytest.raises(ValueError, match=f"0 or at least 32 pixels. Received: {size}"):
        Servable(focused_model, look_twice=size)


@pytest.mark.slow
def test_the_preset_looks_twice(preset):
    """The graph alone: that a `Servable` calls it is told by the small model above."""
    source, target = (parts_world.draw("bird", number).image for number in (3, 8))
    target = target[:180]
    sure = confidence_of(preset, "auto")

    @tf.function(autograph=False)
    def match(source, target):
        flow = graph_closer_look.match_images(
            folding.features_function(preset, fixed=True),
            source,
            target,
            (224, 224),
            (320, 320),
            sure.probe,
            "hough",
            sure,
        )
        return graph_flow.spread(flow)

    displacement, confidence = match(tf.constant(source[None]), tf.constant(target[None]))
    flow = Matcher("anchornet", model=preset, look_twice=320)(source, target)
    assert_flows_agree(displacement[0], flow.displacement)
    assert_confidences_agree(confidence[0], flow.confidence)
    once = Matcher("anchornet", model=preset)(source, target)
    assert np.abs(flow.displacement - once.displacement).mean() > 1
