"""How well flows of a whole set of images do, by the protocol of an annotated benchmark."""

import itertools
from collections.abc import Sequence

import numpy as np
import tqdm

from anchornet_tf.datasets.annotated.annotation import Annotation, Pair, Protocol
from anchornet_tf.metrics.pck import correct_points
from anchornet_tf.runner.pair_measures import measure_flow
from anchornet_tf.tasks.aligned import AlignedImages


def alignment_scores(
    aligned: AlignedImages,
    images: Sequence[Annotation],
    protocol: Protocol,
    progress: bool = False,
) -> dict[str, float]:
    """Measures the flows of all ordered pairs.

    Args:
        aligned: The flows.
        images: The images that were aligned, with what is known about them.
        protocol: Of their benchmark.
        progress: bool. Whether to show a progress bar.

    Returns:
        By name: the number of pairs; PCK at the thresholds of the protocol, over the pairs that
        share a keypoint; the IoU of parts over all pairs, or that of objects where no image of a
        pair has parts; and the mean confidence of the keypoints that are right and of those that
        are wrong, by the first threshold.
    """
    length = protocol.normalize_by[0]
    rates, overlaps, sure = [], [], {True: [], False: []}
    pairs = list(itertools.permutations(range(len(images)), 2))
    for source, target in tqdm.tqdm(pairs, "Measuring", unit="pair", disable=not progress):
        pair = Pair(f"{source}>{target}", images[source], images[target], "")
        flow = aligned[source, target]
        notes = measure_flow(flow, pair, protocol, protocol.measures)
        if notes.get("errors") and notes["lengths"][length]:
            errors = [np.inf if error is None else error for error in notes["errors"]]
            right = correct_points(
                errors, notes["lengths"][length], protocol.thresholds, protocol.inclusive
            )
            rates.append(right.mean(axis=0))
            points, _ = pair.shared_points()
            _, confidence = flow.transfer_with_confidence(points, rounded=True, outside="nearest")
            for point_is_right, share in zip(right[:, 0], confidence, strict=True):
                sure[bool(point_is_right)].append(float(share))
        if notes.get("object_iou") is not None:
            overlaps.append(notes["part_iou"] if notes["has_parts"] else notes["object_iou"])
    found = {"pairs": len(pairs)}
    if rates:
        means = np.mean(rates, axis=0)
        names = [f"PCK {threshold:g}" for threshold in protocol.thresholds]
        found |= {name: float(value) for name, value in zip(names, means, strict=True)}
    if overlaps:
        found["IoU"] = float(np.mean(overlaps))
    for name, shares in (("right", sure[True]), ("wrong", sure[False])):
        if shares:
            found[f"confidence where {name}"] = float(np.mean(shares))
    return found
