"""Matchers by name."""

from collections.abc import Callable

from anchornet_tf.matchers.flow import Flow
from anchornet_tf.utils.lazy_registry import LazyRegistry

PairMatcher = Callable[..., Flow]

_PROPOSAL_FLOW = "anchornet_tf.matchers.proposal_flow:ProposalFlowMatcher"

MATCHERS = LazyRegistry(
    "matcher",
    {
        "none": "anchornet_tf.matchers.none:NoneMatcher",
        "nearest": "anchornet_tf.matchers.nearest:NearestMatcher",
        "hough": "anchornet_tf.matchers.hough:HoughMatcher",
        "dsp": "anchornet_tf.matchers.dsp:DspMatcher",
        "nam": f"{_PROPOSAL_FLOW}:nam",
        "phm": f"{_PROPOSAL_FLOW}:phm",
        "lom": f"{_PROPOSAL_FLOW}:lom",
    },
    without={"nam": ("lom_variant",), "phm": ("lom_variant",)},
)


def get_matcher(name: str, **options) -> PairMatcher:
    """Makes a matcher: a callable from two feature maps to a flow.

    All matchers are called in the same way,
    `matcher(source, target, source_image=..., target_image=...)`. Some do not use the images.

    Args:
        name: `"none"` (zero displacement), `"nearest"` (cosine nearest neighbours), `"hough"`
            (cells vote on the displacement), `"dsp"` (deformable spatial pyramid), or Proposal
            Flow's `"nam"`, `"phm"` or `"lom"`.
        **options: Arguments of the matcher's class.

    Returns:
        The matcher.

    Raises:
        ValueError: If the name or an option is unknown.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import FeatureMap, get_matcher

    match = get_matcher("nearest", mutual=True)
    features = FeatureMap(np.random.rand(8, 8, 16), image_size=(64, 64))
    flow = match(features, features)
    ```
    """
    return MATCHERS.create(name, **options)
