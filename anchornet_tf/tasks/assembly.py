"""Parts of a whole transfer: which images go together, and how results become one file.

The program and the studio share them, so that both write the same bytes.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from anchornet_tf.annotations.items import AnnotationSet, ImageAnnotations
from anchornet_tf.tasks.frames import ImageSequence
from anchornet_tf.tasks.reference_images import Listed
from anchornet_tf.tasks.references import Reference
from anchornet_tf.tasks.results import Patterns, from_notes
from anchornet_tf.tasks.tracks import smoothed

BATCH = 8


def batches(names: Sequence[str], references: Collection[str]) -> list[list[str]]:
    """Returns which images are described together.

    The last bits of a network's numbers depend on the batch. So batches follow from the places of
    the images, and an image that becomes a reference changes its own batch alone.

    Args:
        names: All images, in their order.
        references: Those that are not described in batches.
    """
    chunks = [names[start : start + BATCH] for start in range(0, len(names), BATCH)]
    chunks = [[name for name in chunk if name not in references] for chunk in chunks]
    return [chunk for chunk in chunks if chunk]


def is_known(records: Mapping[str, Mapping], name: str) -> bool:
    """Returns whether an image was read and worked on.

    Args:
        records: What `anchornet_tf.tasks.results.to_notes` returned for each image, and `error`:
            None, or why it could not be read.
        name: The image.
    """
    return name in records and records[name]["error"] is None


def found_in_all(
    references: Sequence[Reference],
    images: ImageSequence,
    listed: Listed,
    records: Mapping[str, Mapping],
    threshold: float,
    smooth: float = 0.0,
) -> list[tuple[int, ImageAnnotations]]:
    """Returns the annotations of all images with their numbers: given ones, the others as found.

    Args:
        references: The references.
        images: All images.
        listed: What the annotation file says about them.
        records: As in `is_known`.
        threshold: float. Points less probable than this are marked as not labelled.
        smooth: float. How strongly to smooth along time.
    """
    names = {reference.annotations.name for reference in references}
    patterns = Patterns(references)
    smooth_points = {}
    if smooth:
        known = [name for name in images.names if name in names or is_known(records, name)]
        points = {
            name: from_notes(records[name], with_masks=False) for name in known if name not in names
        }
        smooth_points = smoothed(known, points, references, smooth)
    found = []
    for number, name in enumerate(images.names):
        given = listed.here.get(number, [])
        if name not in names and is_known(records, name):
            notes = records[name]
            carried = from_notes(notes)
            if name in smooth_points:
                carried = dataclasses.replace(carried, points=smooth_points[name].points)
            image = patterns.annotations(
                listed.names[number], tuple(notes["size"]), carried, threshold
            )
            if given:  # Listed without marks: its name, its id and the like are kept.
                image = dataclasses.replace(image, name=given[0].name, fields=given[0].fields)
            given = [image, *given[1:]]
        found += [(number, image) for image in given]
    return found


def with_elsewhere(
    annotations: AnnotationSet, listed: Listed, found: Sequence[tuple[int, ImageAnnotations]]
) -> AnnotationSet:
    """Returns everything that is written: what is said about images elsewhere comes first.

    Args:
        annotations: What was read.
        listed: What it says about which images.
        found: As `found_in_all` returned it.
    """
    everything = *listed.elsewhere, *(image for _, image in found)
    return AnnotationSet(annotations.format, everything, annotations.fields)
