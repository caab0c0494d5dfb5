"""Deep features with each of the cheap matchers on real images with annotated keypoints."""

import itertools

import numpy as np
import pytest
import scipy.io

from anchornet_tf.matchers.api import match_many
from tests.shared_data import shared_path


def _share_of_correct_points(matcher, pairs, images, points):
    """PCK at 0.1 of the longer side of the target's keypoint box."""
    flows = match_many(pairs, images, "hc", matcher, progress=False)
    shares = []
    for (source, target), flow in zip(pairs, flows, strict=True):
        moved = flow.transfer_points(points[source], rounded=True, outside="nearest")
        size = np.ptp(points[target], axis=0).max()
        error = np.linalg.norm(moved - points[target], axis=1)
        shares.append(np.mean(error < 0.1 * size))
    return np.mean(shares)


@pytest.mark.slow
def test_votes_beat_neighbours_and_neighbours_beat_nothing():
    folder = shared_path("data/pf-willow/car(S)")
    images = sorted(folder.glob("*.png"))
    # The annotations count pixels from one.
    points = [scipy.io.loadmat(path.with_suffix(".mat"))["pts_coord"].T - 1.0 for path in images]
    pairs = list(itertools.permutations(range(len(images)), 2))[::5]
    shares = {
        matcher: _share_of_correct_points(matcher, pairs, images, points)
        for matcher in ("none", "nearest", "hough")
    }
    assert shares["nearest"] > shares["none"] + 0.1, shares
    assert shares["hough"] > shares["nearest"] + 0.1, shares
