"""Says which step of a run is done, and how long the rest takes by what earlier steps took."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

# Seconds per pair on two cores of 2024, drawings of 224 x 224 pixels. Only their ratios matter once
# a step is done.
_SECONDS = {"none": 0.02, "dsp": 1.4, "nam": 0.4, "lom": 1.4, "flowweb": 0.6}


def cost_of(pairs: Mapping[str, int]) -> float:
    """Returns the rough cost in seconds of the pairs that each matcher has yet to match."""
    return sum(_SECONDS[name] * count for name, count in pairs.items())


class Progress:
    """The steps of a run.

    Args:
        costs: The rough cost of each step in seconds, see `cost_of`; 0 for those that are done.
        is_shown: bool. Whether to print.
    """

    def __init__(self, costs: Sequence[float], is_shown: bool):
        self.is_shown = is_shown
        self._costs = list(costs)
        self._number = 0
        self._expected = self._taken = 0.0

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Names the next step and measures it."""
        cost, began = self._costs[self._number], time.monotonic()
        rest = self.left()
        self._number += 1
        if self.is_shown and cost:
            text = f"[{self._number}/{len(self._costs)}] {title}; {rest} left in all"
            print(text, file=sys.stderr, flush=True)
        yield
        if cost:
            self._expected += cost
            self._taken += time.monotonic() - began

    def left(self) -> str:
        """Returns how long the steps that have not begun may take."""
        rate = self._taken / self._expected if self._expected else 1.0
        minutes = round(rate * sum(self._costs[self._number :]) / 60)
        if minutes < 1:
            return "less than a minute"
        if minutes < 100:
            return f"about {minutes} min"
        return f"about {minutes // 60} h {minutes % 60} min"
