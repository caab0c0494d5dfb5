"""Checks of what stands in an annotation file, with refusals of one line that name the place."""

import math
import os
import reprlib

# Further away than any image is wide; beyond it float64 no longer tells pixels apart usefully.
LARGEST_COORDINATE = 1e9
# Of one mask: a file of a few bytes may claim an image of any size.
MOST_MASK_PIXELS = 2**28

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxlist = _SHORT.maxdict = 4
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


class _Missing:
    def __repr__(self):
        return "nothing"


MISSING = _Missing()


def shown(value) -> str:
    """Returns a value as an error message shows it: in one line that is not long."""
    return _SHORT.repr(value)


def is_number(value) -> bool:
    """Returns whether a value from JSON is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Checker:
    """Checks values of one file.

    Each method takes a value and its place in the file, such as `annotations[3].keypoints`, and
    returns the value in the type it should have.

    Args:
        file: path of the file, for the messages.

    Raises:
        ValueError: by each method: If the value is of another kind.
    """

    def __init__(self, file: str | os.PathLike):
        self.file = " ".join(os.fspath(file).splitlines())

    def error(self, place: str, expected: str, received) -> ValueError:
        """Returns the refusal of a value."""
        return ValueError(f"{place} of {self.file} must be {expected}. Received: {shown(received)}")

    def mapping(self, value, place: str) -> dict:
        """Checks a JSON object."""
        if not isinstance(value, dict):
            raise self.error(place, "a JSON object", value)
        return value

    def sequence(self, value, place: str) -> list:
        """Checks a JSON list."""
        if not isinstance(value, list):
            raise self.error(place, "a list", value)
        return value

    def text(self, value, place: str) -> str:
        """Checks a text."""
        if not isinstance(value, str):
            raise self.error(place, "text", value)
        return value

    def identifier(self, value, place: str) -> int | str:
        """Checks the id of something: a whole number, or text."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self.error(place, "an id, a whole number", value)
        return value

    def score(self, value, place: str) -> float | None:
        """Checks a finite number; null is None."""
        if value is None:
            return None
        if not is_number(value) or not -LARGEST_COORDINATE < value < LARGEST_COORDINATE:
            raise self.error(place, "a finite number or null", value)
        return float(value)

    def length(self, value, place: str) -> int:
        """Checks a height or a width in pixels."""
        if not is_number(value) or not 1 <= value <= LARGEST_COORDINATE or value != int(value):
            raise self.error(place, "a positive whole number of pixels", value)
        return int(value)

    def size(self, entry: dict, keys: tuple[str, str], place: str) -> tuple[int, int] | None:
        """Checks the height and width of an image, which are both there or both unknown."""
        height, width = (entry.get(key) for key in keys)
        if height is None and width is None:
            return None
        return (
            self.length(height, f"{place}{keys[0]}"),
            self.length(width, f"{place}{keys[1]}"),
        )

    def numbers(self, value, place: str) -> list[float]:
        """Checks a list of coordinates."""
        values = self.sequence(value, place)
        for index, number in enumerate(values):
            # Not true of NaN either. Exact types first: files have millions of them.
            if type(number) not in (int, float) or not abs(number) <= LARGEST_COORDINATE:
                raise self.error(
                    f"{place}[{index}]",
                    f"a finite number of at most {LARGEST_COORDINATE:.0e}",
                    number,
                )
        return [float(number) for number in values]

    def inside(self, x: float, y: float, name: str, image: str, size, place: str) -> None:
        """Checks that a point is at most a pixel outside its image, if the size is known."""
        # The image's outer edges are half a pixel from the centres of its outer pixels.
        if size is None or (-1.5 <= x <= size[1] + 0.5 and -1.5 <= y <= size[0] + 0.5):
            return
        raise ValueError(
            f"{place} of {self.file}: the point {shown(name)} must be inside its image "
            f"{shown(image)} of {size[1]} x {size[0]} pixels. Received: ({x:g}, {y:g})"
        )


def plain_number(value) -> int | float:
    """Returns a number as it is written: whole numbers without a fraction.

    Raises:
        ValueError: If it is NaN or infinite, which neither JSON nor a table can hold.
    """
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"Annotations are written with finite numbers. Received: {value}")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
