"""The steps of a training run: progress, logs, checkpoints, resuming, a stop at the first NaN."""

import math
from collections.abc import Callable, Iterable

import tensorflow as tf
from tqdm import tqdm

from anchornet_tf.training.broken_loss import BrokenLoss
from anchornet_tf.training.run_folder import RunFolder


def run(
    *,
    folder: RunFolder,
    variables: dict,
    batches_from: Callable[[int], Iterable],
    step: Callable[[object], dict],
    steps: int,
    checkpoint_every: int = 50,
    images: Callable[[], dict] | None = None,
) -> int:
    """Runs the steps that are left of a run.

    Args:
        folder: of the run.
        variables: everything that the state consists of, by name.
        batches_from: returns the batches from a step on. They must be a function of the step alone:
            that makes a resumed run equal to one that was never stopped.
        step: takes one batch through one update and returns the parts of the loss, as scalars, from
            before the update.
        steps: int. Steps of the whole run.
        checkpoint_every: int. Steps between checkpoints.
        images: returns pictures `(n, height, width, 3)` by name for TensorBoard, at every
            checkpoint.

    Returns:
        the step that the run was resumed from, 0 for a new one.

    Raises:
        BrokenLoss: at the first loss that is not finite.
    """
    start = folder.restore(variables)
    if start >= steps:
        return start
    folder.forget_after(start)
    writer = (
        tf.summary.create_file_writer(str(folder.path / "tensorboard")) if folder.writes else None
    )
    rows: list[dict] = []
    with tqdm(total=steps, initial=start, unit=" steps", disable=not folder.writes) as bar:
        for number, batch in zip(range(start + 1, steps + 1), batches_from(start), strict=False):
            parts = {name: float(value) for name, value in step(batch).items()}
            broken = [name for name, value in parts.items() if not math.isfinite(value)]
            if broken:
                folder.log(rows)
                shown = ", ".join(f"{name}={parts[name]}" for name in broken)
                kept = number - 1 - len(rows)
                raise BrokenLoss(
                    "Expected finite losses; a smaller --learning_rate often helps, and "
                    f"{f'the checkpoint of step {kept} is kept' if kept else 'nothing was saved'}. "
                    f"Received: {shown} at step {number}"
                )
            rows.append({"step": number, **{name: f"{value:.6g}" for name, value in parts.items()}})
            bar.update()
            bar.set_postfix_str(
                "  ".join(f"{name} {value:.3g}" for name, value in parts.items()), refresh=False
            )
            _summarise(writer, number, parts)
            if number % checkpoint_every == 0 or number == steps:
                # Rows of steps after the checkpoint are dropped when a run goes on; rows that were
                # never logged would be missing for good.
                folder.log(rows)
                folder.save(number, variables)
                rows = []
                _summarise_images(writer, number, images)
    return start


def _summarise(writer, number: int, parts: dict) -> None:
    if writer is None:
        return
    with writer.as_default(step=number):
        for name, value in parts.items():
            tf.summary.scalar(f"loss/{name}", value)


def _summarise_images(writer, number: int, images) -> None:
    if writer is None:
        return
    with writer.as_default(step=number):
        for name, picture in (images() if images else {}).items():
            tf.summary.image(name, picture)
    writer.flush()
