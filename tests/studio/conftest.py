"""A running studio over a folder of drawn images."""

import threading
import time

import httpx
import PIL.Image
import pytest

pytest.importorskip("starlette", reason="needs the extra `studio`")
pytest.importorskip("uvicorn", reason="needs the extra `studio`")

from anchornet_tf.studio.app import make_app
from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.offers import Offer, matcher_offers
from anchornet_tf.studio.server import StudioServer
from anchornet_tf.studio.studio_state import make_studio
from tests.studio.api import Api
from tests.tasks import colored

# Where the colored object is in each image of the folder: (left, top).
PLACES = {"a.png": (10, 10), "b.png": (40, 30), "c.png": (25, 50), "d.png": (5, 45)}


class RunningStudio:
    """A studio that is served in a thread.

    Attributes:
        address: str, `http://127.0.0.1:PORT`.
        server: The `StudioServer`.
        studio: The `Studio` behind it.
        folder: pathlib.Path of its images, or None.
    """

    def __init__(self, config, paths, engine, folder):
        self.server = StudioServer(config)
        self.studio = make_studio(config, paths, engine)
        self.folder = folder
        app = make_app(self.studio, self.server.port, self.server.token)
        self.address = f"http://127.0.0.1:{self.server.port}"
        self._thread = threading.Thread(
            target=self.server.run, args=(self.studio, app), daemon=True
        )
        self._thread.start()
        end = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{self.address}/api/v1/state")
                break
            except httpx.TransportError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def stop(self):
        self.server.stop()
        self._thread.join(30)


def color_engine(**options):
    """Returns an engine that sees colours: quick, and right about the colored images."""
    config = StudioConfig(matcher="nearest")
    offers = matcher_offers(config)
    matchers = {name: offers[name] for name in ("nearest", "hough")}
    descriptors = {
        "color": Offer(colored.ColorDescriptor, "colours of cells", "1 ms per image"),
        "sift": Offer(_sift, "dense SIFT on a coarse grid", "20 ms per image"),
    }
    return Engine(descriptors, matchers, **options)


def _sift():
    from anchornet_tf.features.registry import get_descriptor

    return get_descriptor("sift", step=8)


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory):
    """A folder of four images, one of them in a sub-folder's place; its points by name."""
    folder = tmp_path_factory.mktemp("studio") / "things"
    folder.mkdir()
    for name, place in PLACES.items():
        colored.save(folder, name, *place)
    return folder


@pytest.fixture(scope="session")
def studio_cache(tmp_path_factory):
    """The cache folder of the tests, so that nobody's own is touched."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("studio-cache")
        patch.setenv("ANCHORNET_CACHE", str(folder))
        yield folder


@pytest.fixture
def studio_server(image_folder, studio_cache):
    """A served studio with a descriptor by colours; quick enough for any test."""
    running = RunningStudio(StudioConfig(port=0), [image_folder], color_engine(), image_folder)
    yield running
    running.stop()


@pytest.fixture
def api(studio_server):
    """A client of `studio_server`."""
    return Api(studio_server.address)


@pytest.fixture(scope="session")
def real_studio_server(tmp_path_factory):
    """A served studio with the real preset over drawn birds, for `slow` tests."""
    from anchornet_tf.datasets import parts_world

    folder = tmp_path_factory.mktemp("studio-real") / "birds"
    folder.mkdir()
    for number in range(4):
        image = PIL.Image.fromarray(parts_world.draw("bird", number).image)
        image.save(folder / f"bird{number}.png")
    running = RunningStudio(StudioConfig(port=0), [folder], None, folder)
    yield running
    running.stop()
