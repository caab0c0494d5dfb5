"""What processes use, and which of them are ours."""

import os
import subprocess
import sys

import pytest

from anchornet_tf.corpus.process_usage import descendants, of_session, usage, watched

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
# Linux cuts names after 15 bytes, within a letter if need be.
_NAMED = """
import sys
with open("/proc/self/comm", "wb") as file:
    file.write("fünfzehn Byteé".encode()[:15])
print("named", flush=True)
sys.stdin.read()
"""


def test_a_name_that_is_cut_within_a_letter_is_a_name():
    child = subprocess.Popen(
        [sys.executable, "-c", _NAMED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert child.stdout.readline() == b"named\n"
        with open(f"/proc/{child.pid}/comm", "rb") as file, pytest.raises(UnicodeDecodeError):
            file.read().decode()
        assert child.pid in descendants(os.getpid())
        assert of_session(child.pid) == [child.pid]
        assert usage(child.pid).resident > 0
    finally:
        child.communicate()
    assert child.pid not in descendants(os.getpid())


def test_who_is_watched_ends_with_the_watcher():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(KeyboardInterrupt), watched(process):
        raise KeyboardInterrupt
    assert process.wait(10) != 0
