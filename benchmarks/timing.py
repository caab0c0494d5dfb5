"""Times several pieces of work in turn, so that a noisy machine hits all of them alike."""

import dataclasses
import time
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.results import Goal, Row

MATMUL = "mm"
MATMUL_SIDE = 2048
# The threads of a matrix product spin for a while after it, and would take a core from what comes
# next.
_SETTLE_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A work with something to do right before it that is not timed.

    Args:
        prepare: what comes first.
        work: what is timed.
    """

    prepare: Callable[[], object]
    work: Callable[[], object]


Work = Callable[[], object] | Prepared


@dataclasses.dataclass(frozen=True)
class Timed:
    """What `in_turn` measured.

    Args:
        seconds: by name of the work, one figure per round; `MATMUL` is among them.
    """

    seconds: dict[str, tuple[float, ...]]

    def ratios(self, work: str, per: str = MATMUL) -> tuple[float, ...]:
        """Returns the time of one work over that of another in the same round."""
        pairs = zip(self.seconds[work], self.seconds[per], strict=True)
        return tuple(own / other for own, other in pairs)

    def row(
        self,
        work: str,
        name: str,
        per: str = MATMUL,
        goal: Goal | None = None,
        reference: str = "",
        note: str = "",
    ) -> Row:
        """Returns a row of the table: the time of `work` in units of another's."""
        return Row(
            name=name,
            unit=MATMUL if per == MATMUL else f"x {per}",
            samples=self.ratios(work, per),
            goal=goal,
            reference=reference,
            note=note,
            seconds=self.seconds[work],
            matmul_seconds=self.seconds[MATMUL],
        )


def in_turn(
    works: Mapping[str, Work],
    repeats: int,
    warmups: int = 1,
) -> Timed:
    """Does each work once per round, and beside them a matrix product as the unit of speed.

    Args:
        works: functions without arguments, by name.
        repeats: int. Rounds that count.
        warmups: int. Rounds before them that do not.

    Raises:
        ValueError: If `repeats` is not positive or a work has the name of the matrix product.
    """
    if repeats < 1:
        raise ValueError(f"`repeats` must be a positive integer. Received: repeats={repeats}")
    if MATMUL in works:
        raise ValueError(f"{MATMUL!r} is the name of the matrix product. Received: {list(works)}")
    square = np.random.default_rng(0).random((MATMUL_SIDE, MATMUL_SIDE), np.float32)
    # The matrix product comes in the middle, as near to the first work as to the last.
    names = list(works)
    half = len(names) // 2
    order = [*names[:half], MATMUL, *names[half:]]
    functions = {**works, MATMUL: lambda: square @ square}
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for number in range(-warmups, repeats):
        # Every other round runs backwards: what a work leaves behind in the caches is not always
        # for the same one.
        for name in order if number % 2 else order[::-1]:
            spent = once(functions[name])
            if number >= 0:
                seconds[name].append(spent)
    return Timed({name: tuple(values) for name, values in seconds.items()})


def once(work: Work) -> float:
    """Returns the seconds that a work takes."""
    time.sleep(_SETTLE_SECONDS)
    if isinstance(work, Prepared):
        work.prepare()
        work = work.work
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
