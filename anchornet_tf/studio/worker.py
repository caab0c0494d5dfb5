"""The one thread that computes: what a person waits for comes first, and like goes with like."""

import concurrent.futures
import dataclasses
import heapq
import itertools
import threading
from collections.abc import Callable, Hashable

URGENT, LATER = 0, 1
_MOST_TOGETHER = 8
# Two images that are dropped at once ask for their features a few milliseconds apart.
_GATHERING_SECONDS = 0.008


@dataclasses.dataclass(order=True)
class _Task:
    priority: int
    number: int
    group: Hashable = dataclasses.field(compare=False)
    item: object = dataclasses.field(compare=False)
    work: Callable = dataclasses.field(compare=False)
    future: concurrent.futures.Future = dataclasses.field(compare=False)


class Worker:
    """Runs tasks in one thread, since TensorFlow uses all cores for each.

    Args:
        gathering_seconds: float. How long a task with a group waits for others of its group.
    """

    def __init__(self, gathering_seconds: float = _GATHERING_SECONDS):
        self._gathering_seconds = gathering_seconds
        self._tasks: list[_Task] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="studio-worker", daemon=True)
        self._thread.start()

    def submit(self, work: Callable, priority: int = URGENT) -> concurrent.futures.Future:
        """Runs a function without arguments, and gives its result.

        Args:
            work: The function.
            priority: `URGENT` for what somebody waits for, `LATER` for the work of jobs.
        """
        return self._add(None, None, lambda _: [work()], priority)

    def submit_item(
        self, group: Hashable, item, work: Callable[[list], list], priority: int = URGENT
    ) -> concurrent.futures.Future:
        """Runs a function of a list on this item and others of the same group that wait.

        Args:
            group: What tells which items go together; all of a group have the same `work`.
            item: The item.
            work: Function from a list of items to the list of their results.
            priority: As in `submit`.
        """
        return self._add(group, item, work, priority)

    def close(self) -> None:
        """Ends the thread after the task that runs; what waits is cancelled."""
        with self._changed:
            self._closed = True
            waiting, self._tasks = self._tasks, []
            self._changed.notify_all()
        for task in waiting:
            task.future.cancel()

    def _add(self, group, item, work, priority) -> concurrent.futures.Future:
        future = concurrent.futures.Future()
        with self._changed:
            if self._closed:
                future.cancel()
                return future
            task = _Task(priority, next(self._numbers), group, item, work, future)
            heapq.heappush(self._tasks, task)
            self._changed.notify_all()
        return future

    def _run(self) -> None:
        while True:
            tasks = self._next()
            if tasks is None:
                return
            tasks = [task for task in tasks if task.future.set_running_or_notify_cancel()]
            if not tasks:
                continue
            try:
                results = tasks[0].work([task.item for task in tasks])
            except BaseException as error:
                for task in tasks:
                    task.future.set_exception(error)
            else:
                for task, result in zip(tasks, results, strict=True):
                    task.future.set_result(result)
            # A thread that waits must not hold the last result.
            del tasks

    def _next(self) -> list[_Task] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._tasks or self._closed)
            if self._closed:
                return None
            first = heapq.heappop(self._tasks)
            if first.group is None:
                return [first]
            if len(self._of_group(first.group)) < _MOST_TOGETHER - 1:
                self._changed.wait_for(
                    lambda: bool(self._of_group(first.group)), self._gathering_seconds
                )
            others = sorted(self._of_group(first.group))[: _MOST_TOGETHER - 1]
            self._tasks = [task for task in self._tasks if task not in others]
            heapq.heapify(self._tasks)
            return [first, *others]

    def _of_group(self, group: Hashable) -> list[_Task]:
        return [task for task in self._tasks if task.group == group]
