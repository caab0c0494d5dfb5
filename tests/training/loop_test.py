"""A run that is killed around a checkpoint ends with the log and the weights of a whole one."""

import pathlib

import pytest
import tensorflow as tf

from anchornet_tf.training import loop
from anchornet_tf.training.run_folder import RunFolder

_STEPS, _EVERY = 7, 2


class _Killed(BaseException):
    """Stands for the end of the process: nothing cleans up after it."""


class _KilledFolder(RunFolder):
    """A folder whose process is killed at a moment of its second checkpoint."""

    moment, checkpoints = "", 0

    def log(self, rows):
        self.checkpoints += 1
        if self._is("before the log"):
            raise _Killed
        super().log(rows)
        path = self.path / "metrics.csv"
        if self._is("within the log"):
            path.write_bytes(path.read_bytes()[:-4])
            raise _Killed
        if self._is("between the two"):
            raise _Killed

    def save(self, step, variables):
        super().save(step, variables)
        if self._is("after the checkpoint"):
            raise _Killed

    def _is(self, moment):
        return self.checkpoints == 2 and self.moment == moment


def _run(folder: RunFolder) -> float:
    value = tf.Variable(1.0)

    def step(number):
        value.assign(value * 1.5 + number)
        return {"loss": value.numpy(), "part": value.numpy() / 3}

    loop.run(
        folder=folder,
        variables={"value": value},
        batches_from=lambda start: range(start + 1, _STEPS + 1),
        step=step,
        steps=_STEPS,
        checkpoint_every=_EVERY,
    )
    return float(value.numpy())


def _log(path: pathlib.Path) -> str:
    return (path / "metrics.csv").read_text()


@pytest.mark.parametrize(
    "moment", ["before the log", "within the log", "between the two", "after the checkpoint"]
)
def test_a_killed_run_ends_with_the_same_log_and_weights(moment, tmp_path):
    whole = _run(RunFolder(tmp_path / "whole"))
    assert _log(tmp_path / "whole").count("\n") == _STEPS + 1
    killed = _KilledFolder(tmp_path / "killed")
    killed.moment = moment
    with pytest.raises(_Killed):
        _run(killed)
    assert _run(RunFolder(tmp_path / "killed")) == whole
    assert _log(tmp_path / "killed") == _log(tmp_path / "whole")
