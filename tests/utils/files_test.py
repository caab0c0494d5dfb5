"""Atomic files and folders, locks, and the cache folder."""

import multiprocessing
import pathlib
import subprocess
import sys
import time

import pytest

from anchornet_tf.utils import files, unfinished
from tests.repository.tree import ROOT


def test_atomic_file_appears_whole(tmp_path):
    target = tmp_path / "deep" / "er" / "result.txt"
    with files.atomic_file(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["result.txt"]


def test_a_failed_write_keeps_the_old_file(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), files.atomic_file(target) as temporary:
        temporary.write_text("new")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]


def test_atomic_folder(tmp_path):
    with files.atomic_folder(tmp_path / "run") as temporary:
        (temporary / "a").write_text("1")
    assert (tmp_path / "run" / "a").read_text() == "1"
    with (
        pytest.raises(FileExistsError, match="Received: .*run"),
        files.atomic_folder(tmp_path / "run"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


_KILLED = """
import os, signal, sys
from anchornet_tf.utils import files
with files.atomic_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    with files.atomic_folder(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_cleared_away_and_nothing_else(tmp_path):
    target, folder = tmp_path / "a.txt", tmp_path / "run"
    subprocess.run([sys.executable, "-c", _KILLED, target, folder], cwd=ROOT)
    assert len([path for path in tmp_path.iterdir() if "-unfinished-" in path.name]) == 2
    with files.atomic_file(tmp_path / "other.txt") as in_work:
        assert [path.name for path in tmp_path.iterdir()] == [in_work.name]
        # Somebody else who looks leaves alone what is worked on.
        assert unfinished.sweep(tmp_path) == []
        in_work.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Received: .*file/below"):
        files.make_folder(tmp_path / "file" / "below")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv(files.CACHE_VARIABLE, str(tmp_path))
    assert files.cache_folder() == tmp_path
    monkeypatch.delenv(files.CACHE_VARIABLE)
    assert files.cache_folder() == pathlib.Path.home() / ".cache" / "anchornet_tf"


def _append_in_turn(path: str, name: str) -> None:
    with files.locked(path):
        with open(path, "a") as handle:
            handle.write(f"{name} in\n")
        time.sleep(0.2)
        with open(path, "a") as handle:
            handle.write(f"{name} out\n")


def test_the_lock_lets_one_process_in_at_a_time(tmp_path):
    log = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_in_turn, args=(str(log), name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = log.read_text().split("\n")[:-1]
    assert [line.split()[1] for line in lines] == ["in", "out", "in", "out"]
    assert lines[0][0] == lines[1][0] != lines[2][0] == lines[3][0]
