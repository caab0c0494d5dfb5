"""Cached taps are those of the planned views, computed once and shared by equal runs."""

import numpy as np

from anchornet_tf.training.batch_plan import plan_batches
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.joint_plan import plan_joint_batches


class _Extractor:
    """Stands for the trunk: channel 0 of each tap is the mean colour of a part of the image."""

    def __init__(self):
        self.images = 0

    def __call__(self, batch):
        batch = np.asarray(batch)
        self.images += len(batch)
        taps = []
        for size in (16, 4, 2):
            blocks = batch.reshape(len(batch), size, 64 // size, size, 64 // size, 3)
            mean = blocks.mean(axis=(2, 4, 5))[..., None]
            taps.append(np.repeat(mean, 256, axis=-1) / 255)
        return tuple(taps)


def _cached(source, folder, **changes):
    options = {"pca_digest": "x", "weights": "w", "image_size": 64, "views": 1, "seed": 0}
    return CachedViews(source, folder, **{**options, **changes})


def test_both_stages_share_what_was_computed(source, tmp_path):
    columns = source.require_classes(["bird", "cow"])
    options = {"batch_size": 4, "seed": 0, "num_steps": 4, "views": 1}
    stage1 = plan_batches(source, columns, **options)
    stage2 = plan_joint_batches(source, columns, **{**options, "num_steps": 6})
    extractor = _Extractor()
    cached = _cached(source, tmp_path / "cache")
    assert cached.fill(extractor, stage1) == len(np.unique(stage1.image_index))
    again = _cached(source, tmp_path / "cache")
    new = np.setdiff1d(stage2.image_index, stage1.image_index)
    assert again.fill(extractor, stage2) == len(new)
    assert extractor.images == len(np.union1d(stage1.image_index, stage2.image_index))

    batches = list(again.batches(stage2).as_numpy_iterator())
    assert len(batches) == 6
    image = np.float32(source.read(stage2.image_index[3, 1]))[None]
    for tap, expected in zip(batches[3], _Extractor()(image), strict=True):
        assert tap.dtype == np.float16
        np.testing.assert_allclose(tap[1], expected[0], atol=1e-3)


def test_another_configuration_has_another_cache(source, tmp_path):
    columns = source.require_classes(["bird"])
    plan = plan_batches(source, columns, batch_size=4, seed=0, views=1)
    extractor = _Extractor()
    for changes in ({}, {"pca_digest": "y"}, {"weights": "v"}, {"seed": 1}):
        assert _cached(source, tmp_path / "cache", **changes).fill(extractor, plan) > 0
    assert _cached(source, tmp_path / "cache").fill(extractor, plan) == 0
