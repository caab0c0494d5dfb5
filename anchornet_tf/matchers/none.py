"""The matcher that does nothing: what every other one has to beat."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow


class NoneMatcher:
    """Zero displacement everywhere; valid where the pixel exists in the target image too."""

    # The images' sizes are all that it needs of them, see `Matcher`.
    on_grid = True

    def __call__(self, source: FeatureMap, target: FeatureMap, **_) -> Flow:
        """Returns the zero flow from the source's image to the target's."""
        height, width = source.image_size
        rows, columns = np.ogrid[:height, :width]
        valid = (rows < target.image_size[0]) & (columns < target.image_size[1])
        # One zero for all pixels: an array of them would only take memory.
        nowhere = np.broadcast_to(np.float32(0), (height, width, 2))
        return Flow(nowhere, target.image_size, valid)
