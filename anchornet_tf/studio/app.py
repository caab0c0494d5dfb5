"""The studio as a web application: the page and its API."""

import pathlib

from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from anchornet_tf.studio.image_routes import image_routes
from anchornet_tf.studio.refusals import expected
from anchornet_tf.studio.security import Guard
from anchornet_tf.studio.studio import Studio

PREFIX = "/api/v1"
_PAGE = pathlib.Path(__file__).with_name("page")


async def _unknown(request):
    raise expected("an address of the API", request.url.path, 404)


def make_app(studio: Studio, port: int, token: str | None = None) -> Guard:
    """Makes the application.

    Args:
        studio: What it shows.
        port: int, on which it will be served: requests to other addresses are refused.
        token: What requests must hold, or None where only this machine can ask.
    """
    routes = [
        Mount(
            PREFIX,
            routes=[
                *image_routes(studio),
                Route("/{rest:path}", _unknown, methods=["GET", "POST", "PUT", "DELETE"]),
            ],
        ),
        Mount("/", StaticFiles(directory=_PAGE, html=True)),
    ]
    return Guard(Starlette(routes=routes), port, studio.config.host, token)
