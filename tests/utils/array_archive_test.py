"""Archives from anywhere are data, and say no more than they hold."""

import io
import zipfile

import numpy as np
import pytest

from anchornet_tf.utils import array_archive
from anchornet_tf.utils.array_archive import open_archive


def test_plain_arrays_are_read(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b/c": np.array(3), "empty": np.zeros((0, 4))}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        with open_archive(tmp_path / "x.npz") as archive:
            assert set(archive.files) == set(arrays)
            for name, array in arrays.items():
                np.testing.assert_array_equal(archive[name], array)


class _Armed:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def test_objects_are_refused_and_not_run(tmp_path):
    mark = tmp_path / "was run"
    np.savez(tmp_path / "x.npz", a=np.array([_Armed(mark)], dtype=object))
    with pytest.raises(ValueError, match="'a' holds objects"), open_archive(tmp_path / "x.npz"):
        pass
    assert not mark.exists()


def _write(path, name, contents):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, contents)


def _header(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()


def test_a_shape_without_its_numbers_is_refused_before_memory_is_asked_for(tmp_path):
    _write(tmp_path / "x.npz", "a.npy", _header((10**6, 10**6)) + b"1234")
    with pytest.raises(ValueError, match="takes 4,000,000,000,"), open_archive(tmp_path / "x.npz"):
        pass


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(array_archive, "MOST_BYTES", 10_000)
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(100_000))
    with pytest.raises(ValueError, match="more than 10,000"), open_archive(tmp_path / "x.npz"):
        pass


@pytest.mark.parametrize(
    ("name", "contents", "said"),
    [
        ("../a.txt", b"x", "no array"),
        ("a.npy", b"x", "EOF|magic"),
        ("a.npy", b"\x93NUMPY\x07\x00", "version"),
    ],
)
def test_other_members_are_refused(tmp_path, name, contents, said):
    _write(tmp_path / "x.npz", name, contents)
    with pytest.raises(ValueError, match=said), open_archive(tmp_path / "x.npz"):
        pass


def test_a_single_array_is_no_archive(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(ValueError, match="no archive"), open_archive(tmp_path / "x.npy"):
        pass


@pytest.mark.parametrize("text", [b"{'shape': ((((", b"-" * 9000 + b"1"], ids=["open", "signs"])
def test_a_header_that_python_cannot_parse_is_a_refusal(tmp_path, text):
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    _write(tmp_path / "x.npz", "a.npy", header)
    with (
        pytest.raises(ValueError, match=r"^Expected a bank \([^\n]*\). Received: .*x.npz$"),
        array_archive.reading(tmp_path / "x.npz", "Expected a bank"),
    ):
        pass
