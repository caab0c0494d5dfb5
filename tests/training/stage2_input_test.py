"""Statistics of stage 2 come from images of every class, as they are."""

import numpy as np

from anchornet_tf.training.stage2 import input as stage2_input
from anchornet_tf.training.stage2.config import Stage2Config


def test_calibration_sees_positives_of_every_class(source):
    config = Stage2Config(banks=("run",), batch_size=8)
    columns = source.require_classes(["bird", "cow"])
    plan = stage2_input.calibration_plan(config, source, columns, 90)
    assert plan.image_index.shape == (23, 4), "the next number of whole batches"
    labels = source.labels[plan.image_index, np.asarray(columns)[plan.class_index]]
    assert labels.all() and not plan.view.any()
    assert np.bincount(plan.class_index.ravel()).min() > 20
