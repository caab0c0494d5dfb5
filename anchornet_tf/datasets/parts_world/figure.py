"""What a table of parts is made of: the words that describe one figure.

A figure faces right. Its frame is x forward, y down, z towards the viewer; one unit is about the
length of the object. Names that begin with `near_` or `far_` are the sides as seen in the picture,
whichever way the figure faces; names that begin with `left_` or `right_` belong to figures that
face the viewer, whose mirror image is the same figure with the two sides exchanged.
"""

import dataclasses
from collections.abc import Mapping

from anchornet_tf.datasets.parts_world.shapes import Shape

# Pieces of this name are painted with the figure but are no part of the object.
SCENERY = "scenery"

_SIDES = ("near_", "far_", "left_", "right_")


@dataclasses.dataclass(frozen=True)
class Part:
    """One drawn piece of a figure.

    Args:
        name: str. The part mask that the piece belongs to; several pieces may share one.
        shape: Shape. Its outline, in its own frame.
        colour: str. A slot of the figure's palette.
        material: str. A name of `materials.MATERIALS`.
        key: str. What children and keypoints call this piece; `name` by default.
        parent: str. The key of the piece it hangs on, or None for the root frame.
        at: (x, y). Where its origin lies in the frame of its parent.
        depth: float. z of its plane.
        thickness: float. How far it is extruded away from the viewer; 0 for a sheet.
        turn: float. Its rest angle in degrees, clockwise on screen.
        swing: float. Largest random angle about the rest angle, in degrees.
        jitter: float. Deviation of its random stretch along both axes; pieces of one kind share it.
        odds: float. How often it is there.
        tone: float. Brightness, 1 as is.
    """

    name: str
    shape: Shape
    colour: str
    material: str = "plain"
    key: str | None = None
    parent: str | None = None
    at: tuple[float, float] = (0.0, 0.0)
    depth: float = 0.0
    thickness: float = 0.0
    turn: float = 0.0
    swing: float = 0.0
    jitter: float = 0.06
    odds: float = 1.0
    tone: float = 1.0

    @property
    def id(self) -> str:
        """What other pieces call this one."""
        return self.key or self.name

    @property
    def kind(self) -> str:
        """The name without the side, so that twins are alike."""
        return without_side(self.id)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One way to draw a class.

    Args:
        parts: the pieces, farthest first.
        keypoints: name -> (key of a piece, x, y) or (key, x, y, z), in the frame of that piece.
        palette: slot -> names of `materials.COLOURS` to choose from.
        patterns: what the slot "coat" may be printed with: names of `materials.PATTERNS`.
        yaw: range in degrees; positive turns the front towards the viewer.
        pitch: range in degrees; positive looks down on the figure.
        roll: largest rotation in the picture, in degrees.
        warp: amplitude of the smooth random deformation.
        stretch: deviation of the random stretch of the whole figure.
        grounded: whether it stands on something and so casts a shadow at its feet.
    """

    parts: tuple[Part, ...]
    keypoints: Mapping[str, tuple]
    palette: Mapping[str, tuple[str, ...]]
    patterns: tuple[str, ...] = ("plain",)
    yaw: tuple[float, float] = (-25.0, 35.0)
    pitch: tuple[float, float] = (0.0, 15.0)
    roll: float = 6.0
    warp: float = 0.02
    stretch: float = 0.08
    grounded: bool = True


def without_side(name: str) -> str:
    """Returns a name without `near_`, `far_`, `left_` or `right_`."""
    for side in _SIDES:
        if name.startswith(side):
            return name[len(side) :]
    return name


def mirrored_name(name: str) -> str:
    """Returns what a name of a figure is called in its mirror image."""
    if name.startswith("left_"):
        return "right_" + name[len("left_") :]
    if name.startswith("right_"):
        return "left_" + name[len("right_") :]
    return name
