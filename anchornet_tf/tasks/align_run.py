"""A whole alignment: from a folder of images to flows and pictures."""

import dataclasses
import os
import pathlib

import PIL.Image

import anchornet_tf
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks import align_pictures
from anchornet_tf.tasks.align import align_frame, check_set
from anchornet_tf.tasks.align_config import AlignConfig
from anchornet_tf.tasks.align_store import FolderStore
from anchornet_tf.tasks.aligned import AlignedImages
from anchornet_tf.tasks.common_frame import SEEN_SIDE, CommonFrame
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
from anchornet_tf.tasks.frames import ImageSequence, open_images
from anchornet_tf.utils.files import atomic_file, locked, make_folder
from anchornet_tf.utils.image_io import read_scaled


@dataclasses.dataclass(frozen=True, eq=False)
class AlignResult:
    """What an alignment did.

    Attributes:
        aligned: The flows.
        names: Names of the images, in their order.
        onto: The image that pictures show the others warped onto.
        files: What was written, by what it shows.
        skipped: Why, by image, for those that could not be read.
    """

    aligned: AlignedImages
    names: tuple[str, ...]
    onto: int
    files: dict[str, pathlib.Path]
    skipped: dict[str, str]


def run(config: AlignConfig, progress: bool = True) -> AlignResult:
    """Aligns the images of a folder, or goes on where an earlier run was stopped.

    Args:
        config: What to do.
        progress: bool. Whether to show progress bars.

    Raises:
        ValueError: If there are no images, or too few that can be read.
    """
    sequence = open_images(config.images, config.recursive, config.options.get("max_pixels"))
    images, names, stamps, skipped = [], [], [], {}
    for number, name in enumerate(sequence.names):
        if config.limit is not None and len(images) == config.limit:
            break
        try:
            images.append(read_scaled(sequence.read(number), SEEN_SIDE))
        except ValueError as error:
            skipped[name] = str(error)
            continue
        names.append(name)
        stamps.append(_stamp(sequence, number))
    check_set(len(images), config.neighbors)
    onto = _onto(config, names)
    frame = CommonFrame.of(images, config.max_side)
    folder = make_folder(config.output)
    settings = FlowWebSettings(iterations=config.iterations, seed=config.seed)
    waiting = f"Another process works in {folder}; waiting until it has ended."
    with locked(folder / "work", waiting):
        return _align(config, folder, frame, names, stamps, skipped, onto, settings, progress)


def _align(config, folder, frame, names, stamps, skipped, onto, settings, progress) -> AlignResult:
    """Aligns the images, and writes everything."""
    store = _store(config, folder, frame, names, stamps, settings)
    options = {"confidence": None} | config.matcher_options()
    matcher = Matcher(config.features, config.matcher, **options)
    aligned = align_frame(frame, matcher, config.neighbors, settings, store, progress)
    onto = aligned.center() if onto is None else onto
    files = {
        "flows": folder / "flows.npz",
        "average": folder / "average.png",
        "sheet": folder / "warped.png",
        "names": folder / "images.txt",
    }
    aligned.save(files["flows"])
    with atomic_file(files["names"]) as temporary:
        temporary.write_text("".join(f"{name}\n" for name in names))
    _save(align_pictures.average_picture(frame, aligned, onto), files["average"])
    _save(align_pictures.sheet_picture(frame, aligned, onto, names), files["sheet"])
    return AlignResult(aligned, tuple(names), onto, files, skipped)


def _onto(config: AlignConfig, names: list[str]) -> int | None:
    if config.onto is None:
        return None
    if config.onto not in names:
        raise ValueError(
            f"Expected --onto to be one of the images, such as {names[0]}. Received: {config.onto}"
        )
    return names.index(config.onto)


def _store(config, folder, frame: CommonFrame, names, stamps, settings) -> FolderStore:
    matched = {
        "version": anchornet_tf.__version__,
        "images": dict(zip(names, stamps, strict=True)),
        "size": frame.size,
        "features": config.features,
        "matcher": config.matcher,
        "options": {name: str(value) for name, value in config.matcher_options().items()},
        "neighbors": config.neighbors,
    }
    rest = dataclasses.asdict(settings)
    # More iterations go on from fewer.
    del rest["iterations"]
    return FolderStore(folder / "work", matched, rest, settings.iterations)


def _stamp(images: ImageSequence, number: int) -> str:
    """Returns what tells whether the file of an image changed."""
    state = os.stat(images.path if images.is_video else images.paths[number])
    return f"{state.st_size}-{state.st_mtime_ns}"


def _save(picture: PIL.Image.Image, path: pathlib.Path) -> None:
    with atomic_file(path) as temporary:
        picture.save(temporary)
