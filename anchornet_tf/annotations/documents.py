"""Annotation files as text and JSON: reading them strictly, and writing the same bytes again."""

import json
import os
import pathlib

from anchornet_tf.annotations.checks import Checker
from anchornet_tf.utils.files import atomic_file


def read_text(path: str | os.PathLike) -> str:
    """Reads a file of text in UTF-8, with or without a byte order mark.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is empty or not in UTF-8.
    """
    path = pathlib.Path(path)
    name = Checker(path).file
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file of annotations. Received: {name}")
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} must be text in UTF-8. "
            f"Received: the byte 0x{content[error.start]:02x} in line {line}"
        ) from None
    if not text.strip():
        raise ValueError(f"{name} must hold annotations. Received: an empty file")
    return text


def read_json(path: str | os.PathLike):
    """Reads a file of JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not JSON in UTF-8.
    """
    text = read_text(path)
    name = Checker(path).file
    try:
        return json.loads(text)
    except RecursionError:
        received = "lists or objects nested too deeply"
    except json.JSONDecodeError as error:
        received = f"{error.msg} in line {error.lineno}, column {error.colno}"
    except ValueError:  # Python refuses to make such numbers from text.
        received = "a number of thousands of digits"
    raise ValueError(f"{name} must be JSON. Received: {received}")


def json_text(document, indent: int | None = None) -> str:
    """Returns a document as JSON, always the same for the same content.

    Raises:
        ValueError: If something in it cannot be written as JSON.
    """
    try:
        text = json.dumps(document, ensure_ascii=False, indent=indent)
        try:
            text.encode()
        except UnicodeEncodeError:  # JSON can hold half a character, UTF-8 cannot.
            text = json.dumps(document, indent=indent)
    except (TypeError, RecursionError) as error:
        raise ValueError(
            f"The fields of annotations must be what JSON can hold. Received: {error}"
        ) from error
    return text + "\n"


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a file of text in UTF-8; a reader sees the old file or the new one."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(text.encode())
