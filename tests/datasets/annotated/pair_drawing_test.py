"""Random pairs: all that there are, each looked at once."""

import numpy as np
import pytest

from anchornet_tf.datasets.annotated.annotation import Annotation, Pair
from anchornet_tf.datasets.annotated.pair_drawing import draw_pairs


def _images(*names):
    return [
        Annotation(name, name, "cat", np.float64([[1, 2]]), (part,), np.ones(1, bool))
        for name, part in names
    ]


def test_few_images_give_every_pair_with_a_common_part_once():
    images = _images(("a", "eye"), ("b", "eye"), ("c", "wing"), ("d", "eye"))
    found = draw_pairs(images, images, 1000, "g", (0,))
    assert sorted(pair.name for pair in found) == [
        f"g/{source}>{target}" for source in "abd" for target in "abd" if source != target
    ]
    assert draw_pairs(images, [], 5, "g", (0,)) == []
    with pytest.raises(ValueError, match="Received: 0"):
        draw_pairs(images, images, 0, "g", (0,))


def test_a_seed_gives_the_same_pairs_and_more_are_added():
    images = _images(*((f"{number}", "eye") for number in range(30)))
    few, more = (draw_pairs(images, images, count, "g", (7, 1)) for count in (5, 50))
    assert [pair.name for pair in few] == [pair.name for pair in more[:5]] and len(more) == 50


def test_no_pair_is_looked_at_twice(monkeypatch):
    images, looked = _images(("a", "eye"), ("b", "wing"), ("c", "tail")), []
    shared_points = Pair.shared_points
    monkeypatch.setattr(
        Pair, "shared_points", lambda pair: looked.append(pair.name) or shared_points(pair)
    )
    assert draw_pairs(images, images, 1000, "g", (0,)) == []
    assert len(looked) == len(set(looked)) == 6
