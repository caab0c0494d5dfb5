"""Stage 2's batches: uniform over classes, a function of the step, shares of a whole."""

import numpy as np
import pytest

from anchornet_tf.training.joint_plan import plan_joint_batches


class _Source:
    """Forty images: 4 of class 0, 12 of class 1 (two of them also of class 0), 24 of background."""

    class_names = ("bird", "cow", "dog")

    def __init__(self):
        self.labels = np.zeros((40, 3), bool)
        self.labels[:4, 0] = True
        self.labels[2:14, 1] = True
        self.is_background = np.arange(40) >= 16

    def require_classes(self, names):
        columns = [self.class_names.index(name) for name in names]
        if not self.labels[:, columns].any(axis=0).all():
            raise ValueError(f"Expected images of each class. Received: {names}")
        return columns


def _plan(**changes):
    options = {"batch_size": 8, "seed": 3, "num_steps": 60, "views": 2, **changes}
    return plan_joint_batches(_Source(), [0, 1], **options)


def test_positives_are_uniform_over_classes_and_have_their_class():
    plan, source = _plan(), _Source()
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
    with pytest.raises(ValueError, match="Received: "):
        plan_joint_batches(_Source(), [0, 2], batch_size=4, seed=0)
