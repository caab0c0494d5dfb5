"""Configurations: bad values, files, and folders of other runs."""

import pytest

from anchornet_tf.training import config_file
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2.config import Stage2Config


@pytest.mark.parametrize(
    "change, message",
    [
        ({"classes": ("cow", "cow")}, "named once. Received: cow, cow"),
        ({"classes": ("cow", " ")}, "and not empty. Received: ''"),
        ({"classes": ("all", "cow")}, "`all` stands alone, for all classes. Received: all, cow"),
        ({"images_per_class": 0}, "`images_per_class` must be a positive integer. Received: 0"),
        ({"num_filters": 0}, "`num_filters` must be a positive integer. Received: 0"),
        ({"batch_size": 7}, "must be even(.|\n)*Received: 7"),
        ({"image_size": 16}, "at least 32. Received: 16"),
        (
            {"learning_rate": float("nan")},
            "`learning_rate` must be a finite number(.|\n)*Received: nan",
        ),
        ({"sigma": -1.0}, "`sigma` must be a finite number(.|\n)*Received: -1.0"),
    ],
)
def test_bad_values(change, message):
    with pytest.raises(ValueError, match=message):
        Stage1Config(**change)


def test_all_stands_for_the_classes_of_the_data():
    counts = {"okapi": 3, "giraffe": 5}
    assert Stage1Config().of_data(counts).classes == ("bird",), "of the embedded data"
    own = Stage1Config(data="folder:images")
    assert own.classes == ("all",) and own.of_data(counts).classes == ("okapi", "giraffe")
    one = Stage1Config(classes=("giraffe",), data="folder:images")
    assert one.of_data(counts) is one


def test_save_and_load(tmp_path):
    config = Stage1Config(classes=("bird", "cow"), sigma=2.0)
    config_file.save(config, tmp_path)
    assert config_file.load(Stage1Config, tmp_path) == config


def test_a_folder_of_another_run_is_refused(tmp_path):
    config_file.check_same(Stage1Config(), tmp_path)
    config_file.save(Stage1Config(), tmp_path)
    config_file.check_same(Stage1Config(), tmp_path)
    config_file.check_same(Stage1Config(steps=10_000), tmp_path)
    with pytest.raises(ValueError, match="Received: .*num_filters 64 there, 32 here"):
        config_file.check_same(Stage1Config(num_filters=32), tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="folder of a stage1 run"):
        config_file.check_same(Stage1Config(), tmp_path)


def test_a_refusal_is_one_line_whatever_the_file_holds(tmp_path):
    (tmp_path / "config.json").write_text('{"of two\\nlines": 1}')
    with pytest.raises(ValueError, match=r"^[^\n]*other fields: of two lines\)$"):
        config_file.load(Stage1Config, tmp_path)


def test_the_descriptor_is_shorter_than_all_filters():
    config = Stage2Config(banks=("run",))
    lengths = {64: 32, 128: 64, 576: 256, 1280: 256}
    assert {filters: config.of_banks(filters, 4).latent_filters for filters in lengths} == lengths
    given = Stage2Config(banks=("run",), latent_filters=100, sigma=2.0)
    assert given.of_banks(128, 4) is given
    with pytest.raises(ValueError, match="filters of all banks, 64. Received: 100"):
        given.of_banks(64, 4)
