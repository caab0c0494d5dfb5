"""What the page asks about jobs, annotations and the user's work."""

import asyncio

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from anchornet_tf.studio import bodies, exchange
from anchornet_tf.studio.job_works import parse_job
from anchornet_tf.studio.refusals import expected
from anchornet_tf.studio.studio_state import Studio
from anchornet_tf.studio.transfers import parse_request

_EXPORTS_AT_ONCE = 2
_IMPORT_BYTES = 64 * 2**20
_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def work_routes(studio: Studio) -> list[Route]:
    """Returns the addresses of the API that are about jobs, annotations and work."""
    handlers = _Handlers(studio)
    return [
        Route("/jobs", handlers.add_job, methods=["POST"]),
        Route("/jobs/{id}", handlers.cancel_job, methods=["DELETE"]),
        Route("/jobs/{id}/events", handlers.events),
        Route("/jobs/{id}/pictures/{name}", handlers.picture),
        Route("/annotations/export", handlers.export, methods=["POST"]),
        Route("/annotations/import", handlers.import_file, methods=["POST"]),
        Route("/work", handlers.read_work),
        Route("/work", handlers.write_work, methods=["PUT"]),
    ]


class _Handlers:
    def __init__(self, studio: Studio):
        self._studio = studio
        self._exports = asyncio.Semaphore(_EXPORTS_AT_ONCE)

    async def add_job(self, request: Request) -> Response:
        document = await bodies.json_object(request)
        parsed = await run_in_threadpool(parse_job, document, self._studio)
        return JSONResponse({"id": self._studio.jobs.add(*parsed).id}, 202)

    async def cancel_job(self, request: Request) -> Response:
        self._studio.jobs.get(request.path_params["id"]).cancel()
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        job = self._studio.jobs.get(request.path_params["id"])
        after = request.headers.get("last-event-id", "0")
        after = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0

        async def lines():
            async for numbered in job.stream(after):
                if numbered is None:
                    yield ": still here\n\n"
                else:
                    number, event = numbered
                    yield f"id: {number}\nevent: {event.kind}\ndata: {event.data}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream", headers=_STREAM_HEADERS)

    async def picture(self, request: Request) -> Response:
        job = self._studio.jobs.get(request.path_params["id"])
        content = job.pictures.get(request.path_params["name"])
        if content is None:
            raise expected("the name of a picture of the job", request.path_params["name"], 404)
        return Response(content, media_type="image/jpeg")

    async def export(self, request: Request) -> Response:
        document = await bodies.json_object(request)
        format = exchange.check_format(document.get("format"))
        studio = self._studio
        parsed = await run_in_threadpool(
            parse_request, document, studio.library, studio.engine, studio.defaults
        )
        if self._exports.locked():
            raise expected(f"at most {_EXPORTS_AT_ONCE} exports at once", "one more", 429)
        async with self._exports:
            files = await run_in_threadpool(studio.transfers.exported, parsed, format)
        name, kind, content = exchange.packed_files(format, files)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=headers)

    async def import_file(self, request: Request) -> Response:
        content = await bodies.body(request, _IMPORT_BYTES)
        name = request.query_params.get("name", "annotations.json")
        return JSONResponse(
            await run_in_threadpool(exchange.imported, name, content, self._studio.library)
        )

    async def read_work(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._studio.work.read))

    async def write_work(self, request: Request) -> Response:
        document = await bodies.json_object(request)
        revision = await run_in_threadpool(self._studio.work.write, document)
        return JSONResponse({"revision": revision})
