"""How far workers are, whoever and wherever they are: by what they have written."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import tqdm

_LOOK_EVERY = 1.0  # Seconds between two looks.


@contextlib.contextmanager
def watched(
    purpose: str, finished: Callable[[], int], total: int, progress: bool = True
) -> Iterator[None]:
    """Shows a progress bar while others work.

    Args:
        purpose: What to call it.
        finished: Tells how many files are there.
        total: int. How many there will be.
        progress: bool. Whether to show it.
    """
    ended = threading.Event()

    def look():
        # Silent without news: TensorFlow's import holds back what is written meanwhile.
        if (news := finished() - bar.n) > 0:
            bar.update(news)

    def watch():
        while not ended.wait(_LOOK_EVERY):
            look()

    with tqdm.tqdm(
        total=total, initial=finished(), desc=purpose, unit=" files", disable=not progress
    ) as bar:
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            look()
