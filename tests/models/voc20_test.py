"""The model that comes with the package is complete and matches better than the hypercolumn."""

import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.datasets import keypoint_sets
from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.metrics.keypoint_transfer import nearest_keypoint_pck
from anchornet_tf.models import anchornet_folder, presets
from tests.shared_data import shared_path


def test_the_folder_is_whole_and_small():
    folder = presets.find("voc20")
    contents = anchornet_folder.read(folder)
    assert tuple(contents.options["classes"]) == VOC_CLASSES
    assert contents.trunk is None, "the trunk comes from its own source"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 20e6
    for name, array in contents.heads.items():
        assert np.isfinite(array).all(), name
    # It is trained: the filters of a bank are nearly orthogonal, and the code is evened out.
    kernel = contents.heads["bank/bird/kernel"].astype(np.float32).reshape(-1, 64)
    cosines = np.abs(np.corrcoef(kernel.T) - np.eye(64))
    assert cosines.mean() < 0.02
    assert np.abs(contents.heads["code_equalizer/matrix"] - np.eye(256)).max() > 0.5


@pytest.mark.slow
def test_anchors_match_better_than_the_hypercolumn():
    sets = keypoint_sets.pf_willow(shared_path("data/pf-willow"))
    model = anchornet_tf.AnchorNet.from_preset("voc20")
    scores = {"hc": [], "anchornet": [], "anchornet-class": []}
    for (class_name, set_name), images in sets.items():
        if set_name not in ("car(G)", "duck(S)", "motorbike(S)", "winebottle(wC)"):
            continue
        of_class = get_descriptor("anchornet-class", model=model, class_name=class_name)
        describe = {
            "hc": get_descriptor("hc"),
            "anchornet": get_descriptor("anchornet", model=model),
            "anchornet-class": of_class,
        }
        for name, descriptor in describe.items():
            maps = descriptor([image.image for image in images])
            scores[name].append(nearest_keypoint_pck(images, maps).mean(axis=0))
    means = {name: np.mean(values, axis=0) for name, values in scores.items()}
    assert len(scores["hc"]) == 4
    assert (means["anchornet"] > means["hc"] + 0.02).all(), means
    assert (means["anchornet-class"] > means["hc"] + 0.01).all(), means
