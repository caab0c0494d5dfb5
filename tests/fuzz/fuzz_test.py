"""A few hundred damaged inputs, and those that something was found with before."""

import struct
import time

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.datasets.annotated.mat_files import read_mat
from anchornet_tf.models import anchornet_folder
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.utils.image_io import read_scaled
from tests.fuzz import __main__ as fuzz
from tests.fuzz import judge
from tests.fuzz.inputs import encoded_images

# The slow one of them makes its own graph.
TARGETS = {target.name: target for target in fuzz.targets() if target.name != "bytes for a server"}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_are_read_or_refused(name, tmp_path):
    fed = fuzz.feed(TARGETS[name], 25, 1, tmp_path)
    assert fed.count and not fed.findings, fed.findings


def test_a_hang_is_found_and_a_busy_machine_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "SLOWEST", 0.2)
    busy, looping, waiting = (judge.Judge(name, tmp_path) for name in ("a", "b", "c"))
    busy.hear(lambda: time.sleep(0.5), "a", b"")
    assert not busy.findings

    def loop():
        while True:
            pass

    looping.hear(loop, "a", b"")
    monkeypatch.setattr(judge, "_LONGEST", 0.3)
    waiting.hear(lambda: time.sleep(5), "a", b"")
    for found in (looping, waiting):
        assert len(found.findings) == 1 and "Hung" in next(iter(found.findings))


def test_formats_are_many():
    assert len(encoded_images()) >= 12


def test_an_element_of_an_unknown_type_does_not_reach_scipy(tmp_path):
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    flags = struct.pack("<IIII", 6, 8, 6, 0)
    sizes = struct.pack("<IIii", 5, 8, 2, 10)
    name = struct.pack("<II", 1, 8) + b"pts_cord"
    # Of this type there is none; SciPy takes it for a place in a table.
    values = struct.pack("<II", 0x7ED3, 160) + bytes(160)
    matrix = flags + sizes + name + values
    path = tmp_path / "a.mat"
    path.write_bytes(header + struct.pack("<II", 14, len(matrix)) + matrix)
    with pytest.raises(ValueError, match="element of type 32467.*|Received: .*a.mat"):
        read_mat(path)


def test_sizes_in_a_configuration_are_compared_with_the_arrays_first(tmp_path):
    options = '{"classes": ["a"], "num_filters": 1000000000, "dimensions": 8, "latent_filters": 2}'
    (tmp_path / "config.json").write_text(
        '{"format": "anchornet_tf.AnchorNet/1", "trunk": "imagenet", "options": ' + options + "}"
    )
    arrays = {"bank/a/kernel": np.ones((3, 3, 24, 4)), "code_equalizer/matrix": np.eye(2)}
    np.savez(tmp_path / "heads.npz", **arrays)
    with pytest.raises(ValueError, match="1000000000.*Received: "):
        anchornet_folder.read(tmp_path)


def test_a_bank_whose_arrays_do_not_fit_is_refused(tmp_path):
    arrays = {name: np.ones(3) for name in ("bias", "running_mean", "running_square")}
    bank = BankFile("bird", arrays | {"kernel": np.ones((3, 3, 6, 2))}, "digest", {})
    bank.save(tmp_path / "bird.npz")
    with pytest.raises(ValueError, match=r"shapes .*Received: .*bird.npz"):
        BankFile.load(tmp_path / "bird.npz")


def test_an_image_of_900_megapixels_is_refused_before_it_is_decoded(tmp_path):
    path = tmp_path / "huge.png"
    PIL.Image.new("1", (30000, 30000)).save(path)
    with pytest.raises(ValueError, match="900,000,000 pixels"):
        read_scaled(path)
