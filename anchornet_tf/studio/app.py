"""The studio as a web application: the page and its API."""

import pathlib

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from anchornet_tf.studio.image_routes import image_routes
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.studio.security import FAILED, Guard, print_failure
from anchornet_tf.studio.studio_state import Studio
from anchornet_tf.studio.work_routes import work_routes

PREFIX = "/api/v1"
_PAGE = pathlib.Path(__file__).with_name("page")


async def _unknown(request):
    raise expected("an address of the API", request.url.path, 404)


async def _refused(request, refusal: Refusal):
    return JSONResponse({"error": str(refusal), **refusal.content}, refusal.status)


async def _http_error(request, error: HTTPException):
    message = f"Expected an address and a method of the studio. Received: {error.detail}"
    return JSONResponse({"error": message}, error.status_code, error.headers)


async def _failed(request, error: Exception):
    print_failure(request.scope, error)
    return JSONResponse({"error": FAILED}, 500)


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
                *work_routes(studio),
                Route("/{rest:path}", _unknown, methods=["GET", "POST", "PUT", "DELETE"]),
            ],
        ),
        Mount("/", StaticFiles(directory=_PAGE, html=True)),
    ]
    handlers = {Refusal: _refused, HTTPException: _http_error, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, port, studio.config.host, token)
