"""The models, banks and options that the descriptors of an evaluation are made with."""

import numpy as np
import pytest

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.utils.safe_names import safe_name


@pytest.fixture
def made(monkeypatch):
    """Records the arguments of descriptors instead of making them."""
    calls = []
    monkeypatch.setattr(
        DESCRIPTORS, "create", lambda name, **options: calls.append((name, options)) or object()
    )
    return calls


def test_a_model_serves_both_kinds_and_is_read_once(made, tmp_path, monkeypatch):
    from anchornet_tf.models.anchornet import AnchorNet

    read = []
    (tmp_path / "config.json").touch()
    monkeypatch.setattr(
        AnchorNet, "from_preset", lambda folder, **_: read.append(folder) or "network"
    )
    descriptors = Descriptors(model=tmp_path, image_size=96)
    descriptors.describe("anchornet", "car")
    for class_name in ("car", "bird", "car"):
        descriptors.describe("anchornet-class", class_name)
    assert made == [
        ("anchornet", {"image_size": 96, "model": "network"}),
        ("anchornet-class", {"image_size": 96, "model": "network", "class_name": "car"}),
        ("anchornet-class", {"image_size": 96, "model": "network", "class_name": "bird"}),
    ]
    assert read == [tmp_path]


def test_the_default_preset_serves_where_nothing_is_named(made, monkeypatch):
    descriptors = Descriptors()
    descriptors.check("anchornet", ["car"])
    descriptors.check("anchornet-class", ["car"])
    assert len(descriptors.identity("anchornet")["weights"]) == 16
    with pytest.raises(ValueError, match="a preset: .*voc20.*Received: 'nothing'"):
        Descriptors(model="nothing")


def test_descriptors_without_a_network_get_their_own_options_alone(made):
    descriptors = Descriptors({"sift": {"step": 4}})
    assert descriptors.describe("sift", "car") is descriptors.describe("sift", "bird")
    assert made == [("sift", {"step": 4})]
    assert descriptors.identity("sift") == {"step": "4"}
    assert descriptors.identity("hc") == {"image_size": "224"}


def test_the_model_of_an_option_is_used(made, tmp_path, monkeypatch):
    """The option was once recorded while the preset was used."""
    from anchornet_tf.models.anchornet import AnchorNet

    monkeypatch.setattr(AnchorNet, "from_preset", lambda *args, **options: (args, options))
    (tmp_path / "config.json").touch()
    np.savez(tmp_path / "heads.npz", kernel=np.zeros(3))
    descriptors = Descriptors({"anchornet": {"model": str(tmp_path), "equalization": 0}})
    descriptors.check("anchornet", ["car"])
    descriptors.describe("anchornet", "car")
    loaded = ((str(tmp_path),), {"equalization": 0})
    assert made == [("anchornet", {"image_size": 224, "model": loaded})]
    identity = descriptors.identity("anchornet")
    assert identity["model"] == repr(str(tmp_path)) and identity["equalization"] == "0"
    assert identity["weights"] != Descriptors().identity("anchornet")["weights"]
    with pytest.raises(ValueError, match="Expected one model.* Received: voc20 and "):
        Descriptors({"anchornet": {"model": str(tmp_path)}}, model="voc20")
    with pytest.raises(ValueError, match="a preset: .*Received: 'nothing'"):
        Descriptors({"anchornet": {"model": "nothing"}}).check("anchornet", [])


def test_a_bank_or_a_class_of_an_option_serves_all_images(made, tmp_path, monkeypatch):
    from anchornet_tf.models.anchornet import AnchorNet

    monkeypatch.setattr(AnchorNet, "from_preset", lambda *_, **__: "network")
    np.savez(tmp_path / "car.npz", kernel=np.zeros(3))
    of_bank = Descriptors({"anchornet-class": {"bank": str(tmp_path / "car.npz")}})
    of_class = Descriptors({"anchornet-class": {"class_name": "cow"}})
    for descriptors in (of_bank, of_class):
        assert not descriptors.depends_on_class("anchornet-class")
        descriptors.check("anchornet-class", ["car", "bird"])
        descriptors.describe("anchornet-class", "bird")
        assert len(descriptors.identity("anchornet-class")["weights"]) == 16
    assert [options for _, options in made] == [
        {"bank": str(tmp_path / "car.npz"), "image_size": 224},
        {"class_name": "cow", "image_size": 224, "model": "network"},
    ]


def test_other_weights_are_another_identity(tmp_path):
    np.savez(tmp_path / "car.npz", kernel=np.zeros(3))
    first = Descriptors(banks=tmp_path).identity("anchornet-class")
    assert first == Descriptors(banks=tmp_path).identity("anchornet-class")
    np.savez(tmp_path / "car.npz", kernel=np.ones(3))
    assert first != Descriptors(banks=tmp_path).identity("anchornet-class")


@pytest.mark.slow
def test_banks_of_a_run_describe_the_images_of_their_class(tmp_path):
    from anchornet_tf.models.bank_file import BankFile
    from anchornet_tf.trunks import pca

    rng = np.random.default_rng(0)
    arrays = {
        "kernel": rng.normal(size=(3, 3, 768, 5)).astype(np.float32),
        "bias": np.zeros(5, np.float32),
        "running_mean": np.zeros(5, np.float32),
        "running_square": np.ones(5, np.float32),
    }
    projections = pca.shipped()
    projections.save(tmp_path / "pca.npz")
    BankFile("car", arrays, projections.digest(), {}).save(tmp_path / "banks" / "car.npz")
    descriptors = Descriptors(banks=tmp_path / "banks", image_size=64)
    descriptors.check("anchornet-class", ["car"])
    (features,) = descriptors.describe("anchornet-class", "car")([np.zeros((40, 50, 3), np.uint8)])
    assert features.values.shape == (16, 16, 5) and features.image_size == (40, 50)


@pytest.fixture
def parts(tmp_path):
    """A folder with the parts of two classes."""
    one = np.ones((1, 1))
    for number, name in enumerate(("car", "french horn")):
        file = ConstellationFile(name, [[[0, number]]], [[[0, 0]]], one, one, one[0], "digest", {})
        file.save(tmp_path / f"{safe_name(name)}.npz")
    return tmp_path


def test_a_folder_of_parts_serves_each_class_with_its_own(made, parts):
    feature = "constellation-hc"
    descriptors = Descriptors({feature: {"constellation": str(parts)}})
    descriptors.check(feature, ["car", "french horn"])
    assert descriptors.depends_on_class(feature) and not descriptors.depends_on_class("hc")
    for name in ("car", "french horn", "car"):
        descriptors.describe(feature, name)
    files = [options["constellation"] for _, options in made]
    assert files == [parts / "car.npz", parts / f"{safe_name('french horn')}.npz"]
    before = descriptors.identity(feature)["constellation"]
    (parts / "car.npz").write_bytes(b"other parts")
    assert descriptors.identity(feature)["constellation"] != before
    with pytest.raises(FileNotFoundError, match="Expected parts.*Received: .* without bird, cow"):
        descriptors.check(feature, ["cow", "car", "bird"])


def test_one_file_of_parts_serves_all_classes(made, parts):
    feature = "constellation-bp"
    descriptors = Descriptors({feature: {"constellation": parts / "car.npz"}})
    descriptors.check(feature, ["car", "bird"])
    assert descriptors.describe(feature, "car") is descriptors.describe(feature, "bird")
    assert made == [(feature, {"constellation": parts / "car.npz", "image_size": 224})]
    with pytest.raises(ValueError, match="option=constellation=FILE.*Received: neither"):
        Descriptors().check(feature, ["car"])
    with pytest.raises(FileNotFoundError, match="Received: nowhere"):
        Descriptors({feature: {"constellation": "nowhere"}}).check(feature, ["car"])
