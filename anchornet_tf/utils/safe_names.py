"""Names of files and layers for classes, whatever the classes are called."""

import hashlib
import re
import unicodedata

# Such a name is its own file name.
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,60}")
# Windows keeps these for devices.
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)
_MOST_CHARACTERS = 40
_NOT_WORD = re.compile(r"[^\w-]+")
_NOT_ASCII_WORD = re.compile(r"[^\w-]+", re.ASCII)


def path_part(name: str) -> str:
    """Returns the name of a method, such as `nearest+taps:dinov2_small/block9`, for a file.

    Example:

    ```python
    from anchornet_tf.utils.safe_names import path_part

    assert path_part("nearest+hc") == "nearest+hc"
    assert path_part("nearest+taps:resnet50/res4c") == "nearest+taps-resnet50-res4c"
    ```
    """
    return re.sub(r"[/\\:]+", "-", name)


def safe_name(name: str, ascii_only: bool = False) -> str:
    """Returns a name that may be part of a path; different names give different ones.

    A short name of ASCII letters, digits, `-` and `_` stays as it is. Of any other, the
    letters and digits are kept, and a digest of the whole name follows after a dot, which plain
    names do not have.

    Args:
        name: str, any text.
        ascii_only: bool. Whether letters beyond ASCII are left out too, as TensorFlow wants it for
            the names of layers.

    Example:

    ```python
    from anchornet_tf.utils.safe_names import safe_name

    assert safe_name("french_horn") == "french_horn"
    assert safe_name("French horn") == "French_horn.c9de700d"
    ```
    """
    if _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if ascii_only:
        parts = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    else:
        parts = name
    words = (_NOT_ASCII_WORD if ascii_only else _NOT_WORD).sub("_", parts)
    return f"{words[:_MOST_CHARACTERS].strip('_') or 'class'}.{digest}"


def joined_name(names: tuple[str, ...], most: int = 80) -> str:
    """Returns one name for several, which may be part of a path.

    Args:
        names: one or more.
        most: int. A longer result is cut off and gets a digest of all names.
    """
    whole = "-".join(map(safe_name, names))
    if len(whole) <= most:
        return whole
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe_name(names[0])}-and-{len(names) - 1}-more.{digest}"
