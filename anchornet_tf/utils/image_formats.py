"""Which image files can be read: how they are named, what opens them, what their headers say."""

import contextlib
import functools
import pathlib
import threading
from collections.abc import Iterator
from typing import NamedTuple

import PIL.features
import PIL.Image

# Files of other formats that Pillow knows are read too, where a user names them one by one.
_SUFFIXES_OF = {
    "JPEG": (".jpg", ".jpeg", ".jfif"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "WebP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "HEIC": (".heic", ".heif"),
    "AVIF": (".avif",),
}
SUFFIXES = tuple(suffix for suffixes in _SUFFIXES_OF.values() for suffix in suffixes)
UPRIGHT = 1
_ORIENTATIONS = range(1, 9)
_ORIENTATION_TAG = 0x0112
# Whatever the chunks of a PNG file are, one of these is in it if it has an orientation.
_PNG_MARKS = (b"eXIf", b"Raw profile type exif", b"XML:com.adobe.xmp")
_START = 64
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_PILLOW_LIMIT = threading.Lock()


class Header(NamedTuple):
    """What is known of an image before it is decoded.

    Attributes:
        format: str, Pillow's name of it, such as "JPEG".
        height: int, of the pixels as they are stored.
        width: int.
        orientation: int, 1..8 as in EXIF; 1 is upright.
    """

    format: str
    height: int
    width: int
    orientation: int


def open_image(path: str) -> PIL.Image.Image:
    """Opens a file whatever Pillow's own limit of pixels is, before which ours shall speak.

    Raises:
        OSError: If the file is missing or no image that can be read here; see `advice`.
    """
    with without_limit():
        _heif_plugin()
        return PIL.Image.open(path)


@contextlib.contextmanager
def without_limit() -> Iterator[None]:
    """Switches Pillow's own limit of pixels off, which some versions also ask about crops."""
    with _PILLOW_LIMIT:
        limit = PIL.Image.MAX_IMAGE_PIXELS
        PIL.Image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = limit


def orientation(image: PIL.Image.Image) -> int:
    """Returns the orientation that a camera noted, 1..8; 1 without a note or with a damaged one."""
    try:
        found = image.getexif().get(_ORIENTATION_TAG, UPRIGHT)
    except Exception:
        # Pillow raises almost anything for damaged notes, which say nothing about the pixels.
        return UPRIGHT
    return found if found in _ORIENTATIONS else UPRIGHT


def read_header(path: str) -> Header | None:
    """Returns what a file says of itself, without decoding it; None if Pillow cannot open it."""
    try:
        with open_image(path) as image:
            turn = UPRIGHT
            # In a PNG file the note may follow the pixels, which Pillow would decode to find it.
            if image.format != "PNG" or _contains(path, _PNG_MARKS):
                turn = orientation(image)
            return Header(image.format, image.height, image.width, turn)
    except Exception:
        # Pillow and its plugins raise almost anything for damaged files.
        return None


def decoders() -> str:
    """Returns the versions of what decides which files can be read."""
    return f"Pillow {PIL.__version__}, pillow_heif {_heif_plugin()}"


def advice(path: str) -> str:
    """Returns what to install to read a file; empty if that would not help.

    Args:
        path: str, a file that cannot be read.
    """
    try:
        with open(path, "rb") as handle:
            start = handle.read(_START)
    except OSError:
        return ""
    # Boxes of ISO media: size, `ftyp`, the format.
    if start[4:8] != b"ftyp":
        return ""
    if b"avif" in start and not PIL.features.check("avif"):
        return "AVIF files need Pillow 11.3 or later (pip install --upgrade pillow)"
    if start[8:12] in _HEIC_BRANDS and _heif_plugin() is None:
        return "HEIC files need the package pillow_heif (pip install pillow_heif)"
    return ""


@functools.cache
def _heif_plugin() -> str | None:
    """Returns the version of the plugin that lets Pillow open HEIC files; None without it."""
    try:
        import pillow_heif
    except ImportError:
        return None
    pillow_heif.register_heif_opener()
    return pillow_heif.__version__


def _contains(path: str, marks: tuple[bytes, ...]) -> bool:
    contents = pathlib.Path(path).read_bytes()
    return any(mark in contents for mark in marks)
