"""A `Matcher` for tasks that computes nothing twice."""

from collections.abc import Sequence

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.worker import LATER
from anchornet_tf.utils.image_io import ScaledImage


class CachedMatcher:
    """What `anchornet_tf.tasks.carrier.Carrier` needs of a `Matcher`, by means of an engine.

    A flow is computed once for each ordered pair of images, so that another point costs no
    matching. The work is done by the engine's worker, after what a person waits for.

    Args:
        engine: The engine.
        descriptor: Name of a descriptor of the engine.
        matcher: Name of a matcher of the engine.
        max_pixels: As in `Matcher`.
    """

    def __init__(
        self, engine: Engine, descriptor: str, matcher: str, max_pixels: int | None = None
    ):
        engine.check(descriptor, matcher)
        self._engine, self._descriptor, self._matcher = engine, descriptor, matcher
        self.max_pixels = max_pixels

    @property
    def on_grid(self) -> bool:
        """As in `Matcher`. Images are handed on in any case: they tell pairs apart."""
        return False

    def describe(self, images: Sequence[ScaledImage]) -> list[FeatureMap]:
        """As in `Matcher`; a batch that was described before costs nothing."""
        return self._engine.worker.submit(
            lambda: self._engine.described(list(images), self._descriptor), LATER
        ).result()

    def match_maps(self, sources, targets, source_images, target_images) -> list[Flow]:
        """As in `Matcher`, of maps that `describe` returned."""
        return self._engine.worker.submit(
            lambda: self._engine.matched(
                sources, targets, source_images, target_images, self._descriptor, self._matcher
            ),
            LATER,
        ).result()
