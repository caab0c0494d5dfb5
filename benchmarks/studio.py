"""What a person waits for in the studio: the first hover, and points that appear everywhere."""

import concurrent.futures
import time

import httpx

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.models import folding
from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.offers import Offer, matcher_offers
from anchornet_tf.studio.studio_state import make_studio
from benchmarks import models
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.studio_client import encoded, hover_milliseconds, marks_of, serving
from benchmarks.timing import in_turn

_TRUNK = "two passes of the bare trunk"
_OTHERS = 11  # Of the twelve examples.


def _studio(settings: Settings, size: int):
    network = models.network(*settings.choose((20, 64), (2, 8)))

    def make():
        return DeepDescriptor(folding.features_function(network, fixed=True), size)

    offers = matcher_offers(StudioConfig())
    descriptors = {"anchornet": Offer(make, "anchors of a random network", "")}
    engine = Engine(descriptors, {"hough": offers["hough"]})
    return make_studio(StudioConfig(port=0, max_images=5000), (), engine)


def first_hover(settings: Settings) -> Results:
    """From the upload of two images to the features of both, against two trunk passes."""
    size = settings.choose(224, 64)
    trunk, batch = models.compiled(models.trunk), models.random_images(1, size)
    numbers = iter(range(10**6))
    with (
        serving(_studio(settings, size)) as address,
        httpx.Client(base_url=f"{address}/api/v1", timeout=600) as client,
        concurrent.futures.ThreadPoolExecutor(2) as both,
    ):

        def dropped(_):
            # Never seen before, so that nothing is kept.
            content = encoded(drawn_image(next(numbers) + 1000, (size, size)))
            image = client.post("/images", params={"name": "a.png"}, content=content).json()
            answer = client.get(f"/features/{image['id']}")
            assert answer.status_code == 200, answer.text
            return client.delete(f"/images/{image['id']}")

        works = {
            _TRUNK: lambda: [trunk(batch) for _ in range(2)],
            "drop": lambda: list(both.map(dropped, range(2))),
        }
        timed = in_turn(works, settings.repeats)
    title = "two images dropped on the studio, until both can be hovered over"
    return Results((timed.row("drop", title, per=_TRUNK, goal=Goal(1.5)),))


def another_point(settings: Settings) -> Results:
    """A further point carried to all images by flows that are kept, against two trunk passes."""
    size = settings.choose(224, 64)
    trunk, batch = models.compiled(models.trunk), models.random_images(1, size)
    places = iter(range(10**6))
    with (
        serving(_studio(settings, size)) as address,
        httpx.Client(base_url=f"{address}/api/v1", timeout=600) as client,
    ):

        def carried():
            job = {"kind": "transfer", "references": marks_of("i1", next(places))}
            identifier = client.post("/jobs", json=job).json()["id"]
            events = client.get(f"/jobs/{identifier}/events").text
            assert "event: done" in events, events[-300:]

        start = time.perf_counter()
        carried()
        first = time.perf_counter() - start
        works = {_TRUNK: lambda: [trunk(batch) for _ in range(2)], "point": carried}
        timed = in_turn(works, settings.repeats)
    title = f"another point carried to {_OTHERS} images by flows that are kept"
    note = f"the first point took {first:.1f} s"
    return Results((timed.row("point", title, per=_TRUNK, note=note),))


def hovering(settings: Settings) -> Results:
    """How long the page takes for a move of the mouse, in Chromium; a note where that is absent."""
    with serving(_studio(settings, settings.choose(224, 64))) as address:
        return hover_milliseconds(address)
