"""A whole transfer: from an annotation file and a folder to another annotation file.

What was found in each image is noted in a journal beside the output as soon as it is known. The
same command continues from there, and ends with the same file: images are always described in the
same batches, whatever was done before.
"""

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
from collections.abc import Iterator

import numpy as np
import tqdm

import anchornet_tf
from anchornet_tf.annotations.formats import read_annotations, write_annotations
from anchornet_tf.annotations.items import NOT_LABELLED, AnnotationSet, ImageAnnotations
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks import assembly, contact_sheet, suggestion
from anchornet_tf.tasks.carrier import Carrier
from anchornet_tf.tasks.frames import ImageSequence, open_images
from anchornet_tf.tasks.layout import layout_of
from anchornet_tf.tasks.reference_images import ImageFinder, Listed, load_references
from anchornet_tf.tasks.results import to_notes
from anchornet_tf.tasks.transfer_config import TransferConfig
from anchornet_tf.utils.files import locked
from anchornet_tf.utils.image_io import ScaledImage
from anchornet_tf.utils.journal import Journal

# Of the points of an image that are too unsure, so many are named in the report.
_NAMED = 4


@dataclasses.dataclass(frozen=True, eq=False)
class TransferResult:
    """What a transfer did.

    Attributes:
        annotations: Everything that was written, or None without references.
        output: The file, or the folder of files, or None.
        report: The page to look at, or None.
        skipped: Why, by image, for those that could not be read.
        suggested: Names of the images to annotate next.
    """

    annotations: AnnotationSet | None
    output: pathlib.Path | None
    report: pathlib.Path | None
    skipped: dict[str, str]
    suggested: tuple[str, ...]


def run(config: TransferConfig, progress: bool = True) -> TransferResult:
    """Carries annotations to all images, or goes on where an earlier run was stopped.

    Args:
        config: What to do.
        progress: bool. Whether to show a progress bar.

    Raises:
        FileNotFoundError: If a file or an annotated image does not exist.
        ValueError: If annotations are malformed, or there are no images.
    """
    limit = config.options.get("max_pixels")
    images = open_images(config.images, config.recursive, limit)
    if config.references is None:
        return _only_suggest(config, images, progress)
    annotations = read_annotations(config.references)
    output = config.output_path(annotations.format)
    folders = _folders(config, images)
    references = load_references(annotations, folders, images, limit)
    listed = Listed(annotations, ImageFinder(folders, images), images, output)
    matcher = Matcher(config.features, config.matcher, **config.matcher_options())
    carrier = Carrier(references, matcher, config.references_per_image, config.mirror)
    # Hidden: it stays, as a lock must, beside what people look at.
    waiting = f"Another process writes {output}; waiting until it has ended."
    with locked(output.with_name(f".{output.name}"), waiting):
        return _carry(config, images, annotations, references, listed, carrier, progress)


def _carry(
    config: TransferConfig, images, annotations, references, listed, carrier, progress
) -> TransferResult:
    """Carries annotations to the images that lack them, and writes everything."""
    output = config.output_path(annotations.format)
    names = {reference.annotations.name for reference in references}
    journal = _journal(output, config, references)
    _forget_changed(journal, images)
    _carry_all(carrier, images, names, journal, progress)
    found = assembly.found_in_all(
        references, images, listed, journal.records, config.threshold, config.smooth
    )
    written = assembly.with_elsewhere(annotations, listed, found)
    write_annotations(output, written)
    skipped = {
        name: journal.records[name]["error"]
        for name in images.names
        if name not in names and not _is_known(journal, name)
    }
    report = _report(output, images, found, names, config) if config.report else None
    suggested = ()
    if config.suggest:
        suggested = _suggested(config.suggest, images, names, journal)
    return TransferResult(written, output, report, skipped, suggested)


def _folders(config: TransferConfig, images: ImageSequence) -> list[pathlib.Path]:
    """Where the images of the annotations may lie."""
    references = pathlib.Path(config.references)
    return [references if references.is_dir() else references.parent, images.folder]


def _journal(output: pathlib.Path, config: TransferConfig, references) -> Journal:
    """Opens the journal; one of other references or options is begun anew, as it is of no use."""
    path = output.with_name(f"{output.name}.journal.jsonl")
    digest = hashlib.sha256()
    for reference in references:
        marks = [[*key, *point] for key, point in reference.points.items()]
        regions = [[*key, region.kind] for key, region in reference.regions.items()]
        said = [reference.annotations.name, reference.image.original_size, marks, regions]
        digest.update(json.dumps(said).encode())
        digest.update(np.ascontiguousarray(reference.image.pixels))
        for mask in reference.masks.values():
            digest.update(np.ascontiguousarray(mask))
    header = {
        "version": anchornet_tf.__version__,
        "images": str(config.images),
        "references": digest.hexdigest()[:16],
        "references_per_image": config.references_per_image,
        "mirror": config.mirror,
        "features": config.features,
        "matcher": config.matcher,
        "options": {
            name: [str(value), *_stamps(value)] for name, value in config.matcher_options().items()
        },
    }
    try:
        return Journal(path, header)
    except ValueError:
        path.unlink()
        return Journal(path, header)


def _stamps(value) -> list[str]:
    """Returns when the files of an option were written, such as a model that was trained again."""
    if not isinstance(value, str | os.PathLike) or not os.path.exists(value):
        return []
    path = pathlib.Path(value)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [_stamp(file) for file in files if file.is_file()]


def _stamp(path: str | os.PathLike) -> str:
    """Returns what tells whether a file changed."""
    try:
        state = os.stat(path)
    except OSError:
        return ""
    return f"{state.st_size}-{state.st_mtime_ns}"


def _image_stamp(images: ImageSequence, number: int) -> str:
    return _stamp(images.path if images.is_video else images.paths[number])


def _forget_changed(journal: Journal, images: ImageSequence) -> None:
    """Forgets what was noted about files that changed since, or that can be read by now."""
    for number, name in enumerate(images.names):
        notes = journal.records.get(name)
        if notes is None:
            continue
        changed = notes.get("stamp") != _image_stamp(images, number)
        if changed or (notes["error"] and isinstance(_read(images, number), ScaledImage)):
            del journal.records[name]


def _is_known(journal: Journal, name: str) -> bool:
    return assembly.is_known(journal.records, name)


def _carry_all(carrier, images: ImageSequence, references, journal: Journal, progress) -> None:
    names = [name for name in images.names if name not in references]
    numbers = {name: number for number, name in enumerate(images.names)}
    done = sum(name in journal.records for name in names)
    bar = tqdm.tqdm(total=len(names), initial=done, unit="image", disable=not progress)
    with bar:
        for batch in _batches(images, references, journal):
            readable = [(name, image) for name, image in batch if isinstance(image, ScaledImage)]
            maps = carrier.matcher.describe([image for _, image in readable]) if readable else []
            maps = {name: features for (name, _), features in zip(readable, maps, strict=True)}
            for name, image in batch:
                if name in journal.records:
                    continue
                notes = {"error": str(image)}
                if name in maps:
                    notes = {
                        **to_notes(carrier.carry(maps[name], image), image.original_size),
                        "layout": suggestion.packed(layout_of(maps[name])),
                        "error": None,
                    }
                # Noted one by one: what is done is kept, whenever the run is stopped.
                journal.add(name, notes | {"stamp": _image_stamp(images, numbers[name])})
                bar.update()


def _batches(images: ImageSequence, references, journal: Journal) -> Iterator[list]:
    """Yields (name, image or error) in batches of fixed members that are not done yet.

    The next batch is read while one is worked on.
    """
    numbers = {name: number for number, name in enumerate(images.names)}
    chunks = assembly.batches(images.names, references)
    chunks = [chunk for chunk in chunks if any(name not in journal.records for name in chunk)]

    def read(chunk):
        return [(name, _read(images, numbers[name])) for name in chunk]

    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        coming = [reader.submit(read, chunk) for chunk in chunks[:1]]
        for following in [*chunks[1:], None]:
            if not coming:
                return
            batch = coming.pop().result()
            if following is not None:
                coming.append(reader.submit(read, following))
            yield batch


def _read(images: ImageSequence, number: int) -> ScaledImage | Exception:
    try:
        return images.read(number)
    except (ValueError, OSError) as error:
        return error


def _score(image: ImageAnnotations) -> float:
    scores = [item.score for item in image.objects if item.score is not None]
    return float(np.mean(scores)) if scores else 0.0


def _unsure(image: ImageAnnotations) -> str:
    """Names the points that were found and are too unsure to be marked."""
    found = sorted(
        (point.score, name)
        for item in image.objects
        for name, point in item.points.items()
        if point.visibility == NOT_LABELLED and point.score
    )
    texts = [f"{name} {score:.2f}" for score, name in found[:_NAMED]]
    texts += [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return f"not marked: {', '.join(texts)}" if texts else ""


def _report(output, images: ImageSequence, found, references, config) -> pathlib.Path:
    entries = (
        contact_sheet.SheetEntry(
            images.names[number],
            functools.partial(images.read, number),
            image,
            None if images.names[number] in references else _score(image),
            "" if images.names[number] in references else _unsure(image),
        )
        for number, image in found
    )
    folder = output.with_name(f"{output.stem}-report")
    title = f"{pathlib.Path(config.images).name}: what was carried over"
    return contact_sheet.write_report(folder, entries, title, config.threshold)


def _suggested(count, images: ImageSequence, references, journal: Journal) -> tuple[str, ...]:
    known = [name for name in images.names if name not in references and _is_known(journal, name)]
    layouts = suggestion.unpacked([journal.records[name]["layout"] for name in known])
    marks = [journal.records[name]["points"] + journal.records[name]["masks"] for name in known]
    sure = [float(np.mean([mark[-1] for mark in found] or [0])) for found in marks]
    return tuple(known[number] for number in suggestion.suggest(layouts, count, sure))


def _only_suggest(config: TransferConfig, images: ImageSequence, progress) -> TransferResult:
    matcher = Matcher(config.features, config.matcher, **config.matcher_options())
    layouts, names, skipped = [], [], {}
    for start in tqdm.trange(0, len(images), assembly.BATCH, unit="batch", disable=not progress):
        numbers = range(start, min(start + assembly.BATCH, len(images)))
        read = {number: _read(images, number) for number in numbers}
        skipped |= {
            images.names[number]: str(image)
            for number, image in read.items()
            if not isinstance(image, ScaledImage)
        }
        read = {number: image for number, image in read.items() if isinstance(image, ScaledImage)}
        maps = matcher.describe(list(read.values())) if read else []
        for number, features in zip(read, maps, strict=True):
            names.append(images.names[number])
            layouts.append(suggestion.packed(layout_of(features)))
    chosen = suggestion.suggest(suggestion.unpacked(layouts), config.suggest)
    return TransferResult(None, None, None, skipped, tuple(names[number] for number in chosen))
