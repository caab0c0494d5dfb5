"""A run that is further than the steps asked for is left as it is."""

import pytest
import tensorflow as tf

from anchornet_tf.training import config_file
from anchornet_tf.training.run_folder import RunFolder
from anchornet_tf.training.stage1 import run as stage1_run
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.config import Stage2Config

_STAGES = {
    "stage1": (stage1_run.train, Stage1Config(steps=8)),
    "stage2": (stage2_run.train, Stage2Config(banks=("none",), steps=8)),
}


def _with_steps(config, steps):
    return type(config)(**{**vars(config), "steps": steps})


def _run_at(folder, config, step, summary=None):
    """Writes what a run of `config` leaves after `step` steps, finished or killed."""
    run = RunFolder(folder)
    config_file.save(config, folder)
    run.save(step, {"a": tf.Variable([1.0])})
    run.log([{"step": number, "loss": 1} for number in range(1, step + 1)])
    if summary is not None:
        run.write_summary(summary)
    (folder / "banks").mkdir()
    (folder / "banks" / "bird.npz").write_bytes(b"a bank")


def _contents(folder):
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("stage", _STAGES)
def test_fewer_steps_change_nothing(stage, finished, tmp_path):
    train, config = _STAGES[stage]
    summary = {"steps": 8, "classes": {}} if finished else None
    _run_at(tmp_path / "run", config, 8, summary)
    before = _contents(tmp_path / "run")
    with pytest.raises(ValueError, match="the run in this folder is at step 8.*Received: 5 steps"):
        train(_with_steps(config, 5), tmp_path / "run")
    assert _contents(tmp_path / "run") == before


@pytest.mark.parametrize("stage", _STAGES)
def test_a_finished_run_that_went_on_and_was_killed_is_further(stage, tmp_path):
    train, config = _STAGES[stage]
    _run_at(tmp_path / "run", _with_steps(config, 12), 10, {"steps": 8, "classes": {}})
    before = _contents(tmp_path / "run")
    with pytest.raises(ValueError, match="is at step 10.*Received: 8 steps"):
        train(config, tmp_path / "run")
    assert _contents(tmp_path / "run") == before


def test_a_finished_run_prints_its_summary_and_changes_nothing(source, tmp_path, capsys):
    data = f"folder:{tmp_path / 'images'}"
    config = Stage1Config(("bird",), data, steps=8, heldout_fraction=0.5)
    measures = {"filter_cosine": 0.1, "map_overlap": 0.2, "average_precision": 0.875}
    summary = {"steps": 8, "classes": {"bird": measures}}
    _run_at(tmp_path / "run", config, 8, summary)
    before = _contents(tmp_path / "run")
    assert stage1_run.train(config, tmp_path / "run") == summary
    printed = capsys.readouterr().out
    assert "This run is finished: 8 steps" in printed and "0.875" in printed
    assert _contents(tmp_path / "run") == before
