"""Reading requests: bodies within limits, JSON that is JSON, numbers within ranges."""

import json

from starlette.requests import ClientDisconnect, Request

from anchornet_tf.studio.refusals import Refusal, expected

JSON_BYTES = 8 * 2**20


async def body(request: Request, limit: int) -> bytes:
    """Reads the body of a request.

    Args:
        request: The request.
        limit: int, the most bytes.

    Raises:
        Refusal: If it is larger, or the client left.
    """
    said = request.headers.get("content-length", "0")
    if said.isdigit() and len(said) < 20 and int(said) > limit:
        raise expected(f"at most {limit:,} bytes", f"{int(said):,} bytes", 413)
    parts, length = [], 0
    try:
        async for part in request.stream():
            length += len(part)
            if length > limit:
                raise expected(f"at most {limit:,} bytes", "more", 413)
            parts.append(part)
    except ClientDisconnect:
        raise Refusal(400, "Expected a whole body. Received: the client left") from None
    return b"".join(parts)


async def json_object(request: Request, limit: int = JSON_BYTES) -> dict:
    """Reads a JSON object.

    Raises:
        Refusal: If the body is something else.
    """
    content = await body(request, limit)
    try:
        document = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise expected("a JSON object", content[:60]) from None
    if not isinstance(document, dict):
        raise expected("a JSON object", document)
    return document


def _no_constant(name: str):
    raise ValueError(f"Expected a number. Received: {name}")


def query_integer(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Returns a whole number of the query within a range.

    Raises:
        Refusal: If it is something else.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise expected(f"`{name}` from {least} to {most}", text)
    if not least <= int(text) <= most:
        raise expected(f"`{name}` from {least} to {most}", text)
    return int(text)


def number(document: dict, name: str, default: float, least: float, most: float) -> float:
    """Returns a number of a JSON object within a range.

    Raises:
        Refusal: If it is something else.
    """
    value = document.get(name, default)
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    # Not true of NaN either.
    if not fits or not least <= value <= most:
        raise expected(f"`{name}` from {least:g} to {most:g}", value)
    return value


def integer(document: dict, name: str, default: int, least: int, most: int) -> int:
    """Returns a whole number of a JSON object within a range.

    Raises:
        Refusal: If it is something else.
    """
    value = number(document, name, default, least, most)
    if value != int(value):
        raise expected(f"a whole number as `{name}`", value)
    return int(value)


def truth(document: dict, name: str, default: bool) -> bool:
    """Returns true or false of a JSON object.

    Raises:
        Refusal: If it is something else.
    """
    value = document.get(name, default)
    if not isinstance(value, bool):
        raise expected(f"`{name}` to be true or false", value)
    return value
