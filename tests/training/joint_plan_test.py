"""Stage 2's batches: uniform over classes, a function of the step, shares of a whole."""

import numpy as np
import pytest

from anchornet_tf.datasets.image_source import ImageSource, RecordReader
from anchornet_tf.training.joint_plan import plan_joint_batches


def _source(background=24):
    """4 images of class 0, 12 of class 1 (two also of class 0), 2 of class 2; and background."""
    labels = np.zeros((16 + background, 3), bool)
    labels[:4, 0] = True
    labels[2:14, 1] = True
    labels[14:16, 2] = True
    keys = tuple(map(str, range(len(labels))))
    return ImageSource("memory", ("bird", "cow", "dog"), keys, labels, keys, RecordReader(keys))


def _plan(source=None, **changes):
    options = {"batch_size": 8, "seed": 3, "num_steps": 60, "views": 2, **changes}
    return plan_joint_batches(source or _source(), [0, 1], **options)


def test_positives_are_uniform_over_classes_and_have_their_class():
    plan, source = _plan(), _source()
    positives = plan.image_index[:, :4]
    assert source.labels[positives, plan.class_index].all()
    assert source.is_background[plan.image_index[:, 4:]].all()
    counts = np.bincount(plan.class_index.ravel())
    assert counts.tolist() == [120, 120], "though one class has three times as many images"
    of_first = positives[plan.class_index == 0]
    assert np.bincount(of_first).tolist() == [30] * 4, "no image comes again before all have come"


def test_a_plan_is_a_function_of_the_step():
    whole, rest = _plan(), _plan(start_step=25, num_steps=35)
    for name in ("image_index", "view", "augmentation_seed", "class_index", "noise_seed"):
        np.testing.assert_array_equal(getattr(whole, name)[25:], getattr(rest, name))
    assert (_plan(seed=4).image_index != whole.image_index).any()


def test_shares_make_up_the_batch():
    whole = _plan()
    shares = [_plan(num_shards=2, shard_index=index) for index in range(2)]
    np.testing.assert_array_equal(
        whole.class_index, np.concatenate([share.class_index for share in shares], axis=1)
    )
    for name in ("image_index", "view", "augmentation_seed", "noise_seed"):
        left, right = (getattr(share, name) for share in shares)
        joined = np.concatenate([left[:, :2], right[:, :2], left[:, 2:], right[:, 2:]], axis=1)
        np.testing.assert_array_equal(getattr(whole, name), joined, err_msg=name)


def test_noise_is_new_at_every_draw_though_views_are_fixed():
    plan = _plan()
    noise = plan.noise_seed.reshape(-1, 2)
    assert len(np.unique(noise, axis=0)) == len(noise)
    views = plan.augmentation_seed.reshape(-1, 2)
    assert len(np.unique(views, axis=0)) <= 40 * 2
    anew = _plan(views=None).augmentation_seed.reshape(-1, 2)
    assert len(np.unique(anew, axis=0)) == len(anew)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"batch_size": 5}, "must be even(.|\n)*Received: batch_size=5"),
        ({"num_shards": 3}, "divide half a batch(.|\n)*Received: num_shards=3"),
        ({"views": 0}, "`views` must be at least 1. Received: views=0"),
    ],
)
def test_bad_numbers(changes, message):
    with pytest.raises(ValueError, match=message):
        _plan(**changes)


def test_a_class_without_images():
    source = _source()
    source.labels[:, 2] = False
    with pytest.raises(ValueError, match="Received: 'dog'"):
        plan_joint_batches(source, [0, 2], batch_size=4, seed=0)


def test_without_background_images_of_other_classes_are_negatives():
    assert _plan().negative_of is None, "background is a negative of all"
    source = _source(background=0)
    plan = _plan(source)
    negatives = plan.image_index[:, 4:]
    assert not source.labels[negatives, plan.negative_of].any()
    assert np.bincount(plan.negative_of.ravel()).tolist() == [120, 120]
    assert (plan.negative_of != plan.class_index).any()
    for place in (0, 1):
        expected = np.flatnonzero(~source.labels[:, place])
        assert set(negatives[plan.negative_of == place]) == set(expected)
    rest = _plan(source, start_step=25, num_steps=35)
    np.testing.assert_array_equal(plan.image_index[25:], rest.image_index)
    np.testing.assert_array_equal(plan.negative_of[25:], rest.negative_of)
