"""Annotation files in and out of the studio."""

import io
import pathlib
import re
import zipfile

from anchornet_tf.annotations.formats import FORMATS, read_annotations
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.marks import to_marks
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.tasks.frames import ImageFiles
from anchornet_tf.tasks.reference_images import ImageFinder
from anchornet_tf.utils.unfinished import ScratchFolder

_MOST_FILES = 5000
_MOST_BYTES = 256 * 2**20
# The same files give the same archive.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def imported(name: str, content: bytes, library: Library) -> dict:
    """Reads an annotation file: COCO, LabelMe (one file or a zip of them) or CSV.

    Args:
        name: str, the file's name, which tells CSV from JSON.
        content: The bytes.
        library: The images, found by the names that the file gives them.

    Returns:
        `references` as the page takes them, names of `missing` images, and the `format`.

    Raises:
        Refusal: If the file is malformed.
    """
    with ScratchFolder("anchornet-import") as folder:
        if content[:2] == b"PK":
            path = _unpacked(content, folder / "labelme")
        else:
            path = folder / f"annotations{'.csv' if name.lower().endswith('.csv') else '.json'}"
            path.write_bytes(content)
        try:
            annotations = read_annotations(path)
        except (ValueError, OSError) as error:
            text = " ".join(str(error).split()).replace(f"{folder}/", "")
            raise Refusal(400, text.replace(path.name, name[:100])) from error
    entries = library.all()
    root = pathlib.Path("/")
    finder = ImageFinder([], ImageFiles([root / entry.name for entry in entries], root))
    found, missing = [], []
    for image in annotations.images:
        try:
            entry = entries[finder.find(image.name)]
        except FileNotFoundError:
            missing.append(image.name)
            continue
        if image.size is not None and tuple(image.size) != (entry.height, entry.width):
            raise expected(
                f"the image {entry.name!r} with the size that its annotations say, "
                f"{image.size[1]} x {image.size[0]}",
                f"{entry.width} x {entry.height}",
            )
        found.append((entry.id, image))
    return {
        "references": to_marks(found, annotations.format),
        "missing": list(dict.fromkeys(missing)),
        "format": annotations.format,
    }


def _unpacked(content: bytes, folder: pathlib.Path) -> pathlib.Path:
    """Writes the JSON files of an archive to a folder, all of them directly into it."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [
                member
                for member in archive.infolist()
                if member.filename.lower().endswith(".json") and not member.is_dir()
            ]
            size = sum(member.file_size for member in members)
            if len(members) > _MOST_FILES or size > _MOST_BYTES:
                raise expected(
                    f"a zip of at most {_MOST_FILES} files and {_MOST_BYTES:,} bytes",
                    f"{len(members)} files and {size:,} bytes",
                    413,
                )
            left = _MOST_BYTES
            for number, member in enumerate(members):
                # Names in an archive may lead anywhere.
                last = re.sub(r"[^\w. -]", "_", re.split(r"[/\\]", member.filename)[-1])[-80:]
                with archive.open(member) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise expected(f"a zip of at most {_MOST_BYTES:,} bytes", "more", 413)
                target = folder / last
                if target.exists():
                    target = folder / f"{number}-{last}"
                target.write_bytes(data)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise expected("a zip of LabelMe files", str(error)) from error
    except zipfile.zlib.error as error:
        raise expected("a zip of LabelMe files", str(error)) from error
    if not members:
        raise expected("a zip of LabelMe files, whose names end in .json", "none")
    return folder


def check_format(format) -> str:
    """Returns the name of a format.

    Raises:
        Refusal: If there is no such format.
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise expected(f"a `format`, one of {', '.join(FORMATS)}", format)
    return format


def packed_files(format: str, files: dict[str, bytes]) -> tuple[str, str, bytes]:
    """Returns the name, the media type and the bytes of what is downloaded.

    Args:
        format: The format.
        files: As `Transfers.exported` returns them.
    """
    if format != "labelme":
        ((name, content),) = files.items()
        return name, "text/csv" if format == "csv" else "application/json", content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, _ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return "transferred.zip", "application/zip", buffer.getvalue()
