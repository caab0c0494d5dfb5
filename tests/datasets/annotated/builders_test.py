"""The TFDS builders hold what the readers read."""

import numpy as np
import pytest
import tensorflow_datasets as tfds

from anchornet_tf.datasets.annotated import builders
from tests.datasets.annotated import folders

CASES = {
    builders.PfWillow: folders.willow,
    builders.PfPascal: folders.pascal_pairs,
    builders.PascalParts: folders.flowweb,
    builders.Spair: folders.spair,
}


def _prepare(builder_class, manual, data):
    builder = builder_class(data_dir=str(data), file_format="array_record")
    config = tfds.download.DownloadConfig(manual_dir=str(manual))
    builder.download_and_prepare(download_config=config)
    return builder.as_data_source("test")


@pytest.mark.parametrize("builder_class", CASES, ids=lambda kind: kind.__name__)
def test_records_equal_what_is_read(builder_class, tmp_path):
    manual = CASES[builder_class](tmp_path / "manual")
    records = _prepare(builder_class, manual, tmp_path / "data")
    pairs = builder_class.reader.read(manual).pairs
    assert len(records) == len(pairs)
    for record, pair in zip(records, pairs, strict=True):
        assert record["name"].decode() == pair.name
    for side, expected in (("source", pair.source), ("target", pair.target)):
        np.testing.assert_allclose(record[side]["points"], expected.points, rtol=1e-6)
        difference = record[side]["image"].astype(int) - expected.read_image()
        assert np.abs(difference).max() <= (0 if builder_class is builders.PfWillow else 4)
        if builder_class.has_masks:
            masks = expected.read_masks()
            np.testing.assert_array_equal(record[side]["mask"][..., 0] > 0, masks.whole)
            assert len(record[side]["part_masks"]) == len(masks.parts)


def test_missing_data_is_explained(tmp_path):
    (tmp_path / "manual").mkdir()
    expected = "Expected the folders of PF-WILLOW.*100 .png"
    with pytest.raises(AssertionError, match=expected):  # TFDS' own error for an empty folder.
        _prepare(builders.PfWillow, tmp_path / "manual", tmp_path / "data")
    (tmp_path / "manual" / "notes.txt").touch()
    with pytest.raises(FileNotFoundError, match=expected):
        _prepare(builders.PfWillow, tmp_path / "manual", tmp_path / "data")
    for builder_class in (builders.Cub, builders.AnimalParts):
        assert "Get " in builder_class.MANUAL_DOWNLOAD_INSTRUCTIONS
