"""Checkpoints that are damaged, foreign or missing; the log of losses."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.training.run_folder import RunFolder, check_not_further


def test_checkpoint_round_trip(tmp_path):
    folder = RunFolder(tmp_path / "new" / "run")
    variables = {"a/b": tf.Variable([1.0, 2.0]), "c": tf.Variable(3)}
    assert folder.restore(variables) == 0
    folder.save(7, variables)
    for variable in variables.values():
        variable.assign(variable * 0)
    assert folder.restore(variables) == 7
    np.testing.assert_array_equal(variables["a/b"], [1, 2])
    assert int(variables["c"]) == 3


def test_bad_checkpoints(tmp_path):
    folder = RunFolder(tmp_path)
    folder.save(1, {"a": tf.Variable([1.0])})
    with pytest.raises(ValueError, match="checkpoint of this model(.|\n)*Received: "):
        folder.restore({"a": tf.Variable([1.0, 2.0])})
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="whole checkpoint(.|\n)*Received: .*checkpoint.npz"):
        folder.restore({"a": tf.Variable([1.0])})


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, capsys):
    folder, state = RunFolder(tmp_path), {"a": tf.Variable([1.0, 2.0])}
    folder.save(1, state)
    folder.save(2, {"a": tf.Variable([3.0, 4.0])})
    path = tmp_path / "checkpoint.npz"
    raw = bytearray(path.read_bytes())
    raw[raw.index(np.float32(3).tobytes())] ^= 1
    path.write_bytes(raw)
    assert folder.restore(state) == 1
    np.testing.assert_array_equal(state["a"], [1, 2])
    assert "Going on from the one before" in capsys.readouterr().err
    # The damaged one must not take the place of the whole one.
    folder.save(2, state)
    assert folder.restore(state) == 2
    assert (tmp_path / "checkpoint.previous.npz").exists()


def test_a_checksum_finds_what_the_archive_does_not(tmp_path):
    folder = RunFolder(tmp_path)
    folder.save(1, {"a": tf.Variable([1.0])})
    with np.load(tmp_path / "checkpoint.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "checkpoint.npz", **arrays | {"a": np.float32([2])})
    with pytest.raises(ValueError, match="its checksum differs"):
        folder.restore({"a": tf.Variable([1.0])})


def test_a_run_that_is_further_is_refused(tmp_path):
    check_not_further(tmp_path / "none", 1)
    folder = RunFolder(tmp_path)
    folder.save(5, {"a": tf.Variable([1.0])})
    for steps in (5, 6):
        check_not_further(tmp_path, steps)
    with pytest.raises(ValueError, match="is at step 5; nothing was changed. Received: 4 steps"):
        check_not_further(tmp_path, 4)
    (tmp_path / "checkpoint.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="whole checkpoint.*Received: "):
        check_not_further(tmp_path, 4)


def test_other_workers_write_nothing(tmp_path):
    folder = RunFolder(tmp_path, writes=False)
    folder.save(1, {"a": tf.Variable([1.0])})
    folder.log([{"step": 1, "loss": 2}])
    folder.write_summary({"steps": 1})
    assert list(tmp_path.iterdir()) == []


def test_log_forgets_what_a_resumed_run_repeats(tmp_path):
    folder = RunFolder(tmp_path)
    folder.log([{"step": step, "loss": step / 10} for step in (1, 2, 3)])
    folder.forget_after(2)
    folder.log([{"step": 3, "loss": 9}])
    assert [(row["step"], row["loss"]) for row in folder.logged()] == [
        ("1", "0.1"),
        ("2", "0.2"),
        ("3", "9"),
    ]
    folder.forget_after(0)
    assert folder.logged() == []


def test_the_summary_tells_a_finished_run(tmp_path, capsys):
    folder = RunFolder(tmp_path)
    assert folder.finished_summary(3) is None
    folder.write_summary({"steps": 3, "a": 1})
    assert folder.finished_summary(4) is None
    assert capsys.readouterr().out == ""
    assert folder.finished_summary(3) == {"steps": 3, "a": 1}
    assert "finished: 3 steps" in capsys.readouterr().out
