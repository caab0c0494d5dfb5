"""The cache of taps: rows are computed once and kept; a full disk is an error beforehand."""

import collections
import errno
import os

import numpy as np
import pytest

from anchornet_tf.training import tap_cache


def _taps(rows):
    shapes = tap_cache.tap_shapes(32)
    return [np.stack([np.full(shape, row, np.float16) for row in rows]) for shape in shapes]


def test_rows_are_computed_once_and_kept(tmp_path):
    asked = []

    def compute(rows):
        asked.append(list(rows))
        for chunk in np.array_split(rows, 2):
            yield chunk, _taps(chunk)

    cache = tap_cache.TapCache(tmp_path / "cache", 10, 32)
    assert cache.fill(np.array([3, 1, 3]), compute) == 2
    again = tap_cache.TapCache(tmp_path / "cache", 10, 32)
    assert again.fill(np.array([1, 2, 3, 4]), compute) == 2
    assert asked == [[1, 3], [2, 4]]
    for tap, expected in zip(again.read(np.array([4, 1, 4])), _taps([4, 1, 4]), strict=True):
        np.testing.assert_array_equal(tap, expected)
        assert tap.dtype == np.float16


def test_taps_of_fewer_dimensions(tmp_path):
    cache = tap_cache.TapCache(tmp_path, 10, 32, dimensions=8)
    assert cache.shapes == ((8, 8, 8), (2, 2, 8), (1, 1, 8))
    assert cache.bytes_per_row == 2 * 8 * (64 + 4 + 1)


def test_an_interrupted_fill_keeps_what_was_whole(tmp_path):
    def broken(rows):
        yield rows[:2], _taps(rows[:2])
        raise KeyboardInterrupt

    cache = tap_cache.TapCache(tmp_path, 10, 32)
    with pytest.raises(KeyboardInterrupt):
        cache.fill(np.arange(4), broken)
    assert list(cache.missing(np.arange(4))) == [2, 3]
    with pytest.raises(ValueError, match=r"Received: \[2 3\]"):
        cache.read(np.arange(4))


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(tap_cache.shutil, "disk_usage", lambda path: usage(10, 10, 1000))
    cache = tap_cache.TapCache(tmp_path, 10, 32)
    with pytest.raises(OSError, match="Received: 0.0 GB free"):
        cache.fill(np.arange(4), lambda rows: iter(()))


@pytest.mark.parametrize("name", ["res2c.float16", "res5c.float16", "done.uint8"])
def test_a_file_that_was_cut_short_is_computed_anew(name, tmp_path, capsys):
    cache = tap_cache.TapCache(tmp_path, 10, 32)
    cache.fill(np.arange(10), lambda rows: [(rows, _taps(rows))])
    size = (tmp_path / name).stat().st_size
    os.truncate(tmp_path / name, size // 2)
    again = tap_cache.TapCache(tmp_path, 10, 32)
    assert f"{name} has {size // 2} bytes, not {size}" in capsys.readouterr().err
    assert len(again.missing(np.arange(10))) == 10


def test_a_file_that_a_killed_process_left_empty_is_made_again(tmp_path):
    (tmp_path / "res2c.float16").write_bytes(b"")
    cache = tap_cache.TapCache(tmp_path, 10, 32)
    assert len(cache.missing(np.arange(10))) == 10


def test_a_disk_that_fills_up_meanwhile_is_an_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tap_cache.os, "posix_fallocate", full)
    cache = tap_cache.TapCache(tmp_path, 10, 32)
    with pytest.raises(OSError, match="No space left"):
        cache.fill(np.arange(2), lambda rows: [(rows, _taps(rows))])
    assert len(cache.missing(np.arange(2))) == 2


def test_key_changes_with_everything():
    keys = {
        tap_cache.cache_key(a=1, b="x"),
        tap_cache.cache_key(a=2, b="x"),
        tap_cache.cache_key(a=1, b="y"),
    }
    assert len(keys) == 3
    assert tap_cache.cache_key(b="x", a=1) in keys
