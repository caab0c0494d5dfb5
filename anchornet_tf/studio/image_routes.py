"""What the page asks about images: which there are, pictures, features, flows."""

import asyncio
import hashlib
import io

import PIL.Image
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import anchornet_tf
from anchornet_tf.studio import bodies, flow_answer
from anchornet_tf.studio.marks import MOST_POINTS
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.studio.studio_state import Studio
from anchornet_tf.utils.image_io import ScaledImage

_BINARY = "application/octet-stream"
_QUALITY = 90


def image_routes(studio: Studio) -> list[Route]:
    """Returns the addresses of the API that are about images."""
    handlers = _Handlers(studio)
    return [
        Route("/state", handlers.state),
        Route("/images", handlers.upload, methods=["POST"]),
        Route("/images/{id}", handlers.remove, methods=["DELETE"]),
        Route("/images/{id}/picture", handlers.picture),
        Route("/features/{id}", handlers.features),
        Route("/flow", handlers.flow),
        Route("/responses/{id}", handlers.responses),
    ]


class _Handlers:
    def __init__(self, studio: Studio):
        self._studio = studio
        self._library, self._engine = studio.library, studio.engine

    async def state(self, request: Request) -> Response:
        studio, config = self._studio, self._studio.config
        folder = self._library.folder
        return JSONResponse(
            {
                "version": anchornet_tf.__version__,
                "folder": None if folder is None else folder.name,
                "images": [entry.described() for entry in self._library.all()],
                **self._engine.offered(),
                "default": studio.defaults,
                "classes": list(studio.classes),
                "limits": {
                    "upload_bytes": config.upload_bytes,
                    "points": MOST_POINTS,
                    "images": config.max_images,
                },
                "work": {"revision": await run_in_threadpool(self._revision)},
                "served_by": config.server,
            }
        )

    async def upload(self, request: Request) -> Response:
        content = await bodies.body(request, self._library.max_upload)
        name = request.query_params.get("name", "image")
        if not content:
            raise expected("the bytes of an image", "nothing")
        entry, _ = await run_in_threadpool(self._library.add_upload, name, content)
        return JSONResponse(entry.described(), 201)

    async def remove(self, request: Request) -> Response:
        await run_in_threadpool(self._library.remove_upload, request.path_params["id"])
        return Response(status_code=204)

    async def picture(self, request: Request) -> Response:
        identifier = request.path_params["id"]
        side = bodies.query_integer(request, "side", 1024, 64, 2048)
        stamp = f"{self._library.stamp(identifier)}-{side}"
        tag = f'"{hashlib.sha256(stamp.encode()).hexdigest()[:24]}"'
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        image = await run_in_threadpool(self._library.read, identifier)
        content = await run_in_threadpool(jpeg, image, side)
        return Response(content, media_type="image/jpeg", headers=headers)

    async def features(self, request: Request) -> Response:
        descriptor = self._choice(request, "descriptor")
        image = await self._read(request.path_params["id"])
        self._engine.check(descriptor)
        features = await computed(self._engine.features(image, descriptor))
        content = await run_in_threadpool(self._engine.packed, features, descriptor)
        return Response(content, media_type=_BINARY)

    async def flow(self, request: Request) -> Response:
        descriptor = self._choice(request, "descriptor")
        matcher = self._choice(request, "matcher")
        ids = [request.query_params.get(name) for name in ("source", "target")]
        images = [await self._read(identifier) for identifier in ids]
        self._engine.check(descriptor, matcher)
        flow = await computed(self._engine.flow(*images, descriptor, matcher))
        content = await run_in_threadpool(flow_answer.packed, flow, *ids)
        return Response(content, media_type=_BINARY)

    async def responses(self, request: Request) -> Response:
        class_name = request.query_params.get("class")
        entry = self._library.entry(request.path_params["id"])
        self._studio.check_class(class_name)
        image = await self._read(entry.id)
        content = await computed(self._engine.responses(image, class_name))
        return Response(content, media_type=_BINARY)

    def _revision(self) -> int:
        return self._studio.work.revision

    def _choice(self, request: Request, name: str) -> str:
        return request.query_params.get(name) or self._studio.defaults[name]

    async def _read(self, identifier) -> ScaledImage:
        return await run_in_threadpool(self._library.read, identifier)


async def computed(future):
    """Waits for what the worker computes. Somebody else may wait for it too."""
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except ImportError as error:
        raise Refusal(400, " ".join(str(error).split())) from error


def jpeg(image: ScaledImage, side: int) -> bytes:
    """Returns an image as a JPEG file whose long side is at most `side`."""
    picture = PIL.Image.fromarray(image.pixels)
    picture.thumbnail((side, side), PIL.Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=_QUALITY)
    return buffer.getvalue()
