"""How well a flow carries masks: the target's parts, pulled onto the source, against its own.

Reference:
    Zhou, Lee, Yu, Efros: FlowWeb, CVPR 2015, in the detail of its published program.
"""

from collections.abc import Mapping

import numpy as np

from anchornet_tf.matchers.flow import Flow


def weighted_part_iou(
    flow: Flow, source_parts: Mapping[str, np.ndarray], target_parts: Mapping[str, np.ndarray]
) -> float:
    """Returns the intersections over the unions, both summed over the parts that both images have.

    That is the mean IoU of the parts, each weighted by the size of its union.

    Args:
        flow: from source to target.
        source_parts: name -> bool mask of the source image.
        target_parts: name -> bool mask of the target image.

    Returns:
        float from 0 to 1; 0 for images without a part in common, or with empty masks alone.

    Raises:
        ValueError: If a mask does not have the size of its image.
    """
    names = [name for name in source_parts if name in target_parts]
    if not names:
        return 0.0
    source = _check(np.stack([source_parts[name] for name in names], axis=-1), flow)
    pulled = flow.transfer_mask(np.stack([target_parts[name] for name in names], axis=-1) > 0)
    return _overlap(source, pulled)


def object_iou(flow: Flow, source_mask: np.ndarray, target_mask: np.ndarray) -> float:
    """Returns the overlap of the whole objects, for classes without parts.

    Args:
        flow: from source to target.
        source_mask: `(height, width)` bool of the source image.
        target_mask: `(height, width)` bool of the target image.

    Returns:
        float from 0 to 1; 0 where both masks are empty.

    Raises:
        ValueError: If a mask does not have the size of its image.
    """
    return _overlap(_check(np.asarray(source_mask), flow), flow.transfer_mask(target_mask > 0))


def _check(masks: np.ndarray, flow: Flow) -> np.ndarray:
    if masks.shape[:2] != flow.shape:
        raise ValueError(
            f"Masks of the source must have its size {flow.shape}. Received: {masks.shape[:2]}"
        )
    return masks > 0


def _overlap(masks: np.ndarray, pulled: np.ndarray) -> float:
    union = np.count_nonzero(masks | pulled)
    return np.count_nonzero(masks & pulled) / union if union else 0.0
