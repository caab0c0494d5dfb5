"""Matchers by name."""

from collections.abc import Callable

from anchornet_tf.lazy_registry import LazyRegistry
from anchornet_tf.matching.flow import Flow

Matcher = Callable[..., Flow]

_PROPOSAL_FLOW = "anchornet_tf.matching.proposal_flow:ProposalFlowMatcher"

MATCHERS = LazyRegistry(
    "matcher",
    {
        "none": "anchornet_tf.matching.none:NoneMatcher",
        "nearest": "anchornet_tf.matching.nearest:NearestMatcher",
        "hough": "anchornet_tf.matching.hough:HoughMatcher",
        "dsp": "anchornet_tf.matching.dsp:DspMatcher",
        "nam": f"{_PROPOSAL_FLOW}:nam",
        "phm": f"{_PROPOSAL_FLOW}:phm",
        "lom": f"{_PROPOSAL_FLOW}:lom",
    },
)


def get_matcher(name: str, **options) -> Matcher:
    """Returns a matcher: a callable from two feature maps to a flow.

    All are called alike, `matcher(source, target, source_image=..., target_image=...)`; those that
    do not look at the images ignore them.

    Args:
        name: `"none"` (zero displacement), `"nearest"` (cosine nearest neighbours), `"hough"`
            (cells vote on the displacement), `"dsp"` (deformable spatial pyramid), or Proposal
            Flow's `"nam"`, `"phm"` or `"lom"`.
        **options: Arguments of the matcher's class.

    Raises:
        ValueError: If the name or an option is unknown.

    Example:

    ```python
    match = get_matcher("nearest", mutual=True)
    flow = match(source_features, target_features)
    ```
    """
    return MATCHERS.create(name, **options)
