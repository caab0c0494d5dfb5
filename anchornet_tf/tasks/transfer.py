"""Annotate once: carries what is marked in a few images to any number of others."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from anchornet_tf.annotations.formats import read_annotations
from anchornet_tf.annotations.items import AnnotatedObject, AnnotationSet, ImageAnnotations, Point
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks.carrier import Carrier
from anchornet_tf.tasks.reference_images import load_references
from anchornet_tf.tasks.references import Reference
from anchornet_tf.tasks.results import Patterns
from anchornet_tf.utils.image_io import read_scaled

_DESCRIBED_AT_ONCE = 8

References = str | os.PathLike | AnnotationSet | Sequence[tuple]


def transfer(
    references: References,
    images: Iterable,
    matcher: Matcher | None = None,
    *,
    threshold: float = 0.5,
    references_per_image: int = 5,
    mirror: bool = True,
) -> Iterator[ImageAnnotations]:
    """Carries named points, masks and boxes from annotated images to others.

    Args:
        references: An annotation file (COCO, LabelMe or CSV) whose images lie beside it, or a list
            of pairs `(image, marks)`. An image is a path, an array or a PIL image; marks are a
            dictionary of names to `(x, y)`, or an `ImageAnnotations`.
        images: Paths, arrays or PIL images.
        matcher: The `Matcher` that finds the correspondences; None for that of the preset.
        threshold: float. Points that are less likely to be right are marked as not labelled.
        references_per_image: int. How many references, the most similar ones, are asked for each
            image.
        mirror: bool. Whether references are also tried mirrored.

    Returns:
        Iterator over one `ImageAnnotations` per image, in the order of `images`. Each point has a
        `score`, the probability that it is right.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If references have nothing marked, an image cannot be read, or a number is out
            of range.

    Example:

    ```python
    import anchornet_tf
    from anchornet_tf.datasets import parts_world

    cows = [parts_world.draw("cow", number) for number in range(4)]
    x, y, visible = cows[0].keypoints["nose"]
    references = [(cows[0].image, {"nose": (x, y)})]
    for found in anchornet_tf.transfer(references, [cow.image for cow in cows[1:]]):
        print(found.objects[0].points["nose"])
    ```
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"`threshold` must be from 0 to 1. Received: threshold={threshold}")
    if isinstance(images, str | os.PathLike):
        raise ValueError(f"Expected a list of images, such as paths. Received: {images!r}")
    carrier = Carrier(_loaded(references), matcher or Matcher(), references_per_image, mirror)
    # The checks above run now, not when the first result is asked for.
    return _results(carrier, images, threshold)


def _results(carrier, images, threshold):
    patterns = Patterns(carrier.references)
    chunk = []
    for number, image in enumerate(images):
        name = os.fspath(image) if isinstance(image, str | os.PathLike) else str(number)
        chunk.append((name, read_scaled(image, max_pixels=carrier.matcher.max_pixels)))
        if len(chunk) == _DESCRIBED_AT_ONCE:
            yield from _of_chunk(carrier, patterns, chunk, threshold)
            chunk = []
    yield from _of_chunk(carrier, patterns, chunk, threshold)


def _of_chunk(carrier, patterns, chunk, threshold):
    maps = carrier.matcher.describe([image for _, image in chunk]) if chunk else []
    for (name, image), features in zip(chunk, maps, strict=True):
        carried = carrier.carry(features, image)
        yield patterns.annotations(name, image.original_size, carried, threshold)


def _loaded(references: References) -> list[Reference]:
    if isinstance(references, str | os.PathLike):
        folder = references if os.path.isdir(references) else os.path.dirname(references) or "."
        return load_references(read_annotations(references), [folder])
    if isinstance(references, AnnotationSet):
        return load_references(references, ["."])
    try:
        pairs = [(image, marks) for image, marks in references]
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Expected an annotation file or pairs of an image and what is marked in it. "
            f"Received: {type(references).__name__}"
        ) from error
    return [
        Reference(_annotations(marks, number), read_scaled(image))
        for number, (image, marks) in enumerate(pairs)
    ]


def _annotations(marks, number: int) -> ImageAnnotations:
    if isinstance(marks, ImageAnnotations):
        return marks
    if not isinstance(marks, Mapping):
        raise ValueError(
            f"Expected a dictionary of names to (x, y), or an ImageAnnotations. Received: {marks!r}"
        )
    points = {}
    for name, place in marks.items():
        try:
            x, y = (float(value) for value in place)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected (x, y) of {name!r}. Received: {place!r}") from error
        points[str(name)] = Point(x, y)
    return ImageAnnotations(str(number), None, (AnnotatedObject("", points),))
