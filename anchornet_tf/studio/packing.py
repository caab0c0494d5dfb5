"""Binary answers: a header in JSON, then numbers that a page reads without parsing."""

import json
import struct

import numpy as np

_ALIGNMENT = 8
_LENGTH = struct.Struct("<I")


def pack(header: dict, data: np.ndarray) -> bytes:
    """Returns a header and an array as bytes.

    Four bytes hold the length of the header, which is JSON padded with spaces, so that the data
    begin at a multiple of eight. All numbers are little-endian, arrays in C order.

    Args:
        header: What to say about the data; its `dtype` is added.
        data: The array.

    Example:

    ```python
    header, data = unpack(pack({"rows": 2}, np.zeros((2, 3), np.float32)))
    ```
    """
    data = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
    text = json.dumps({**header, "dtype": data.dtype.name}, allow_nan=False).encode()
    text += b" " * (-(len(text) + _LENGTH.size) % _ALIGNMENT)
    return _LENGTH.pack(len(text)) + text + data.tobytes()


def unpack(content: bytes) -> tuple[dict, np.ndarray]:
    """Returns the header and the flat array of what `pack` made.

    Raises:
        ValueError: If the bytes are something else.
    """
    if len(content) < _LENGTH.size:
        raise ValueError(f"Expected a packed answer. Received: {len(content)} bytes")
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    header = json.loads(content[_LENGTH.size : start])
    dtype = np.dtype(header["dtype"]).newbyteorder("<")
    return header, np.frombuffer(content[start:], dtype)


def quantized(values: np.ndarray, dtype: type) -> tuple[np.ndarray, float]:
    """Returns values as small whole numbers, and the scale that they are multiplied with.

    Args:
        values: float array.
        dtype: `np.int8`, or `np.uint8` for values that are not negative.
    """
    most = float(np.abs(values).max(initial=0.0))
    scale = most / np.iinfo(dtype).max or 1.0
    return np.rint(values / scale).astype(dtype), scale
