"""The matcher that does nothing."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.none import NoneMatcher


def test_zero_everywhere_and_valid_where_the_target_has_the_pixel():
    source = FeatureMap(np.ones((2, 3, 1)), (20, 30))
    target = FeatureMap(np.ones((5, 5, 7)), (15, 40))
    flow = NoneMatcher()(source, target, source_image=None)
    assert flow.shape == (20, 30) and flow.target_size == (15, 40)
    np.testing.assert_array_equal(flow.displacement, 0)
    np.testing.assert_array_equal(flow.valid, np.arange(20)[:, np.newaxis] < np.full(30, 15))
