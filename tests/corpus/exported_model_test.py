"""A corpus described by an exported SavedModel: as the model that it was exported from."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from anchornet_tf.corpus import describe_run, match_run
from anchornet_tf.corpus.config import MatchConfig
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.describer import AnchorDescriber
from anchornet_tf.corpus.model_folder import ModelFolder
from anchornet_tf.corpus.part_index import write_index
from anchornet_tf.corpus.quantization import dequantize
from anchornet_tf.image import gaussian_smoothing
from anchornet_tf.utils.image_io import read_scaled
from export import archive
from tests.corpus.conftest import COUNT
from tests.export import small_model


@pytest.fixture(scope="module")
def model():
    return small_model.make()


@pytest.fixture(scope="module")
def versions(model, tmp_path_factory):
    """The folder of all versions; there are two."""
    base = tmp_path_factory.mktemp("exported")
    shutil.copytree(archive.save(model, base), base / "2")
    return base


def _assert_about_equal(values, scales, known, known_scales):
    wrong = np.abs(dequantize(values, scales) - dequantize(known, known_scales))
    # One step of the eight bits: a number between two of them may go either way.
    assert (wrong <= 1.01 * known_scales[..., None]).all()


@pytest.mark.parametrize("dense", [False, True])
def test_an_export_describes_as_its_model(model, versions, images, dense):
    scaled = [read_scaled(images / name) for name in ("05.png", "06.png")]
    describers = [AnchorDescriber(each, 6, dense, 64) for each in (model, versions / "1")]
    assert describers[1].classes == describers[0].classes
    np.testing.assert_allclose(describers[1].directions, describers[0].directions, atol=1e-5)
    for one, other in zip(*(describe(scaled) for describe in describers), strict=True):
        assert other.size == one.size
        for name in ("class_index", "filter", "x", "y", "place"):
            np.testing.assert_array_equal(getattr(other.peaks, name), getattr(one.peaks, name))
        np.testing.assert_allclose(other.peaks.strength, one.peaks.strength, atol=1e-4)
        _assert_about_equal(
            other.places.descriptors, other.places.scales, one.places.descriptors, one.places.scales
        )
        assert (one.dense is None) == (other.dense is None) == (not dense)
        if dense:
            _assert_about_equal(
                other.dense.values, other.dense.scales, one.dense.values, one.dense.scales
            )
    points = [describe.at_point(scaled[0], (30, 40)) for describe in describers]
    np.testing.assert_allclose(points[1], points[0], atol=1e-4)


@pytest.mark.parametrize("blur", [0.0, 1.5])
def test_places_are_smoothed_and_cells_are_not(model, images, blur):
    scaled = read_scaled(images / "05.png")
    describe = AnchorDescriber(model, 6, True, 64, blur)
    (found,) = describe([scaled])
    sharp = dequantize(found.dense.values, found.dense.scales)
    expected = gaussian_smoothing(sharp[None], blur)[0].numpy()
    places = dequantize(found.places.descriptors, found.places.scales)
    height, width = scaled.original_size
    for x, y, code in zip(found.places.x, found.places.y, places, strict=True):
        row, column = int((y + 0.5) * 16 / height), int((x + 0.5) * 16 / width)
        # Both are in eight bits.
        tolerance = 1.5 * found.dense.scales.max()
        np.testing.assert_allclose(code, expected[row, column], atol=tolerance)
        np.testing.assert_allclose(describe.at_point(scaled, (x, y)), code, atol=tolerance)


def test_a_corpus_of_an_export_is_indexed_and_matched(versions, config, tmp_path):
    mine = dataclasses.replace(config, model=str(versions), output=str(tmp_path / "corpus"))
    result = describe_run.run(mine, progress=False)
    assert (result.images, len(result.failed), result.shards) == (COUNT, 2, 4)
    record = CorpusFolder(mine.output).record()
    newest = ModelFolder.find(versions)
    assert newest.path == versions / "2" and newest.is_exported
    assert record["model_digest"] == newest.digest() != ModelFolder.find(config.model).digest()
    assert record["classes"] == list(small_model.CLASSES)
    made = write_index(CorpusFolder(mine.output), tmp_path / "index", progress=False)
    assert made["images"] == COUNT
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("source,target,x,y\n01.png,02.png,30,40\n")
    matched = MatchConfig(pairs=str(pairs), corpus=mine.output, output=str(tmp_path / "matches"))
    assert match_run.run(matched, progress=False).pairs == 1


def test_confidence_comes_along(model, versions):
    assert model.confidence is not None
    assert ModelFolder.find(versions).confidence() == json.loads(json.dumps(model.confidence))


def test_an_export_without_anchors_is_refused(versions, config, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(versions / "1", old)
    configuration = old / "assets" / "configuration.json"
    contents = json.loads(configuration.read_text())
    contents["functions"].remove("anchors")
    configuration.write_text(json.dumps(contents))
    mine = dataclasses.replace(config, model=str(old), output=str(tmp_path / "corpus"))
    with pytest.raises(ValueError, match=f"the function 'anchors'. Received: {old}"):
        describe_run.run(mine, progress=False)
    assert not os.path.exists(mine.output)


@pytest.mark.parametrize("contents", ["{", '{"options": 3}', '{"options": {"classes": "bird"}}'])
def test_a_damaged_configuration_is_refused_in_one_line(model, tmp_path, contents):
    folder = tmp_path / "model"
    model.save_to_preset(folder)
    (folder / "config.json").write_text(contents)
    with pytest.raises(
        ValueError, match="Expected the configuration of a model.*Received: .*model"
    ):
        _ = ModelFolder.find(folder).classes
    with pytest.raises(ValueError, match="Expected the configuration of a model"):
        _ = ModelFolder.find(folder).num_filters
