"""A process with threads that match forks: the child answers, or says why it does not."""

import os
import signal
import sys
import threading

import numpy as np

from anchornet_tf.matchers.matcher import Matcher
from tests.tasks import colored

_PATIENCE = 30
_REFUSED = 3


def fork_while_matching(times: int) -> list[str]:
    """Forks while other threads match; returns how each child ended."""
    matcher = Matcher("sift", "hough", step=8)
    source, target = colored.picture(10, 10)[0], colored.picture(40, 30)[0]
    expected = matcher(source, target).displacement
    stop = threading.Event()

    def work():
        while not stop.is_set():
            matcher(source, target)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        return [_child(matcher, source, target, expected) for _ in range(times)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _child(matcher, source, target, expected) -> str:
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        signal.alarm(_PATIENCE)
        try:
            right = np.array_equal(matcher(source, target).displacement, expected)
            os._exit(0 if right else 1)
        except RuntimeError as error:
            print(error, flush=True)
            os._exit(_REFUSED if "Received: " in str(error) else 1)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    known = {0: "right", _REFUSED: "refused", -signal.SIGALRM: "hung"}
    return known.get(code, f"exit code {code}")


if __name__ == "__main__":
    print("\n".join(fork_while_matching(int(sys.argv[1]))))
