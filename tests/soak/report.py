"""What came of a soak, as tables."""

import collections
import dataclasses

import numpy as np

# The last fifth of the time against the second.
_GROWTH = 0.05
# Looks at the memory, one per second: before that, threads and the allocator still fill up.
_ENOUGH = 300


@dataclasses.dataclass
class Steady:
    """The time of steady load.

    Attributes:
        seconds: Lists of seconds of good answers, by kind of request.
        refused: Refusals, by kind of request.
    """

    seconds: dict[str, list[float]]
    refused: collections.Counter

    @property
    def right(self) -> int:
        """Good answers."""
        return sum(map(len, self.seconds.values()))


def growth(memory: list[float]) -> tuple[str, str]:
    """Says how memory went, and what is wrong with that; an empty text where nothing is.

    Args:
        memory: MB, in equal steps of a second. Less than five minutes of it are not judged.
    """
    fifth = max(1, len(memory) // 5)
    parts = {"first": memory[:fifth], "second": memory[fifth : 2 * fifth], "last": memory[-fifth:]}
    held = {name: float(np.median(part)) for name, part in parts.items()}
    grown = held["last"] / held["second"] - 1
    said = ", ".join(f"{name} fifth {value:,.0f} MB" for name, value in held.items())
    judged = len(memory) >= _ENOUGH
    wrong = f"memory grows by {grown:.1%}" if judged and grown > _GROWTH else ""
    return f"{said} ({grown:+.1%} since the second), at most {max(memory):,.0f} MB", wrong


def show_latencies(seconds: dict[str, list[float]], trunk: float) -> None:
    """Prints how long answers took, also as multiples of the trunk's time for one image."""
    heads = ("answers", "p50 s", "p99 s", "p50/trunk", "p99/trunk")
    print(f"\n{'request':<18}" + "".join(f"{head:>11}" for head in heads))
    for kind, times in sorted(seconds.items()):
        median, late = np.percentile(times, (50, 99))
        print(
            f"{kind:<18}{len(times):>11,}{median:>11.3f}{late:>11.3f}"
            f"{median / trunk:>11.1f}{late / trunk:>11.1f}"
        )
    print(f"The trunk takes {trunk:.3f} s for one image, alone.")


def show_refused(refused: collections.Counter) -> None:
    """Prints what was refused."""
    print(f"\n{'broken request':<18}{'refused':>11}")
    for kind, count in sorted(refused.items()):
        print(f"{kind:<18}{count:>11,}")
