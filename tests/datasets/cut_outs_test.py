"""Cut-outs keep the object and replace everything else."""

import numpy as np
import pytest
import scipy.ndimage

from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.parts_world.cut_outs import BACKGROUNDS, cut_out


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_the_object_stays_and_its_surroundings_go(background):
    plain = parts_world.draw("cow", 2, size=96)
    cut = cut_out("cow", 2, background, size=96)
    inside = plain.part_map > 0
    core = scipy.ndimage.binary_erosion(inside, iterations=4)
    assert core.any()
    assert np.abs(cut.image[core].astype(int) - plain.image[core]).max() <= 2
    assert (cut.image[~inside] != plain.image[~inside]).any(axis=-1).mean() > 0.5
    assert cut.keypoints == plain.keypoints
    np.testing.assert_array_equal(cut.part_map, plain.part_map)
    np.testing.assert_array_equal(cut.image, cut_out("cow", 2, background, size=96).image)


def test_flat_is_flat_and_blurred_is_smooth():
    flat = cut_out("cow", 2, "flat", size=96)
    outside = flat.part_map == 0
    colors, counts = np.unique(flat.image[outside], axis=0, return_counts=True)
    assert counts.max() > 0.8 * outside.sum()
    blurred = cut_out("cow", 2, "blurred", size=96).image[:4].astype(float)
    cluttered = cut_out("cow", 2, "cluttered", size=96).image[:4].astype(float)
    assert np.abs(np.diff(blurred, axis=1)).mean() < np.abs(np.diff(cluttered, axis=1)).mean()


def test_unknown_backgrounds_are_refused():
    with pytest.raises(ValueError, match="flat, blurred, cluttered. Received: 'snow'"):
        cut_out("cow", 0, "snow")
