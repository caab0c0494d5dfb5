"""Reads tables of parts written as text, one piece per line, farthest first.

    tail: limb 0 0 .06, -.1 .06 .1, -.12 .55 .04; mane hair; on torso -.5 -.1; swing 22

is the name of the part (`name/key` where the piece needs a key of its own), its outline (a function
of `shapes` with points separated by commas; `+` joins several), colour slot and material, then
options: `on PARENT X Y`, `z DEPTH`, `thick`, `turn`, `swing`, `jitter`, `odds`, `tone`, and
`front X`, `back X` or `top Y` to stand the outline on another plane. `row 5 .2 ellipse ...` is five
outlines, .2 apart. An indented line continues the line before; where it starts with a word, that is
the next field. `SIDE` and `@` stand for a side and the sign of its depth (see `sided`).
"""

from collections.abc import Mapping

from anchornet_tf.datasets.parts_world import shapes
from anchornet_tf.datasets.parts_world.figure import Part

_PLANES = {"front": shapes.on_front, "back": shapes.on_back, "top": shapes.on_top}
_NUMBERS = {
    "z": "depth",
    "thick": "thickness",
    "turn": "turn",
    "swing": "swing",
    "jitter": "jitter",
    "odds": "odds",
    "tone": "tone",
}


# The feet of every animal on four legs.
FEET = "\n".join(
    f"{side}_{end}_{joint}: {side}_{end}_{piece}"
    for side in ("near", "far")
    for end in ("front", "back")
    for joint, piece in (("knee", "shank 0 0"), ("foot", "foot .02 .01"))
)


def sided(text: str, side: str) -> str:
    """Fills in the side of a block of lines: `@` is + for "near" and "left", - for the others."""
    plus, minus = ("", "-") if side in ("near", "left") else ("-", "")
    return text.replace("SIDE", side).replace("-@", minus).replace("@", plus)


def parts(*blocks: str) -> tuple[Part, ...]:
    """Returns the pieces of a table.

    Raises:
        ValueError: If a line is not understood.
    """
    return tuple(_part(line) for block in blocks for line in _lines(block))


def keypoints(*blocks: str) -> Mapping[str, tuple]:
    """Returns name -> (key, x, y) or (key, x, y, z) from lines `name: key x y [z]`."""
    found = {}
    for line in (line for block in blocks for line in _lines(block)):
        name, rest = line.split(":")
        key, *place = rest.split()
        found[name] = (key, *map(float, place))
    return found


def palette(text: str) -> Mapping[str, tuple[str, ...]]:
    """Returns slot -> colours from lines `slot: colour colour ...`."""
    return {slot: tuple(rest.split()) for slot, rest in (x.split(":") for x in _lines(text))}


def _lines(block: str) -> list[str]:
    lines: list[str] = []
    for line in block.splitlines():
        if line[:1].isspace() and line.strip() and lines:
            field = line.strip()[0].isalpha() and not lines[-1].endswith(("+", ","))
            lines[-1] += ("; " if field else " ") + line.strip()
        elif line.strip():
            lines.append(line.strip())
    return lines


def _part(line: str) -> Part:
    try:
        head, look, *options = (field.strip() for field in line.split(";"))
        name, outline = head.split(":")
        name, _, key = name.partition("/")
        shape = shapes.union(*(_outline(text) for text in outline.split("+")))
        colour, material = look.split()
        arguments: dict = {}
        for word, *values in (option.split() for option in options):
            if word == "on":
                arguments["parent"] = None if values[0] == "root" else values[0]
                arguments["at"] = tuple(map(float, values[1:])) or (0.0, 0.0)
            elif word in _PLANES:
                shape = _PLANES[word](shape, *map(float, values))
            else:
                arguments[_NUMBERS[word]] = float(*values)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"Expected a line of a table of parts. Received: {line!r}") from error
    return Part(name, shape, colour, material, key=key or None, **arguments)


def _outline(text: str) -> shapes.Shape:
    function, _, rest = text.strip().partition(" ")
    if function == "row":
        count, step, one = rest.split(" ", 2)
        copies = (shapes.moved(_outline(one), float(step) * i) for i in range(int(count)))
        return shapes.union(*copies)
    points = [tuple(map(float, point.split())) for point in rest.split(",")]
    if function in ("blob", "polygon", "limb"):
        return getattr(shapes, function)(*points)
    if function == "bars":
        (width,), *ends = points
        return shapes.strokes(width, *(((a, b), (c, d)) for a, b, c, d in ends))
    if function == "sheet":
        return shapes.faces(points, points[::-1])
    if function == "face":
        return shapes.faces(points)
    if function == "spokes":
        x, y, radius, count, width = points[0]
        return shapes.spokes(x, y, radius, int(count), width)
    if function in ("ellipse", "rectangle", "ring"):
        return getattr(shapes, function)(*points[0])
    raise ValueError(function)
