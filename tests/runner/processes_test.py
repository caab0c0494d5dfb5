"""The processes of box matchers: deaf to Ctrl-C, and gone when the one that started them is."""

import os
import pathlib
import signal
import subprocess
import sys
import time

from anchornet_tf.runner import grid
from tests.repository.tree import ROOT

_PROGRAM = """
import os
from anchornet_tf.runner import grid
if __name__ == "__main__":
    with grid._processes(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        input()
"""


def test_ctrl_c_does_not_reach_them_not_even_while_they_start():
    with grid._processes(1) as pool:
        answer = pool.submit(os.getpid)
        (pid,) = pool._processes
        # Sent without a pause until the process answers: all of its start is covered.
        while not answer.done():
            os.kill(pid, signal.SIGINT)
            time.sleep(0.005)
        assert answer.result() == pid
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_they_end_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "parent.py").write_text(_PROGRAM)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    worker = int(parent.stdout.readline())
    assert _lives(worker)
    parent.kill()
    parent.communicate()
    end = time.monotonic() + 20
    while _lives(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(worker)


def _lives(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
