"""Seeded random pairs of images."""

from collections.abc import Sequence

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Annotation, Pair

_PATIENCE = 50  # draws for each pair that is wanted, before fewer are accepted


def draw_pairs(
    sources: Sequence[Annotation],
    targets: Sequence[Annotation],
    count: int,
    group: str,
    seed: Sequence[int],
    share_points: bool = True,
) -> list[Pair]:
    """Draws distinct ordered pairs of different images.

    Args:
        sources: images to draw sources from.
        targets: images to draw targets from.
        count: int. How many pairs; fewer where there are not as many.
        group: the pairs' group.
        seed: ints that the draw depends on.
        share_points: bool. Whether both images of a pair must have a visible keypoint in common.

    Raises:
        ValueError: If `count` is not positive.
    """
    if count < 1:
        raise ValueError(f"The number of pairs must be positive. Received: {count}")
    rng = np.random.default_rng(seed)
    pairs: dict[str, Pair] = {}
    # Few images have few pairs, which would be looked at again and again.
    drawn: set[tuple[int, int]] = set()
    for _ in range(_PATIENCE * count):
        if len(pairs) == count or len(drawn) == len(sources) * len(targets):
            break
        places = int(rng.integers(len(sources))), int(rng.integers(len(targets)))
        if places in drawn:
            continue
        drawn.add(places)
        source, target = sources[places[0]], targets[places[1]]
        if source.image_key == target.image_key:
            continue
        pair = Pair(f"{group}/{source.name}>{target.name}", source, target, group)
        if not share_points or len(pair.shared_points()[0]):
            pairs.setdefault(pair.name, pair)
    return list(pairs.values())
