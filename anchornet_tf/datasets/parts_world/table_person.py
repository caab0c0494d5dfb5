"""Tables of parts: person, seen from the front, with the left side on the right of the picture."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts, sided

_LEG = """
SIDE_foot: blob -.06 -.04, .05 -.05, @.02 .05, @.1 .1, -.06 .09; shoe leather; on SIDE_shin 0 .42
  swing 10
SIDE_lower_leg/SIDE_shin: limb 0 0 .13, 0 .16 .13, 0 .4 .08; {0}; on SIDE_thigh 0 .42; swing 14
SIDE_upper_leg/SIDE_thigh: limb 0 0 .2, 0 .2 .17, 0 .42 .13; {1}; on torso @.1 .06; turn -@6
  swing 16
"""
_ARM = """
SIDE_hand: ellipse 0 .05 .05 .065; skin skin; on SIDE_forearm 0 .27; swing 14
SIDE_lower_arm/SIDE_forearm: limb 0 0 .095, 0 .14 .085, 0 .27 .06; {0}; on SIDE_arm 0 .3
  turn {2}; swing 48
SIDE_upper_arm/SIDE_arm: limb 0 -.01 .13, 0 .14 .11, 0 .3 .095; {1}; on torso @.21 -.47
  turn -@{3}; swing {4}
"""
_HEAD = """
neck: limb 0 .02 .1, 0 -.1 .1; skin skin; on torso 0 -.54
hair/back_hair: {0}; hair hair; on head; odds .5
left_ear: ellipse .125 0 .025 .04; skin skin; on head
right_ear: ellipse -.125 0 .025 .04; skin skin; on head
head: blob -.125 0, -.115 -.12, 0 -.17, .115 -.12, .125 0, .09 .11, 0 .16, -.09 .11; skin skin
  on neck 0 -.2; swing 12
left_eye: ellipse 0 0 .024 .014; white plain; on head .05 -.01
left_eye/left_pupil: ellipse 0 0 .012; pupil plain; on head .05 -.01
right_eye: ellipse 0 0 .024 .014; white plain; on head -.05 -.01
right_eye/right_pupil: ellipse 0 0 .012; pupil plain; on head -.05 -.01
left_eyebrow: bars .012, .025 -.04 .075 -.045; hair plain; on head
right_eyebrow: bars .012, -.025 -.04 -.075 -.045; hair plain; on head
nose: blob -.014 .0, .014 .0, .024 .045, 0 .056, -.024 .045; skin skin; on head; tone .9
mouth: blob -.045 .085, 0 .08, .045 .085, 0 .106; mouth skin; on head
hair: blob -.14 -.01, -.14 -.12, -.06 -.19, .06 -.195, .14 -.12, .14 -.01, .115 -.07, .06 -.1,
  -.04 -.12, -.11 -.07; hair hair; on head
hat: blob -.2 -.1, -.12 -.13, -.11 -.22, 0 -.26, .11 -.22, .12 -.13, .2 -.1, 0 -.08; hat cloth
  on head; odds .25
"""
_TORSO = """
torso/hips: blob -.17 -.06, 0 -.1, .17 -.06, .19 .08, .1 .14, -.1 .14, -.19 .08; trousers cloth
  on torso
torso: blob -.1 -.55, .1 -.55, .24 -.5, .22 -.36, .17 -.16, .19 .04, 0 .07, -.19 .04, -.17 -.16,
  -.22 -.36, -.24 -.5; shirt folds; jitter .08
torso/collar: polygon -.07 -.55, .07 -.55, 0 -.44; skin skin; on torso
torso/stripe: {0}; second cloth; on torso; odds .5
"""
_POINTS = keypoints("""
crown: hair 0 -.185
nose: nose 0 .05
chin: head 0 .15
left_shoulder: left_arm 0 0
right_shoulder: right_arm 0 0
left_elbow: left_arm 0 .3
right_elbow: right_arm 0 .3
left_hand: left_hand 0 .06
right_hand: right_hand 0 .06
left_hip: hips .1 .06
right_hip: hips -.1 .06
left_knee: left_thigh 0 .42
right_knee: right_thigh 0 .42
left_ankle: left_shin 0 .41
right_ankle: right_shin 0 .41
""")
_COLOURS = palette("""
skin: skin1 skin2 skin3 skin4
shirt: red blue white green yellow navy grey black pink teal orange purple
second: white navy red yellow dark
trousers: navy blue dark black tan grey olive
shoe: black brown white dark red
hair: black brown dark tan ginger grey sand
hat: red navy dark white olive
mouth: maroon pink
white: white
pupil: black
""")


def _person(leg: str, arm: str, hair: str, stripe: str, *extra: str) -> Figure:
    return Figure(
        parts(
            sided(leg, "right"),
            sided(leg, "left"),
            _TORSO.format(stripe),
            *extra,
            _HEAD.format(hair),
            sided(arm, "right"),
            sided(arm, "left"),
        ),
        _POINTS,
        _COLOURS,
        yaw=(-25, 25),
        pitch=(0, 10),
        warp=0.015,
    )


_LONG_HAIR = "blob -.15 -.1, 0 -.2, .15 -.1, .17 .14, .15 .26, 0 .2, -.15 .26, -.17 .14"
_SHORT_HAIR = "blob -.14 -.1, 0 -.19, .14 -.1, .13 .06, 0 .1, -.13 .06"
_TROUSERS = _LEG.format("trousers cloth", "trousers cloth")
_SHORTS = _LEG.format("skin skin", "trousers cloth")
_SLEEVES = _ARM.format("shirt folds", "shirt folds", "-@18", 16, 26)
_BARE_ARMS = _ARM.format("skin skin", "shirt folds", "-@30", 40, 45)
_SKIRT = """
skirt: blob -.17 -.08, .17 -.08, .26 .3, .3 .42, 0 .46, -.3 .42, -.26 .3; trousers folds; on torso
  jitter .12
"""

FIGURES = {
    "person": (
        _person(_TROUSERS, _SLEEVES, _SHORT_HAIR, "rectangle -.2 -.3 .2 -.2"),
        _person(_SHORTS, _BARE_ARMS, _SHORT_HAIR, "ellipse 0 -.3 .09"),
        _person(_SHORTS, _BARE_ARMS, _LONG_HAIR, "rectangle -.17 -.12 .17 -.07", _SKIRT),
    )
}
