"""The folder of a training run: its checkpoint, its log of losses, and whether it is finished."""

import contextlib
import csv
import io
import json
import os
import pathlib
import sys
from collections.abc import Iterator

import numpy as np

from anchornet_tf.training import checkpoint
from anchornet_tf.utils import files

_METRICS = "metrics.csv"
_SUMMARY = "summary.json"


class RunFolder:
    """Keeps a run's state so that it survives `kill -9` at any moment.

    There are two checkpoints, the last one and the one before. Each holds a checksum of itself;
    where the last one is damaged, the run goes on from the one before.

    Args:
        folder: of the run; made when missing.
        writes: whether this process writes; other workers only read.
    """

    def __init__(self, folder: str | os.PathLike, writes: bool = True):
        self.path = files.make_folder(folder)
        self.writes = writes
        if writes and not os.access(self.path, os.W_OK):
            raise OSError(f"Expected a folder that can be written to. Received: {self.path}")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits, and says so, while another process works in this folder; then keeps others out."""
        if not self.writes:
            yield
            return
        waiting = f"Another process works in {self.path}; waiting until it has ended."
        with files.locked(self.path / "run", waiting):
            yield

    def save(self, step: int, variables: dict) -> None:
        """Writes a checkpoint of named variables after `step` steps; the last one is kept too."""
        if not self.writes:
            return
        checkpoint.write(self.path, step, {name: np.asarray(v) for name, v in variables.items()})

    def has_checkpoint(self) -> bool:
        """Tells whether there is something to go on from."""
        return checkpoint.exists(self.path)

    def restore(self, variables: dict) -> int:
        """Loads the checkpoint into named variables; returns its step, 0 where there is none.

        A damaged checkpoint is removed if the one before is whole, which is loaded in its place.

        Raises:
            ValueError: where all checkpoints are damaged or are those of other variables.
        """
        found = checkpoint.read_newest(self.path)
        if found is None:
            return 0
        if found.damage:
            print(f"{found.damage}. Going on from the one before.", file=sys.stderr, flush=True)
            if self.writes:
                # It must not take the place of the whole one when the next is written.
                checkpoint.forget_last(self.path)
        shapes = {name: tuple(variable.shape) for name, variable in variables.items()}
        if shapes != {name: array.shape for name, array in found.arrays.items()}:
            raise ValueError(
                "Expected a checkpoint of this model; remove it to start over. "
                f"Received: {found.path}"
            )
        for name, variable in variables.items():
            variable.assign(found.arrays[name])
        return found.step

    def log(self, rows: list[dict]) -> None:
        """Appends rows to the log of losses."""
        if not (self.writes and rows):
            return
        path = self.path / _METRICS
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0].keys())
        if not path.exists():
            writer.writeheader()
        writer.writerows(rows)
        with open(path, "a") as handle:
            handle.write(text.getvalue())

    def forget_after(self, step: int) -> None:
        """Drops logged rows of steps after `step`, which a resumed run will log again."""
        path = self.path / _METRICS
        if not (self.writes and path.exists()):
            return
        kept = [row for row in self.logged() if int(row["step"]) <= step]
        with files.atomic_file(path) as temporary, open(temporary, "w", newline="") as handle:
            if kept:
                writer = csv.DictWriter(handle, kept[0].keys())
                writer.writeheader()
                writer.writerows(kept)
        if not kept:
            path.unlink()

    def logged(self) -> list[dict]:
        """Returns the rows of the log of losses, as text."""
        path = self.path / _METRICS
        if not path.exists():
            return []
        with open(path, newline="") as handle:
            # A killed run may have left half a row at the end.
            return [row for row in csv.DictReader(handle) if None not in row.values()]

    def write_summary(self, summary: dict) -> None:
        """Writes the measures of a finished run; `summary["steps"]` says how far it went."""
        if self.writes:
            with files.atomic_file(self.path / _SUMMARY) as temporary:
                temporary.write_text(json.dumps(summary, indent=2) + "\n")

    def finished_summary(self, steps: int) -> dict | None:
        """Returns the summary of a run that has taken `steps` steps, and says so.

        Args:
            steps: int. 0 for a run that takes none.

        Returns:
            The summary, or None where there is work to do.
        """
        path = self.path / _SUMMARY
        summary = json.loads(path.read_text()) if path.exists() else None
        if summary is None or summary["steps"] != steps:
            return None
        if steps:
            print(f"This run is finished: {steps} steps in {self.path}. Raise --steps to go on.")
        else:
            print(f"This run is finished: {self.path}.")
        return summary


def check_not_further(folder: str | os.PathLike, steps: int) -> None:
    """Raises where the run in a folder has taken more steps than are asked for.

    Its weights are those of the later step: banks, summary and configuration must not say less.

    Args:
        folder: of the run; need not exist.
        steps: int. Steps that are asked for.

    Raises:
        ValueError: where the run is further, or its checkpoint is damaged.
    """
    found = checkpoint.read_newest(pathlib.Path(folder))
    if found is not None and found.step > steps:
        raise ValueError(
            f"Expected at least {found.step} steps, since the run in this folder is at step "
            f"{found.step}; nothing was changed. Received: {steps} steps for {folder}"
        )
