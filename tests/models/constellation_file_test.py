"""The file of the parts of a class: the same numbers again, and what is wrong in one line."""

import numpy as np
import pytest

from anchornet_tf.models.constellation_file import ConstellationFile


def constellation(**changes) -> ConstellationFile:
    """Two aspects of three parts."""
    rng = np.random.default_rng(0)
    values = {
        "class_name": "french horn",
        "channels": [[[1, 7], [2, 5], [0, 3]], [[2, 5], [1, 9], [1, 8]]],
        "shifts": rng.normal(size=(2, 3, 2)),
        "variances": rng.random((2, 3)),
        "visibility": [[1.0, 0.5, 0.25], [1.0, 0.5, 0.5]],
        "weights": [0.75, 0.25],
        "trunk_digest": "abc",
        "record": {"seed": 3, "taps": ["res4c"]},
    }
    return ConstellationFile(**{**values, **changes})


def test_what_is_read_is_what_was_written(tmp_path):
    written = constellation()
    written.save(tmp_path / "parts.npz")
    read = ConstellationFile.load(tmp_path / "parts.npz")
    for name in ("channels", "shifts", "variances", "visibility", "weights"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))
    for name in ("class_name", "trunk_digest", "record"):
        assert getattr(read, name) == getattr(written, name)
    assert read.union() == written.union() and read.num_aspects == 2
    assert [path.name for path in tmp_path.iterdir()] == ["parts.npz"]


def test_the_union_has_each_channel_once_and_the_most_visible_first():
    # Shares of all images: 0.75, 0.75 * 0.5 + 0.25, 0.75 * 0.25, 0.125 and 0.125.
    union = [(1, 7), (2, 5), (0, 3), (1, 8), (1, 9)]
    assert constellation().union() == union
    assert constellation().union(2) == union[:2]
    with pytest.raises(ValueError, match="positive number of channels. Received: 0"):
        constellation().union(0)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": [1.0]},
        {"shifts": np.zeros((2, 3))},
        {"channels": np.zeros((0, 3, 2)), "weights": []},
        {"channels": np.zeros(4)},
    ],
)
def test_arrays_that_do_not_go_together_are_refused(changes):
    with pytest.raises(ValueError, match=r"Expected channels and shifts .*Received: \("):
        constellation(**changes)


def test_numbers_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="Received: NaN"):
        constellation(weights=[np.nan, 1])
    with pytest.raises(ValueError, match="negative channel"):
        constellation(channels=-np.ones((2, 3, 2)))


def test_another_trunk_is_refused():
    constellation().check_trunk("abc")
    with pytest.raises(ValueError, match="Expected the trunk abc.*Received: the trunk def"):
        constellation().check_trunk("def")


def test_files_that_are_something_else_are_refused(tmp_path):
    constellation().save(tmp_path / "horn.npz")
    with pytest.raises(FileNotFoundError, match=r"there are horn.npz. Received: .*corn.npz"):
        ConstellationFile.load(tmp_path / "corn.npz")
    with pytest.raises(FileNotFoundError, match=r"there are horn.npz. Received: "):
        ConstellationFile.load(tmp_path)
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "bank.npz", kernel=np.zeros(3))
    whole = (tmp_path / "horn.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "bank", "half"):
        with pytest.raises(ValueError, match=r"trainers.constellation` wrote .*Received: .*npz"):
            ConstellationFile.load(tmp_path / f"{name}.npz")
