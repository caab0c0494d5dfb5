"""Small images of two classes, for tests of what goes into training."""

import pytest
from PIL import Image

from anchornet_tf.datasets import parts_world, sources


@pytest.fixture
def source(tmp_path):
    for name in ("bird", "cow", "background"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for index in range(4):
            image = Image.fromarray(parts_world.draw(name, index, size=64).image)
            image.save(tmp_path / "images" / name / f"{index}.png")
    return sources.open_source(f"folder:{tmp_path / 'images'}", "train", heldout_fraction=0.0)
