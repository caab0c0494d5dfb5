"""Features and flows of a model server, in place of this machine's own."""

import contextlib
from collections.abc import Iterator, Sequence

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.offers import Offer
from anchornet_tf.studio.refusals import Refusal
from anchornet_tf.utils.image_io import ScaledImage, read_scaled

DESCRIPTOR, MATCHER = "anchornet", "match"
# A server sees images at the size of its model; more pixels only make the way longer.
_SENT_SIDE = 512


def served_offers(config: StudioConfig) -> tuple[dict[str, Offer], dict[str, Offer]]:
    """Returns the one descriptor and the one matcher that a server has.

    Raises:
        ImportError: If a package of the extra `serving` is missing.
        ValueError: If the address is none.
    """
    from export.client import Client

    client = Client(config.server)
    descriptor = Offer(lambda: client, "descriptors of the served model", "one request per image")
    matcher = Offer(ServedMatcher, "matches of the served model", "one request per pair")
    return {DESCRIPTOR: descriptor}, {MATCHER: matcher}


class ServedMatcher:
    """What the studio needs of a `Matcher`, by means of a client.

    Args:
        client: An `export.client.Client`.
    """

    on_grid = False

    def __init__(self, client):
        self._client = client

    def describe(self, images: Sequence) -> list[FeatureMap]:
        """As in `Matcher`."""
        with _errors_named():
            return [self._client.features(_sent(image)) for image in images]

    def match_maps(self, sources, targets, source_images, target_images) -> list[Flow]:
        """As in `Matcher`; the server looks at the images, not at the maps."""
        with _errors_named():
            return [
                self._client.match(_sent(source), _sent(target))
                for source, target in zip(source_images, target_images, strict=True)
            ]


def _sent(image) -> ScaledImage:
    return read_scaled(image, max_side=_SENT_SIDE)


@contextlib.contextmanager
def _errors_named() -> Iterator[None]:
    from export.transports import ServerError

    try:
        yield
    except ServerError as error:
        text = " ".join(str(error).split())[:300]
        raise Refusal(502, f"Expected an answer of the model server. Received: {text}") from error
