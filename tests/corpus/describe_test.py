"""Images described with Beam: what shards hold, what fails, what a rerun does, any workers."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest

from anchornet_tf.command_line import config_flags
from anchornet_tf.corpus import describe_run, schema
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.features.feature_map import cell_centers
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.utils.image_io import read_image
from tests.corpus.conftest import BROKEN, COUNT
from tests.repository.tree import ROOT


def _rows(corpus: CorpusFolder) -> list[dict]:
    return [
        row
        for number in sorted(corpus.finished())
        for row in pyarrow.parquet.read_table(corpus.shard(number)).to_pylist()
    ]


def _bytes(corpus: CorpusFolder) -> dict[str, bytes]:
    root = pathlib.Path(corpus.path)
    found = sorted(path for folder in ("shards", "failed") for path in root.glob(f"{folder}/*"))
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def _command(config, *more) -> list[str]:
    arguments = config_flags.arguments(config)
    return [sys.executable, "-m", "anchornet_tf.corpus.describe", *arguments, *more]


@pytest.fixture(scope="module")
def expected(model_folder, config, images):
    """Peaks and descriptors of one image by the model itself and NumPy."""
    import tensorflow as tf

    model = AnchorNet.from_preset(model_folder)
    image = read_image(images / "05.png")
    inputs = tf.image.resize(image, (64, 64), antialias=True)[None]
    maps = np.concatenate(
        [model.class_responses(inputs, name, "whitened")[0] for name in model.classes], axis=-1
    )
    return image.shape[:2], maps, model.features(inputs)[0].numpy()


def test_every_image_is_in_one_shard_and_the_broken_ones_are_named(corpus):
    rows = _rows(corpus)
    names = [f"{number:02d}.png" for number in range(COUNT)]
    assert [row["key"] for row in rows] == names
    failed = corpus.failed()
    assert sorted(failed) == sorted(BROKEN)
    assert all("Received: " in reason for reason in failed.values())
    assert len(corpus.finished()) == 4


def test_peaks_are_those_of_the_model(corpus, expected):
    (height, width), maps, _ = expected
    row = next(row for row in _rows(corpus) if row["key"] == "05.png")
    assert (row["height"], row["width"]) == (height, width)
    best = maps.reshape(-1, maps.shape[-1])
    strength, cell = best.max(axis=0), best.argmax(axis=0)
    order = np.argsort(-strength)[:6]
    classes = ("bird", "cow", "car")
    assert [(classes.index(peak["class"]), peak["filter"]) for peak in row["peaks"]] == [
        divmod(number, 4) for number in order.tolist()
    ]
    np.testing.assert_allclose(
        [peak["strength"] for peak in row["peaks"]], strength[order], atol=1e-3
    )
    centers_y, centers_x = (
        cell_centers(*s) for s in zip(maps.shape[:2], (height, width), strict=True)
    )
    for peak, number in zip(row["peaks"], order, strict=True):
        assert peak["x"] == pytest.approx(centers_x[cell[number] % maps.shape[1]], abs=1e-3)
        assert peak["y"] == pytest.approx(centers_y[cell[number] // maps.shape[1]], abs=1e-3)
        place = row["places"][peak["place"]]
        assert (place["x"], place["y"]) == (peak["x"], peak["y"])
    assert len({(place["x"], place["y"]) for place in row["places"]}) == len(row["places"])


def test_descriptors_come_back_from_eight_bits(corpus, expected):
    _, _, features = expected
    row = next(row for row in _rows(corpus) if row["key"] == "05.png")
    grid = row["grid_height"], row["grid_width"]
    assert grid == features.shape[:2]
    values = np.frombuffer(row["dense"], np.int8).reshape(*grid, -1)
    scales = np.frombuffer(row["dense_scales"], "<f4").reshape(grid)
    directions = corpus.directions()
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-5)
    decoded = (values * scales[..., None]) @ directions.T
    # All eight directions are kept here: what is lost is the rounding, half a step at most.
    wrong = np.abs(decoded - features).max(axis=-1)
    assert (wrong <= scales * 0.5 * np.sqrt(8) + 1e-3).all()
    place = row["places"][0]
    descriptor = np.frombuffer(place["descriptor"], np.int8) * place["scale"]
    distances = np.abs(features.reshape(-1, 8) @ directions - descriptor).max(axis=-1)
    assert distances.min() <= place["scale"]


def test_the_schema_is_what_the_module_says(corpus):
    file = pyarrow.parquet.read_schema(corpus.shard(0))
    assert file.equals(schema.schema(8))
    for field in file:
        assert f"| {field.name}" in schema.__doc__ or f", {field.name} |" in schema.__doc__


def test_a_rerun_skips_finished_shards(config, corpus):
    before = {path: os.stat(corpus.shard(path)).st_mtime_ns for path in corpus.finished()}
    result = describe_run.run(config, progress=False)
    assert (result.images, len(result.failed), result.skipped) == (COUNT, 2, 4)
    assert before == {path: os.stat(corpus.shard(path)).st_mtime_ns for path in before}


def test_a_lost_shard_is_made_again_with_the_same_bytes(config, corpus):
    before = _bytes(corpus)
    for number in (1, 3):
        os.remove(corpus.shard(number))
    # What a worker leaves that is killed while it writes.
    half = pathlib.Path(corpus.shard(1)).with_name(".shard-00001-abc.parquet")
    half.write_bytes(b"half")
    assert describe_run.run(config, progress=False).skipped == 2
    assert _bytes(corpus) == before


def test_another_configuration_is_refused(config, corpus):
    other = dataclasses.replace(config, peaks=5)
    with pytest.raises(ValueError, match="begun with.*Received: peaks=5 instead of 6"):
        describe_run.run(other, progress=False)


def test_two_processes_write_the_same_bytes(config, corpus, tmp_path):
    """The program, with two workers, killed at the first shard and called again."""
    two = dataclasses.replace(config, output=str(tmp_path / "two"))
    process = subprocess.Popen(
        _command(two, "--workers=2"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    folder = CorpusFolder(two.output)
    deadline = time.monotonic() + 300
    while not folder.finished() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    # The whole group: launcher and workers at once.
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert folder.finished()
    finished = subprocess.run(
        _command(two, "--workers=2"), cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert _bytes(folder) == _bytes(corpus)
    assert f"{COUNT} images described, 2 failed; 4 shards" in finished.stdout
    assert "Failed: broken.png: " in finished.stdout
    assert f"Next: python -m anchornet_tf.corpus.index --corpus={two.output}" in finished.stdout
    assert "Traceback" not in finished.stderr
    assert json.loads((tmp_path / "two" / "corpus.json").read_text())["count"] == COUNT + 2
