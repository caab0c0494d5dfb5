"""Tables of parts: cow, horse, sheep."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import FEET, keypoints, palette, parts, sided

_EYE = """
eye: ellipse 0 0 .026; eye plastic; on head {0}
eye/pupil: ellipse .004 0 .015; pupil plain; on head {0}
"""

_HORSE_LEGS = """
SIDE_back_leg/SIDE_back_shank: limb 0 0 .09, 0 .2 .06, .03 .36 .06; coat fur; z @.1
  on SIDE_back_thigh -.06 .36; swing 18
SIDE_back_leg/SIDE_back_foot: polygon -.04 -.03, .04 -.03, .06 .05, -.05 .05; hoof plain; z @.1
  on SIDE_back_shank .03 .36
SIDE_back_leg/SIDE_back_thigh: limb 0 -.02 .3, .02 .16 .2, -.06 .36 .1; coat fur; z @.1
  on torso -.38 .02; swing 22
SIDE_front_leg/SIDE_front_shank: limb 0 0 .085, 0 .18 .055, .01 .34 .06; coat fur; z @.1
  on SIDE_front_thigh 0 .32; swing 18
SIDE_front_leg/SIDE_front_foot: polygon -.04 -.03, .04 -.03, .06 .05, -.05 .05; hoof plain; z @.1
  on SIDE_front_shank .01 .34
SIDE_front_leg/SIDE_front_thigh: limb 0 -.05 .2, .01 .14 .13, 0 .32 .09; coat fur; z @.1
  on torso .36 .08; swing 22
"""
_HORSE = Figure(
    parts(
        sided(_HORSE_LEGS, "far"),
        """
tail: limb 0 0 .06, -.1 .06 .1, -.15 .28 .15, -.12 .55 .04; mane hair; on torso -.5 -.1; swing 22
torso: blob -.53 -.08, -.4 -.21, -.15 -.17, .12 -.15, .34 -.21, .5 -.1, .54 .06, .4 .2, .1 .23,
  -.2 .17, -.42 .17, -.55 .06; coat fur
""",
        sided(_HORSE_LEGS, "near"),
        """
neck: blob -.17 -.1, 0 -.32, .16 -.5, .3 -.5, .34 -.36, .24 -.14, .12 .14, -.06 .16; coat fur
  on torso .42 -.06; turn 4; swing 16
far_ear: blob -.04 .02, .03 -.16, .05 .02; coat fur; on head .05 -.1; swing 10
head: blob -.1 -.06, 0 -.13, .14 -.06, .36 .15, .43 .25, .38 .34, .28 .31, .16 .2, .02 .14, -.08 .06
  coat fur; on neck .24 -.42; swing 16
muzzle: blob .3 .12, .42 .22, .43 .3, .36 .35, .25 .27; muzzle fur; on head
muzzle/nostril: ellipse .38 .25 .02 .014; pupil plain; on head
near_ear: blob -.04 .03, 0 -.16, .05 .02; coat fur; on head 0 -.1; swing 10
mane: blob -.2 -.08, -.04 -.34, .12 -.54, .26 -.58, .34 -.46, .22 -.46, .1 -.34, .02 -.12, -.1 .04
  mane hair; on neck
""",
        _EYE.format(".11 0"),
    ),
    keypoints(
        """
nose: muzzle .41 .29
eye: eye 0 0
near_ear_tip: near_ear 0 -.14
withers: torso .18 -.165
chest: neck .1 .13
tail_base: torso -.5 -.1
tail_tip: tail -.12 .53
""",
        FEET,
    ),
    palette("""
coat: chestnut brown tan white black grey ginger
second: white cream brown
mane: black dark cream brown
muzzle: dark grey brown pink
hoof: black dark brown
eye: black
pupil: black
"""),
    patterns=("plain", "plain", "plain", "patches"),
)

_COW_LEGS = """
SIDE_back_leg/SIDE_back_shank: limb 0 0 .1, -.01 .14 .07, .02 .24 .07; coat fur; z @.13
  on SIDE_back_thigh -.05 .28; swing 14
SIDE_back_leg/SIDE_back_foot: polygon -.045 -.03, .045 -.03, .07 .05, -.05 .05; hoof plain; z @.13
  on SIDE_back_shank .02 .24
SIDE_back_leg/SIDE_back_thigh: limb 0 -.05 .3, .02 .12 .2, -.05 .28 .11; coat fur; z @.13
  on torso -.42 .08; swing 16
SIDE_front_leg/SIDE_front_shank: limb 0 0 .09, 0 .12 .065, .01 .22 .07; coat fur; z @.13
  on SIDE_front_thigh 0 .26; swing 14
SIDE_front_leg/SIDE_front_foot: polygon -.045 -.03, .045 -.03, .07 .05, -.05 .05; hoof plain; z @.13
  on SIDE_front_shank .01 .22
SIDE_front_leg/SIDE_front_thigh: limb 0 -.05 .2, .01 .1 .14, 0 .26 .1; coat fur; z @.13
  on torso .38 .14; swing 16
"""
_COW = Figure(
    parts(
        sided(_COW_LEGS, "far"),
        """
tail: limb 0 0 .04, -.05 .1 .035, -.06 .4 .03; coat fur; on torso -.56 -.16; swing 12
tail/tuft: ellipse 0 .06 .04 .09; hoof hair; on tail -.06 .4
udder: blob -.12 -.05, .1 -.05, .08 .08, 0 .11, -.1 .08; skin skin; on torso -.2 .24; odds .6
torso: blob -.58 -.16, -.44 -.25, -.1 -.22, .2 -.23, .42 -.25, .56 -.12, .56 .08, .46 .25, .2 .28,
  -.15 .28, -.42 .22, -.57 .1; coat fur
""",
        sided(_COW_LEGS, "near"),
        """
far_ear: blob 0 -.03, .13 -.07, .16 -.01, .04 .05; coat fur; on head .06 -.07; swing 14
far_horn: limb 0 0 .05, .05 -.07 .035, .02 -.16 .012; horn plain; on head .07 -.12; odds .65
neck: blob -.18 -.18, .04 -.24, .2 -.24, .24 0, .12 .2, -.08 .26, -.16 .1; coat fur
  on torso .48 -.06; swing 14
head: blob -.12 -.06, -.04 -.15, .1 -.14, .2 -.02, .32 .2, .34 .31, .26 .37, .14 .33, 0 .16, -.1 .06
  coat fur; on neck .16 -.16; swing 14
muzzle: blob .2 .16, .32 .18, .36 .3, .28 .38, .14 .34, .12 .24; muzzle skin; on head
muzzle/nostril: ellipse .3 .26 .022 .016; pupil plain; on head
near_horn: limb 0 0 .055, -.05 -.06 .04, -.02 -.17 .012; horn plain; on head -.02 -.13; odds .65
near_ear: blob 0 -.04, -.14 -.07, -.19 0, -.08 .06; coat fur; on head -.05 -.06; swing 14
""",
        _EYE.format(".09 .0"),
    ),
    keypoints(
        """
nose: muzzle .32 .31
eye: eye 0 0
near_ear_tip: near_ear -.17 0
near_horn_tip: near_horn -.02 -.16
withers: torso .24 -.235
chest: neck .1 .18
tail_base: torso -.555 -.16
tail_tip: tuft 0 .14
""",
        FEET,
    ),
    palette("""
coat: white cream brown black tan chestnut
second: black brown chestnut white dark
muzzle: pink tan dark
skin: pink
horn: cream sand
hoof: dark black brown
eye: black
pupil: black
"""),
    patterns=("patches", "patches", "plain"),
)

_SHEEP_LEGS = """
SIDE_back_leg/SIDE_back_shank: limb 0 0 .085, 0 .2 .06; face fur; z @.12
  on SIDE_back_thigh -.02 .14; swing 12
SIDE_back_leg/SIDE_back_foot: polygon -.035 -.03, .035 -.03, .06 .04, -.04 .04; hoof plain; z @.12
  on SIDE_back_shank 0 .2
SIDE_back_leg/SIDE_back_thigh: limb 0 0 .2, -.02 .14 .12; coat wool; z @.12
  on torso -.32 .2; swing 14
SIDE_front_leg/SIDE_front_shank: limb 0 0 .08, 0 .2 .055; face fur; z @.12
  on SIDE_front_thigh 0 .14; swing 12
SIDE_front_leg/SIDE_front_foot: polygon -.035 -.03, .035 -.03, .06 .04, -.04 .04; hoof plain; z @.12
  on SIDE_front_shank 0 .2
SIDE_front_leg/SIDE_front_thigh: limb 0 0 .16, 0 .14 .1; coat wool; z @.12
  on torso .3 .22; swing 14
"""
_SHEEP = Figure(
    parts(
        sided(_SHEEP_LEGS, "far"),
        """
tail: blob -.06 -.08, .05 -.06, .04 .1, -.06 .16, -.1 .04; coat wool; on torso -.5 -.08; swing 14
torso: blob -.5 -.12, -.44 -.26, -.32 -.25, -.22 -.32, -.1 -.28, .02 -.33, .14 -.28, .26 -.31,
  .36 -.24, .47 -.22, .5 -.1, .55 0, .5 .1, .5 .2, .38 .22, .3 .3, .16 .26, .04 .32, -.1 .27,
  -.22 .31, -.32 .24, -.44 .24, -.47 .12, -.55 .04; coat wool; jitter .1
""",
        sided(_SHEEP_LEGS, "near"),
        """
neck: blob -.12 -.1, .04 -.2, .18 -.16, .22 0, .14 .16, -.06 .18; coat wool; on torso .44 -.12
  swing 16
far_ear: blob 0 -.03, .12 -.02, .15 .04, .04 .05; face fur; on head .06 -.08; swing 16
head: blob -.1 -.06, 0 -.13, .1 -.1, .22 .06, .28 .18, .22 .25, .1 .22, -.04 .1; face fur
  on neck .12 -.12; swing 16
muzzle: blob .18 .08, .26 .14, .28 .22, .2 .25, .13 .2; muzzle fur; on head
muzzle/nostril: ellipse .235 .16 .016 .012; pupil plain; on head
crown: blob -.12 -.02, -.1 -.13, 0 -.18, .1 -.14, .1 -.07, 0 -.05; coat wool; on head; odds .7
near_ear: blob 0 -.04, -.12 -.04, -.17 .04, -.06 .06; face fur; on head -.03 -.05; swing 16
""",
        _EYE.format(".09 .0"),
    ),
    keypoints(
        """
nose: muzzle .26 .2
eye: eye 0 0
near_ear_tip: near_ear -.15 .03
withers: torso .2 -.3
chest: torso .5 .12
tail_base: torso -.49 -.1
tail_tip: tail -.05 .14
""",
        FEET,
    ),
    palette("""
coat: white cream sand grey brown
face: black dark cream white brown
muzzle: dark pink grey
hoof: black dark
eye: black
pupil: black
"""),
)

FIGURES = {"cow": (_COW,), "horse": (_HORSE,), "sheep": (_SHEEP,)}
