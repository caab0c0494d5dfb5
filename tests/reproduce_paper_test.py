"""The program that fills the paper's tables, in processes of its own."""

import signal
import subprocess
import sys
import time

from tests.datasets.annotated import folders

_FLAGS = (
    "--data=pascal_parts",
    "--data_dir=data",
    "--rows=dsp+sift,none,flowweb",
    "--bootstrap=50",
)


def _command(*arguments):
    return [sys.executable, "-m", "anchornet_tf.reproduce_paper", *arguments]


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("table_*")}


def test_help_needs_no_tensorflow():
    code = "import sys, anchornet_tf.reproduce_paper; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_run_that_was_killed_ends_with_the_same_files(tmp_path):
    folders.flowweb(tmp_path / "data")
    options = {"capture_output": True, "text": True, "cwd": tmp_path}
    whole = subprocess.run(_command(*_FLAGS, "--output=whole"), **options)
    assert whole.returncode == 0, whole.stderr
    lines = whole.stdout.splitlines()
    assert lines[-2] == "table_1, table_2, table_4 (.md, .csv, .png) are in whole"
    assert lines[-1].startswith("Next: python -m anchornet_tf.reproduce_paper --data=pascal_parts")
    assert lines[-1].endswith("--pairs=40") and "left in all" in whole.stderr

    journal = tmp_path / "killed" / "pairs" / "within" / "dsp+sift.jsonl"
    process = subprocess.Popen(
        _command(*_FLAGS, "--output=killed"), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not (
        journal.is_file() and len(journal.read_bytes().splitlines()) > 3
    ):
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not list((tmp_path / "killed").glob("table_*"))
    again = subprocess.run(_command(*_FLAGS, "--output=killed"), **options)
    assert again.returncode == 0, again.stderr
    found = _files(tmp_path / "killed")
    assert len(found) == 9 and found == _files(tmp_path / "whole")
    text = found["table_1.md"].decode()
    assert "the data has no class sheep" in text
    assert "FlowWeb needs 3 images of a class" in text


def test_mistakes_are_one_line(tmp_path):
    for flags, message in (
        (("--data=pf_willow", "--tables=2"), "pf_willow can fill: 3. Received: 2"),
        (("--rows=dsp", "--tables=1"), "patterns such as 'dsp+*'. Received: dsp"),
    ):
        done = subprocess.run(_command(*flags), capture_output=True, text=True, cwd=tmp_path)
        error = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1 and error.startswith("Error: ") and message in error
