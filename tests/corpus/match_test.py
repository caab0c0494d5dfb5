"""Pairs of a corpus, matched by what its shards hold."""

import dataclasses

import numpy as np
import pyarrow.parquet
import pytest

from anchornet_tf.corpus import describe_run, match_run, pair_list, pair_work, shard_reader
from anchornet_tf.corpus.config import MatchConfig
from anchornet_tf.corpus.quantization import dequantize
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.matcher import Matcher

PAIRS = [("01.png", "09.png"), ("01.png", "02.png"), ("12.png", "01.png"), ("03.png", "09.png")]


def _write(path, lines, header="source,target"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def _rows(folder):
    files = sorted(folder.glob("*.parquet"))
    return [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]


def _config(corpus, tmp_path, pairs, **more):
    return MatchConfig(pairs, corpus.path, tmp_path / "matches", **more)


@pytest.fixture(scope="module")
def maps(corpus):
    """The feature map of every image, decoded here."""
    found = {}
    for number in corpus.finished():
        for row in pyarrow.parquet.read_table(corpus.shard(number)).to_pylist():
            grid = row["grid_height"], row["grid_width"]
            values = np.frombuffer(row["dense"], np.int8).reshape(*grid, -1)
            scales = np.frombuffer(row["dense_scales"], "<f4").reshape(grid)
            values = dequantize(values, scales) @ corpus.directions().T
            found[row["key"]] = FeatureMap(values, (row["height"], row["width"]))
    return found


@pytest.fixture(scope="module")
def matcher():
    return Matcher(lambda images: [], "hough", confidence=None)


def test_flows_are_those_of_the_matcher(corpus, maps, matcher, tmp_path):
    pairs = _write(tmp_path / "pairs.csv", [",".join(pair) for pair in PAIRS])
    result = match_run.run(_config(corpus, tmp_path, pairs), progress=False)
    assert (result.pairs, result.groups, result.skipped) == (4, 2, 0)
    rows = _rows(tmp_path / "matches")
    assert sorted((row["source"], row["target"]) for row in rows) == sorted(PAIRS)
    for row in rows:
        source, target = maps[row["source"]], maps[row["target"]]
        expected = matcher.match_maps([source], [target], [None], [None])[0]
        flow = pair_work.flow_of(row)
        assert flow.shape == expected.shape and flow.target_size == expected.target_size
        np.testing.assert_allclose(flow.displacement, expected.displacement, atol=1e-2)
    again = match_run.run(_config(corpus, tmp_path, pairs), progress=False)
    assert again.skipped == 2


def test_points_are_carried(corpus, maps, matcher, tmp_path):
    lines = ["01.png,09.png,20,30", "01.png,09.png,50,60.5", "12.png,01.png,10,10"]
    pairs = _write(tmp_path / "pairs.csv", lines, "source,target,x,y")
    match_run.run(_config(corpus, tmp_path, pairs), progress=False)
    rows = {(row["source"], row["target"]): row["points"] for row in _rows(tmp_path / "matches")}
    flow = matcher.match_maps([maps["01.png"]], [maps["09.png"]], [None], [None])[0]
    moved = flow.transfer_points([[20, 30], [50, 60.5]])
    carried = rows["01.png", "09.png"]
    assert [(point["x"], point["y"]) for point in carried] == [(20, 30), (50, 60.5)]
    np.testing.assert_allclose(
        [(point["target_x"], point["target_y"]) for point in carried], moved, atol=1e-2
    )
    assert len(rows["12.png", "01.png"]) == 1


def test_images_are_read_a_bounded_number_of_times(corpus, maps, tmp_path, monkeypatch):
    """All pairs of 14 images: once as a source, and as a target once for every shard."""
    keys = sorted(maps)
    lines = [f"{a},{b}" for a in keys for b in keys if a != b]
    pairs = _write(tmp_path / "pairs.csv", lines)
    reads = dict.fromkeys(keys, 0)

    def counted(*arguments):
        for key, features in shard_reader.read_dense(*arguments):
            reads[key] += 1
            yield key, features

    monkeypatch.setattr(pair_work, "read_dense", counted)
    # What is found does not matter here.
    monkeypatch.setattr(match_run, "_matcher", lambda *_: Matcher(lambda _: [], "nearest"))
    result = match_run.run(_config(corpus, tmp_path, pairs), progress=False)
    assert result.pairs == 14 * 13
    assert max(reads.values()) <= 4 + 1


@pytest.mark.parametrize(
    "lines, header, message",
    [
        (["01.png,nobody.png"], "source,target", "keys of the corpus.*Received: 'nobody.png'"),
        (["01.png,cut.png"], "source,target", "could be described. Received: cut.png"),
        (["01.png,02.png"], "a,b", "Expected columns source and target.*with a, b"),
        (["01.png,02.png,3"], "source,target,x", "both x and y or neither"),
        (["01.png,02.png,3,?"], "source,target,x,y", "x and y in pixels"),
        ([], "source,target", "at least one pair. Received: none"),
    ],
)
def test_wrong_pairs(corpus, tmp_path, lines, header, message):
    with pytest.raises(ValueError, match=message):
        pair_list.read_pairs(_write(tmp_path / "pairs.csv", lines, header), corpus)


def test_other_pairs_need_another_folder(corpus, tmp_path):
    first = _write(tmp_path / "first.csv", ["01.png,02.png"])
    match_run.run(_config(corpus, tmp_path, first), progress=False)
    other = _write(tmp_path / "other.csv", ["01.png,03.png"])
    with pytest.raises(ValueError, match="same pairs.*Received: .*pairs.jsonl"):
        match_run.run(_config(corpus, tmp_path, other), progress=False)


def test_a_corpus_without_dense_descriptors(config, tmp_path):
    sparse = dataclasses.replace(config, dense=False, limit=2, output=str(tmp_path / "sparse"))
    describe_run.run(sparse, progress=False)
    pairs = _write(tmp_path / "pairs.csv", ["00.png,01.png"])
    with pytest.raises(ValueError, match="corpus.describe --dense writes one"):
        match_run.run(MatchConfig(pairs, sparse.output, tmp_path / "m"), progress=False)
