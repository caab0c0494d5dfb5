"""What jobs do: carry marks, warp every image onto one, find where filters fire."""

import io
from collections.abc import Iterator

import numpy as np
import PIL.Image

from anchornet_tf.studio import bodies, responses
from anchornet_tf.studio.flow_answer import cells
from anchornet_tf.studio.jobs import Job, Work
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.studio.studio_state import Studio
from anchornet_tf.studio.transfers import chosen_ids, parse_request, result_event
from anchornet_tf.studio.worker import LATER
from anchornet_tf.tasks.layout import layout_of, layout_similarity
from anchornet_tf.utils.image_io import ScaledImage

_QUALITY = 85


def parse_job(document: dict, studio: Studio) -> tuple[str, int, Work]:
    """Returns the kind, the number of results and the work of a job that the page asked for.

    Raises:
        Refusal: If something is not as it must be.
    """
    kinds = {"transfer": _transfer, "many": _many, "responses": _responses}
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise expected(f"a `kind` of job, one of {', '.join(kinds)}", kind)
    return kind, *kinds[kind](document, studio)


def _transfer(document: dict, studio: Studio) -> tuple[int, Work]:
    request = parse_request(document, studio.library, studio.engine, studio.defaults)
    names = {image.name for image in request.marked}
    others = [i for i in request.ids if studio.library.entry(i).name not in names]

    def work(_: Job) -> Iterator[dict]:
        references = studio.transfers.references(request.marked)
        for identifier, record in studio.transfers.found(request, references):
            yield result_event(identifier, record, request.threshold)

    return len(others), work


def _many(document: dict, studio: Studio) -> tuple[int, Work]:
    library, engine = studio.library, studio.engine
    chosen = library.entry(document.get("image")).id
    ids = chosen_ids(document, library)
    side = bodies.integer(document, "side", 160, 16, 512)
    descriptor = document.get("descriptor") or studio.defaults["descriptor"]
    matcher = document.get("matcher") or studio.defaults["matcher"]
    engine.check(descriptor, matcher)

    def work(job: Job) -> Iterator[dict]:
        source = library.read(chosen)
        small = _small_size(source.original_size, side)
        warped, plain = _Average(small), _Average(small)
        everywhere = np.ones(small, bool)

        def described(image):
            return engine.worker.submit(
                lambda: engine.quick_maps([image], descriptor)[0], LATER
            ).result()

        features = described(source)
        layout = layout_of(features)
        for identifier in ids:
            try:
                image = library.read(identifier)
            except Refusal as refusal:
                yield {"image": identifier, "error": str(refusal)}
                continue
            maps = described(image)
            pair = [features], [maps], [source], [image]
            flow = engine.worker.submit(
                lambda pair=pair: engine.matched(*pair, descriptor, matcher)[0], LATER
            ).result()
            thumbnail = _resized(image, _small_size(image.original_size, side))
            if identifier == chosen:
                pulled, inside = thumbnail, everywhere
            else:
                moved = flow.resized(small, thumbnail.shape[:2])
                pulled, inside = moved.warp(thumbnail), moved.lands_inside()
            warped.add(pulled, inside)
            plain.add(_resized(image, small), everywhere)
            job.pictures[identifier] = _jpeg(pulled)
            yield {
                "image": identifier,
                "similarity": round(layout_similarity(layout, layout_of(maps)), 4),
                "mean_confidence": round(float(cells(flow)[..., 2].mean()), 4),
                "picture": _address(job, identifier),
            }
        job.pictures["average"] = _jpeg(warped.result())
        job.pictures["plain_average"] = _jpeg(plain.result())
        return {name: _address(job, name) for name in ("average", "plain_average")}

    return len(ids), work


def _responses(document: dict, studio: Studio) -> tuple[int, Work]:
    class_name = document.get("class")
    studio.check_class(class_name)
    ids = chosen_ids(document, studio.library)

    def work(_: Job) -> Iterator[dict]:
        for identifier in ids:
            try:
                image = studio.library.read(identifier)
            except Refusal as refusal:
                yield {"image": identifier, "error": str(refusal), "strongest": []}
                continue
            content = studio.engine.responses(image, class_name, LATER).result()
            yield {"image": identifier, "strongest": responses.header_of(content)["strongest"]}

    return len(ids), work


class _Average:
    """The mean of pictures, each where it is known."""

    def __init__(self, size: tuple[int, int]):
        self._sum = np.zeros((*size, 3))
        self._count = np.zeros(size)

    def add(self, picture: np.ndarray, known: np.ndarray) -> None:
        self._sum += picture * known[..., np.newaxis]
        self._count += known

    def result(self) -> np.ndarray:
        mean = self._sum / np.maximum(self._count, 1)[..., np.newaxis]
        return np.rint(mean).astype(np.uint8)


def _small_size(size: tuple[int, int], side: int) -> tuple[int, int]:
    scale = min(1, side / max(size))
    return tuple(max(2, round(length * scale)) for length in size)


def _resized(image: ScaledImage, size: tuple[int, int]) -> np.ndarray:
    picture = PIL.Image.fromarray(image.pixels)
    return np.asarray(picture.resize(size[::-1], PIL.Image.Resampling.BOX))


def _jpeg(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "JPEG", quality=_QUALITY)
    return buffer.getvalue()


def _address(job: Job, name: str) -> str:
    return f"/api/v1/jobs/{job.id}/pictures/{name}"
