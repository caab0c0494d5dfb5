"""The images behind a bank's statistics are those of its class; cached taps need no trunk."""

import numpy as np
import pytest

from anchornet_tf.training.stage1 import input as stage1_input
from anchornet_tf.training.stage1.config import Stage1Config


@pytest.mark.parametrize("steps", [3, 80])
def test_calibration_sees_positives_of_the_last_batches(source, steps):
    config = Stage1Config(classes=("bird", "cow"), steps=steps, batch_size=8)
    columns = source.require_classes(config.classes)
    plan = stage1_input.calibration_plan(config, source)
    assert plan.image_index.shape == (min(steps, 60), 2 * 4), "240 images of a class at most"
    for place, column in enumerate(columns):
        images = plan.image_index[:, plan.positives[place]]
        assert source.labels[images, column].all()
    trained = stage1_input.plan(config, source, 0)
    rows = np.stack([trained.image_index, trained.view], -1)[-len(plan.view) :, :8]
    np.testing.assert_array_equal(np.stack([plan.image_index, plan.view], -1), rows)
