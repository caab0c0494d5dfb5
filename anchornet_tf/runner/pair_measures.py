"""What is noted about one matched pair: enough to compute every published figure from it later.

Notes are plain numbers, strings and lists, ready for JSON:

* `pck`: `errors` of the keypoints that both images have, in pixels of the target (None for a
  keypoint without a match), and `lengths`, the lengths that errors can be divided by;
* `parts`: `part_iou`, `object_iou` and `has_parts`;
* `regions`: `distances`, 1 - IoU between the match of each active box and its true place, most
  confident match first.
"""

import numpy as np

from anchornet_tf.datasets.annotated.annotation import MEASURES, Pair, Protocol
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.metrics import part_transfer, region_matching
from anchornet_tf.metrics.pck import reference_length
from anchornet_tf.metrics.thin_plate_spline import ThinPlateSpline

# The note that tells whether a measure was taken.
NOTE_OF = {"pck": "errors", "parts": "object_iou", "regions": "distances"}


def check_measures(measures) -> tuple[str, ...]:
    """Returns the names of measures as a tuple.

    Raises:
        ValueError: If a measure is unknown, or none is given.
    """
    unknown = [name for name in measures if name not in MEASURES]
    if unknown or not measures:
        raise ValueError(
            f"Measures must be some of {', '.join(MEASURES)}. "
            f"Received: {', '.join(unknown) or 'none'}"
        )
    return tuple(measures)


def measure_flow(flow: Flow, pair: Pair, protocol: Protocol, measures) -> dict:
    """Notes how well a dense flow does on a pair.

    Args:
        flow: The flow from the pair's source to its target.
        pair: Pair.
        protocol: The protocol of its benchmark.
        measures: `"pck"`, `"parts"` or both; others are ignored.

    Returns:
        The notes, see the module.
    """
    notes: dict = {}
    if "pck" in measures:
        notes |= keypoint_errors(flow, pair, protocol)
    if "parts" in measures:
        notes |= _mask_overlaps(flow, pair)
    return notes


def keypoint_errors(flow: Flow, pair: Pair, protocol: Protocol) -> dict:
    """Notes `errors` and `lengths`.

    The flow is read at the pixel of each keypoint; a keypoint outside the image reads the nearest
    pixel inside. If several target points have a keypoint's name, the nearest one counts.
    """
    points, candidates = pair.shared_points()
    moved = flow.transfer_points(points, rounded=True, outside="nearest").astype(np.float64)
    distances = np.linalg.norm(candidates - moved[:, np.newaxis], axis=-1)  # (n, candidates)
    distances = np.where(np.isnan(distances), np.inf, distances).min(axis=1, initial=np.inf)
    size = flow.shape if protocol.length_of == "source" else flow.target_size
    lengths = {}
    for name in protocol.normalize_by:
        try:
            lengths[name] = reference_length(
                name, image_size=size, box=pair.target.box, points=pair.target.visible_points
            )
        except ValueError:
            lengths[name] = None  # A single keypoint, for instance, has no box.
    errors = [float(value) if np.isfinite(value) else None for value in distances]
    return {"errors": errors, "lengths": lengths}


def _mask_overlaps(flow: Flow, pair: Pair) -> dict:
    if pair.source.read_masks is None or pair.target.read_masks is None:
        return {"object_iou": None, "part_iou": None, "has_parts": False}
    source, target = pair.source.read_masks(), pair.target.read_masks()
    whole = None
    if source.whole is not None and target.whole is not None:
        whole = part_transfer.object_iou(flow, source.whole, target.whole)
    return {
        "object_iou": whole,
        "part_iou": part_transfer.weighted_part_iou(flow, source.parts, target.parts),
        "has_parts": bool(source.parts or target.parts),
    }


def measure_boxes(pair: Pair, source_boxes, target_boxes, best, confidence, target_size) -> dict:
    """Notes how well boxes are matched.

    Args:
        pair: Pair.
        source_boxes: `(n, 4)` boxes of the source.
        target_boxes: `(m, 4)` boxes of the target.
        best: `(n,)` index of the matched target box of each source box.
        confidence: `(n,)`.
        target_size: (height, width) of the target image.

    Returns:
        The note `distances`. It is empty if no box is active, or if there is no ground truth
        because the keypoints that both images have do not span the plane.
    """
    points, candidates = pair.shared_points()
    targets = candidates[:, 0] if len(candidates) else np.zeros((0, 2))
    try:
        if candidates.shape[1] > 1:
            raise ValueError("Names that repeat do not say which point goes where.")
        spline = ThinPlateSpline(points, targets)
    except ValueError:
        return {"distances": []}
    active = np.flatnonzero(region_matching.active_boxes(source_boxes, points))
    if not len(active):
        return {"distances": []}
    truth = region_matching.ground_truth_boxes(source_boxes[active], spline, target_size)
    distances = region_matching.match_distances(truth, target_boxes)
    matched = distances[np.arange(len(active)), np.asarray(best)[active]]
    order = np.argsort(-np.asarray(confidence)[active], kind="stable")
    return {"distances": matched[order].tolist()}
