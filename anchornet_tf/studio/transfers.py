"""Carrying marks to the other images: what is found is kept, image by image."""

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterator, Sequence

from anchornet_tf.annotations.formats import read_annotations, write_annotations
from anchornet_tf.annotations.items import AnnotationSet, ImageAnnotations, Region
from anchornet_tf.annotations.regions import region_from_mask
from anchornet_tf.studio import bodies, marks
from anchornet_tf.studio.byte_cache import ByteCache
from anchornet_tf.studio.cached_matcher import CachedMatcher
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.tasks import assembly
from anchornet_tf.tasks.carrier import Carrier
from anchornet_tf.tasks.frames import ImageFiles
from anchornet_tf.tasks.reference_images import ImageFinder, Listed
from anchornet_tf.tasks.references import Reference
from anchornet_tf.tasks.results import from_notes, to_notes
from anchornet_tf.utils.unfinished import ScratchFolder

# What a record takes beside its text, about.
_KEY_BYTES = 1024
_SUFFIXES = {"coco": ".json", "csv": ".csv", "labelme": ""}


@dataclasses.dataclass(frozen=True)
class TransferRequest:
    """A checked request to carry marks.

    Attributes:
        marked: What is marked.
        ids: The images, in their order, references among them.
        threshold: float.
        references_per_image: int.
        mirror: bool.
        descriptor: str.
        matcher: str.
    """

    marked: tuple[ImageAnnotations, ...]
    ids: tuple[str, ...]
    threshold: float
    references_per_image: int
    mirror: bool
    descriptor: str
    matcher: str


def parse_request(document: dict, library: Library, engine: Engine, defaults: dict):
    """Returns a `TransferRequest` from what the page sent.

    Raises:
        Refusal: If something is not as it must be.
    """
    marked = marks.parse_marks(document.get("references"), library)
    marks.check_names(marked)
    descriptor = document.get("descriptor") or defaults["descriptor"]
    matcher = document.get("matcher") or defaults["matcher"]
    engine.check(descriptor, matcher)
    return TransferRequest(
        tuple(marked),
        chosen_ids(document, library),
        bodies.number(document, "threshold", 0.5, 0, 1),
        bodies.integer(document, "references_per_image", 5, 1, 1000),
        bodies.truth(document, "mirror", True),
        descriptor,
        matcher,
    )


def chosen_ids(document: dict, library: Library) -> tuple[str, ...]:
    """Returns the ids under `images`, each once; those of all images where it is null.

    Raises:
        Refusal: If there is something else.
    """
    ids = document.get("images")
    if ids is None:
        return tuple(entry.id for entry in library.all())
    if not isinstance(ids, list) or len(ids) > library.max_images:
        raise expected(f"a list of at most {library.max_images} ids as `images`", ids)
    return tuple(dict.fromkeys(library.entry(identifier).id for identifier in ids))


class Transfers:
    """Carries marks, and remembers what was found.

    Args:
        library: The images.
        engine: What computes.
        memory: int. Bytes of what was found to keep.
    """

    def __init__(self, library: Library, engine: Engine, memory: int = 64 * 2**20):
        self._library, self._engine = library, engine
        self._records = ByteCache(memory)

    def references(self, images: Sequence[ImageAnnotations]) -> list[Reference]:
        """Returns annotated images that something can be carried from.

        Raises:
            Refusal: If an image cannot be read, or a point is outside.
        """
        ids = {entry.name: entry.id for entry in self._library.all()}
        try:
            return [Reference(image, self._library.read(ids.get(image.name))) for image in images]
        except ValueError as error:
            raise Refusal(400, " ".join(str(error).split())) from error

    def found(
        self, request: TransferRequest, references: Sequence[Reference]
    ) -> Iterator[tuple[str, dict]]:
        """Yields the id of each image that is no reference, and what was found in it.

        That is what `anchornet_tf.tasks.results.to_notes` returns, and `error`.
        """
        names = {reference.annotations.name for reference in references}
        entries = {entry.name: entry for entry in self._library.all() if entry.id in request.ids}
        ordered = sorted(entries.values(), key=lambda entry: request.ids.index(entry.id))
        key = self._key(request, references)
        carrier = None
        for batch in assembly.batches([entry.name for entry in ordered], names):
            images, errors = {}, {}
            for name in batch:
                try:
                    images[name] = self._library.read(entries[name].id)
                except Refusal as refusal:
                    errors[name] = str(refusal)
            digests = tuple(self._engine.digest(image) for image in images.values())
            maps = None
            for name in batch:
                if name in errors:
                    yield entries[name].id, {"error": errors[name]}
                    continue
                image = images[name]
                place = (key, digests, self._engine.digest(image))
                kept = self._records.get(place)
                record = None if kept is None else json.loads(kept)
                if record is None:
                    if carrier is None:
                        carrier = self._carrier(request, references)
                    if maps is None:
                        described = carrier.matcher.describe(list(images.values()))
                        maps = dict(zip(images, described, strict=True))
                    carried = carrier.carry(maps[name], image)
                    record = to_notes(carried, image.original_size) | {"error": None}
                    # As text, whose size is known.
                    text = json.dumps(record)
                    self._records.put(place, text, len(text) + _KEY_BYTES)
                yield entries[name].id, record

    def _carrier(self, request: TransferRequest, references) -> Carrier:
        matcher = CachedMatcher(self._engine, request.descriptor, request.matcher)
        try:
            return Carrier(references, matcher, request.references_per_image, request.mirror)
        except ValueError as error:
            raise Refusal(400, " ".join(str(error).split())) from error

    def _key(self, request: TransferRequest, references) -> str:
        said = [
            [
                self._engine.digest(reference.image),
                [[*key, *place] for key, place in reference.points.items()],
                [
                    [*key, region.kind, [polygon.tolist() for polygon in region.polygons]]
                    for key, region in reference.regions.items()
                ],
            ]
            for reference in references
        ]
        options = [
            request.references_per_image,
            request.mirror,
            request.descriptor,
            request.matcher,
        ]
        return hashlib.sha256(json.dumps([said, options]).encode()).hexdigest()

    def exported(self, request: TransferRequest, format: str) -> dict[str, bytes]:
        """Returns the files that `python -m anchornet_tf.transfer` would write, by name.

        The references are written to a file and read again, as the program reads them.

        Args:
            request: What to carry where.
            format: "coco", "labelme" or "csv".

        Raises:
            Refusal: If the format has no room for something.
        """
        with ScratchFolder("anchornet-export") as folder:
            try:
                given = self._reread(folder, request.marked, format)
                # Images are named as if they lay beside the file.
                ids = {entry.name: entry.id for entry in self._library.all()}
                names = {identifier: name for name, identifier in ids.items()}
                chosen = [names[identifier] for identifier in request.ids if identifier in names]
                output = folder / "output"
                root = output if format == "labelme" else folder
                images = ImageFiles([root / name for name in chosen], root)
                listed = Listed(given, ImageFinder([], images), images, output)
                references = self.references(given.images)
                records = {
                    names[identifier]: record
                    for identifier, record in self.found(request, references)
                }
                found = assembly.found_in_all(
                    references, images, listed, records, request.threshold
                )
                path = output.with_suffix(_SUFFIXES[format])
                write_annotations(path, assembly.with_elsewhere(given, listed, found))
            except ValueError as error:
                raise Refusal(400, " ".join(str(error).split())) from error
            if path.is_dir():
                return {each.name: each.read_bytes() for each in sorted(path.iterdir())}
            return {f"transferred{path.suffix}": path.read_bytes()}

    def _reread(self, folder: pathlib.Path, images, format: str) -> AnnotationSet:
        written = folder / f"references{_SUFFIXES[format]}"
        fitted = marks.fitted_to_format(images, format)
        write_annotations(written, AnnotationSet(format, tuple(fitted)))
        return read_annotations(written)


def result_event(identifier: str, record: dict, threshold: float) -> dict:
    """Returns what was found in an image as the page takes it."""
    event = {"image": identifier, "points": [], "regions": [], "score": 0.0, "used": []}
    if record["error"] is not None:
        return event | {"error": record["error"]}
    carried = from_notes(record)
    scores = []
    for key, (x, y, score) in carried.points.items():
        point = {"name": key.name, "x": x, "y": y, "score": score, "sure": score >= threshold}
        event["points"].append(_placed(point, key))
        scores.append(score)
    for key, (mask, score) in carried.masks.items():
        name = key.name.split("\0")[0]
        # A pixel of leeway halves the corners, and nobody sees it.
        region = region_from_mask(mask, Region(name, "polygons"), tolerance=0.75)
        if region is not None:
            said = marks.marked_region(name, region) | {"score": score}
            event["regions"].append(_placed(said, key))
            scores.append(score)
    event["score"] = round(sum(scores) / len(scores), 4) if scores else 0.0
    event["used"] = list(carried.used)
    return event


def _placed(said: dict, key) -> dict:
    """Adds which object it belongs to, where there are several."""
    if key.category:
        said["category"] = key.category
    if key.number:
        said["object"] = key.number
    return said
