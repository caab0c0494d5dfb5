"""Damaged inputs: right ones of which bytes, or parts of a document, were changed."""

import copy
import io
import warnings

import numpy as np
import PIL.features
import PIL.Image
from hypothesis import strategies as st

# Numbers at which sizes, signs and types end.
_ENDS = (0, 1, 127, 128, 255, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1)
_FORMATS = (
    *("AVIF", "BLP", "BMP", "DDS", "DIB", "GIF", "ICNS", "ICO", "IM", "JPEG", "JPEG2000", "MPO"),
    *("MSP", "PCX", "PNG", "PPM", "QOI", "SGI", "SPIDER", "TGA", "TIFF", "WEBP", "XBM"),
)
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["", "../../secret", "/etc/passwd", "NaN", "a\0b", "x" * 400, "\ud800"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-3, 300), max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    st.just([[[[[[]]]]]]),
    st.just(10**400),
)


@st.composite
def damaged(draw, originals: list[bytes]) -> bytes:
    """Gives the bytes of an original with up to five changes."""
    raw = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        kind = draw(st.integers(0, 5))
        if kind == 0 and raw:
            raw[at] = draw(st.integers(0, 255))
        elif kind == 1:
            size = draw(st.sampled_from((1, 2, 4, 8)))
            order = draw(st.sampled_from(("little", "big")))
            number = draw(st.sampled_from(_ENDS)) % 256**size
            raw[at : at + size] = number.to_bytes(size, order)
        elif kind == 2:
            del raw[at : at + draw(st.integers(1, 40))]
        elif kind == 3:
            raw[at:at] = raw[max(0, at - draw(st.integers(1, 40))) : at]
        elif kind == 4:
            del raw[at:]
        else:
            raw[at:at] = draw(st.binary(max_size=8))
    return bytes(raw)


@st.composite
def changed(draw, originals: list):
    """Gives a JSON document with up to three of its values replaced, removed or added."""
    document = copy.deepcopy(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 3))):
        where = document
        for _ in range(draw(st.integers(0, 6))):
            inner = _children(where)
            if not inner:
                break
            where = inner[draw(st.integers(0, len(inner) - 1))]
        value = copy.deepcopy(draw(_VALUES))
        if isinstance(where, dict) and where:
            key = draw(st.sampled_from(sorted(where)))
            if draw(st.booleans()):
                where[key] = value
            else:
                del where[key]
        elif isinstance(where, list) and where:
            where[draw(st.integers(0, len(where) - 1))] = value
        elif isinstance(where, list):
            where.append(value)
    return document if draw(st.integers(0, 40)) else draw(_VALUES)


def _children(value) -> list:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in values if isinstance(each, dict | list)]


def encoded_images() -> dict[str, list[bytes]]:
    """Returns small images in every format that Pillow writes here, by format."""
    rng, found = np.random.default_rng(0), {}
    grey = rng.integers(0, 256, (9, 7), np.uint8)
    pictures = [
        PIL.Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8)),
        PIL.Image.fromarray(rng.integers(0, 256, (40, 33, 4), np.uint8)),
        PIL.Image.fromarray(grey),
        PIL.Image.fromarray(grey).convert("1"),
        PIL.Image.fromarray(grey).convert("P"),
        PIL.Image.fromarray(grey.astype(np.uint16) * 257),
    ]
    PIL.Image.init()
    for name in _FORMATS:
        for picture in pictures:
            buffer = io.BytesIO()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    picture.save(buffer, name)
            except (KeyError, OSError, ValueError, TypeError, AttributeError):
                continue
            found.setdefault(name, []).append(buffer.getvalue())
    return found
