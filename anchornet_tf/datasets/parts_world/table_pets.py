"""Tables of parts: bird, cat, dog."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import FEET, keypoints, palette, parts, sided

_DOG_LEGS = """
SIDE_back_leg/SIDE_back_shank: limb 0 0 .1, -.1 .12 .06, -.06 .28 .06; coat fur; z @.09
  on SIDE_back_thigh .02 .22; swing 16
SIDE_back_leg/SIDE_back_foot: ellipse .03 0 .07 .04; paw fur; z @.09; on SIDE_back_shank -.06 .28
SIDE_back_leg/SIDE_back_thigh: limb 0 -.02 .22, .03 .1 .18, .02 .22 .1; coat fur; z @.09
  on torso -.32 .04; swing 22
SIDE_front_leg/SIDE_front_shank: limb 0 0 .08, 0 .12 .06, .01 .24 .06; coat fur; z @.09
  on SIDE_front_thigh -.02 .22; swing 16
SIDE_front_leg/SIDE_front_foot: ellipse .03 0 .07 .04; paw fur; z @.09; on SIDE_front_shank .01 .24
SIDE_front_leg/SIDE_front_thigh: limb 0 -.04 .17, .01 .1 .12, -.02 .22 .08; coat fur; z @.09
  on torso .26 .1; swing 22
"""
_DOG_HEAD = """
far_ear: blob -.04 -.03, .06 -.05, .1 .1, .05 .17, -.02 .1; ear fur; on head .04 -.11; swing 14
head: blob -.15 -.05, -.08 -.16, .06 -.17, .13 -.09, .26 -.05, .34 0, .33 .08, .24 .12, .08 .13,
  -.08 .12; coat fur; on neck {0}; swing 18; jitter .1
muzzle: blob .14 -.05, .26 -.05, .33 0, .33 .08, .24 .12, .14 .11; muzzle fur; on head
mouth: bars .012, .31 .085 .17 .09, .17 .09 .12 .06; pupil plain; on head
tongue: blob -.04 0, .04 0, .03 .12, -.02 .13; tongue skin; on head .24 .09; odds .4; swing 10
nose: ellipse .33 -.01 .04 .03; pupil plastic; on head
near_ear: blob -.06 -.03, .05 -.05, .07 .08, .02 .21, -.07 .18, -.1 .06; ear fur
  on head -.06 -.11; swing 16; jitter .15
eye: ellipse 0 0 .026; eye plastic; on head .09 -.07
eye/pupil: ellipse .004 0 .017; pupil plain; on head .09 -.07
"""
_DOG_PALETTE = palette("""
coat: brown tan black white cream ginger grey
second: white black brown cream
ear: brown black dark tan chestnut
muzzle: white cream tan dark
paw: white tan brown dark
collar: red blue green
tongue: pink
eye: brown black
pupil: black
""")
_DOG_POINTS = """
nose: nose .34 0
eye: eye 0 0
near_ear_tip: near_ear 0 .19
chin: muzzle .17 .105
withers: torso .12 -.14
tail_base: torso -.43 -.08
tail_tip: tail -.2 -.3
"""
_DOG_SITTING_POINTS = _DOG_POINTS.replace("torso .12 -.14", "torso -.16 -.05").replace(
    "torso -.43 -.08", "torso -.32 .46"
)
_DOG = Figure(
    parts(
        sided(_DOG_LEGS, "far"),
        """
tail: limb 0 0 .07, -.12 -.06 .065, -.19 -.18 .05, -.2 -.3 .025; coat fur; on torso -.43 -.08
  swing 30
torso: blob -.46 -.06, -.36 -.15, -.1 -.13, .16 -.15, .34 -.16, .42 -.04, .38 .14, .24 .22, 0 .14,
  -.2 .09, -.38 .1; coat fur
""",
        sided(_DOG_LEGS, "near"),
        """
neck: blob -.14 -.06, 0 -.24, .14 -.24, .2 -.1, .12 .14, -.04 .16; coat fur; on torso .32 -.08
  swing 14
collar: limb 0 -.2 .05, .12 -.06 .05, .18 .02 .04; collar leather; on neck -.03 .04; odds .5
""",
        _DOG_HEAD.format(".08 -.22"),
    ),
    keypoints(_DOG_POINTS, FEET),
    _DOG_PALETTE,
    patterns=("plain", "plain", "patches"),
)

_DOG_SITTING_LEGS = """
SIDE_front_leg/SIDE_front_shank: limb 0 0 .085, .01 .14 .065, .01 .28 .065; coat fur; z @.08
  on SIDE_front_thigh 0 .24; swing 6
SIDE_front_leg/SIDE_front_foot: ellipse .04 0 .075 .04; paw fur; z @.08; on SIDE_front_shank .01 .28
SIDE_front_leg/SIDE_front_thigh: limb 0 -.06 .16, .01 .1 .12, 0 .24 .085; coat fur; z @.08
  on torso .16 .06; swing 6
SIDE_back_leg/SIDE_back_shank: limb 0 0 .12, .06 .1 .09; coat fur; z @.12
  on SIDE_back_thigh .08 .1; swing 5
SIDE_back_leg/SIDE_back_foot: ellipse .05 0 .12 .045; paw fur; z @.12; on SIDE_back_shank .06 .1
SIDE_back_leg/SIDE_back_thigh: ellipse 0 0 .19 .16; coat fur; z @.12; on torso -.16 .38; swing 8
"""
_SITTING_TORSO = """
torso: blob -.36 .46, -.32 .2, -.16 -.06, .02 -.22, .2 -.2, .26 0, .2 .22, .08 .38, -.05 .52,
  -.26 .56; coat fur
"""
_DOG_SITTING = Figure(
    parts(
        sided(_DOG_SITTING_LEGS, "far"),
        "tail: limb 0 0 .07, -.14 .04 .06, -.2 -.06 .05, -.2 -.3 .025; coat fur; on torso -.32 .46"
        "; swing 35",
        _SITTING_TORSO,
        sided(_DOG_SITTING_LEGS, "near"),
        """
neck: blob -.14 .04, -.06 -.2, .12 -.22, .2 -.06, .16 .14, 0 .18; coat fur; on torso .1 -.14
  swing 10
collar: limb -.1 -.04 .05, .04 .04 .05, .16 .0 .04; collar leather; on neck .02 .02; odds .5
""",
        _DOG_HEAD.format(".04 -.22"),
    ),
    keypoints(_DOG_SITTING_POINTS, FEET),
    _DOG_PALETTE,
    patterns=("plain", "plain", "patches"),
)

_CAT_HEAD = """
far_ear: polygon -.08 .02, .02 -.18, .09 .0; coat fur; on head .1 -.11; swing 8
far_ear/far_inner_ear: polygon -.045 0, .015 -.12, .05 -.01; pink skin; on far_ear
near_ear: polygon -.09 .0, -.02 -.18, .08 .02; coat fur; on head -.1 -.11; swing 8
near_ear/near_inner_ear: polygon -.05 -.01, -.015 -.12, .045 0; pink skin; on near_ear
head: blob -.2 .02, -.17 -.11, 0 -.17, .17 -.11, .2 .02, .15 .13, 0 .18, -.15 .13; coat fur
  on neck {0}; swing 16
muzzle: ellipse .0 .08 .1 .07; muzzle fur; on head
near_eye: ellipse 0 0 .045 .036; eye plastic; on head -.085 -.015
near_eye/near_pupil: ellipse 0 0 .016 .032; pupil plain; on head -.085 -.015
far_eye: ellipse 0 0 .045 .036; eye plastic; on head .085 -.015
far_eye/far_pupil: ellipse 0 0 .016 .032; pupil plain; on head .085 -.015
nose: polygon -.03 -.015, .03 -.015, 0 .02; nose skin; on head 0 .06
mouth: bars .01, 0 .08 0 .105, 0 .105 -.04 .125, 0 .105 .04 .125; pupil plain; on head
whiskers: bars .006, .07 .08 .26 .04, .07 .095 .26 .1, -.07 .08 -.26 .04, -.07 .095 -.26 .1
  whisker plain; on head
"""
_CAT_PALETTE = palette("""
coat: ginger grey black white cream brown tan
second: dark brown white black
muzzle: white cream tan grey
paw: white cream grey tan
eye: lime yellow sky orange
nose: pink dark
pink: pink skin2
whisker: white
pupil: black
""")
_CAT_POINTS = """
nose: nose 0 0
near_eye: near_eye 0 0
far_eye: far_eye 0 0
near_ear_tip: near_ear -.02 -.16
far_ear_tip: far_ear .02 -.16
chin: head 0 .17
"""
_CAT_LEGS = _DOG_LEGS.replace("z @.09", "z @.08")
_CAT = Figure(
    parts(
        sided(_CAT_LEGS, "far"),
        """
tail: limb 0 0 .06, -.14 .02 .06, -.26 -.1 .06, -.28 -.3 .055, -.2 -.42 .04; coat fur
  on torso -.42 -.04; swing 24
torso: blob -.46 -.02, -.36 -.14, -.1 -.12, .16 -.13, .36 -.13, .42 0, .36 .13, .2 .17, 0 .14,
  -.2 .12, -.4 .12; coat fur
""",
        sided(_CAT_LEGS, "near"),
        """
neck: blob -.1 -.08, .02 -.2, .14 -.16, .16 .0, .08 .12, -.06 .12; coat fur; on torso .34 -.06
  swing 12
""",
        _CAT_HEAD.format(".12 -.14"),
    ),
    keypoints(_CAT_POINTS, "tail_base: torso -.42 -.04\ntail_tip: tail -.2 -.41", FEET),
    _CAT_PALETTE,
    patterns=("plain", "tabby", "tabby", "patches"),
)

_CAT_SITTING = Figure(
    parts(
        sided(_DOG_SITTING_LEGS, "far"),
        """
tail: limb 0 0 .07, -.16 .06 .06, -.24 -.04 .06, -.26 -.22 .05, -.18 -.34 .04; coat fur
  on torso -.3 .48; swing 30
""",
        _SITTING_TORSO,
        sided(_DOG_SITTING_LEGS, "near"),
        """
neck: blob -.14 .04, -.06 -.14, .12 -.14, .2 -.02, .16 .12, 0 .14; coat fur; on torso .1 -.14
  swing 8
""",
        _CAT_HEAD.format(".06 -.2"),
    ),
    keypoints(_CAT_POINTS, "tail_base: torso -.31 .47\ntail_tip: tail -.18 -.33", FEET),
    _CAT_PALETTE,
    patterns=("plain", "tabby", "tabby", "patches"),
)

_BIRD_PALETTE = palette("""
coat: brown grey blue red yellow white black teal olive
second: dark white brown
belly: white cream orange yellow sand grey
wing: brown dark grey blue black olive
beak: orange yellow dark grey
leg: orange dark brown
eye: black yellow
pupil: black
""")
_SONGBIRD = Figure(
    parts(
        """
tail: blob 0 -.05, -.3 -.02, -.44 .04, -.42 .1, -.2 .08, 0 .07; wing feather; on torso -.3 .1
  turn 4; swing 14; jitter .12
far_leg: limb 0 0 .05, .02 .12 .025, 0 .26 .022 + bars .02, 0 .26 .1 .28, 0 .26 -.06 .28
  leg plain; on torso .04 .2; swing 14; z -.05
torso: blob -.38 .12, -.22 -.06, .02 -.18, .22 -.2, .34 -.06, .32 .12, .16 .24, -.06 .26, -.26 .2
  coat feather
belly: blob .28 -.08, .32 .06, .26 .16, .1 .22, -.06 .23, .04 .14, .16 .04; belly feather; on torso
near_leg: limb 0 0 .05, .02 .12 .025, 0 .26 .022 + bars .02, 0 .26 .1 .28, 0 .26 -.06 .28
  leg plain; on torso 0 .23; swing 14; z .05
beak: polygon 0 -.035, .17 .015, 0 .045; beak plastic; on head .13 0; jitter .18
head: blob -.16 .04, -.12 -.12, .02 -.17, .14 -.1, .16 .02, .1 .13, -.04 .17; coat feather
  on torso .26 -.2; swing 16
cheek: blob .02 .02, .14 .02, .1 .12, 0 .15, -.06 .1; belly feather; on head; odds .6
wing: blob .14 -.1, .1 .06, -.06 .16, -.3 .16, -.46 .14, -.26 .02, -.1 -.1, .04 -.14; wing feather
  on torso .02 .0; swing 10
wing/bar: bars .02, .08 .04 -.1 .12, -.02 .0 -.24 .11; second plain; on wing; odds .7
eye: ellipse 0 0 .03; eye plastic; on head .07 -.04
eye/pupil: ellipse .004 0 .018; pupil plain; on head .07 -.04
"""
    ),
    keypoints("""
beak_tip: beak .16 .015
eye: eye 0 0
crown: head .0 -.16
breast: belly .3 .06
wing_tip: wing -.45 .14
tail_tip: tail -.42 .07
near_foot: near_leg 0 .26
far_foot: far_leg 0 .26
"""),
    _BIRD_PALETTE,
    patterns=("plain", "plain", "spots"),
)
_GOOSE = Figure(
    parts(
        """
tail: blob .04 -.08, -.14 -.12, -.26 -.12, -.2 .0, 0 .08; wing feather; on torso -.42 -.04; swing 10
far_leg: limb 0 0 .06, 0 .1 .03, .0 .22 .03 + polygon -.02 .2, .1 .25, -.04 .26; leg plain
  on torso .0 .18; swing 16; z -.07
torso: blob -.5 -.08, -.3 -.18, .0 -.2, .28 -.16, .4 0, .34 .14, .1 .24, -.18 .22, -.4 .1
  coat feather
belly: blob .36 -.02, .34 .12, .14 .22, -.14 .2, .0 .14, .2 .06; belly feather; on torso
near_leg: limb 0 0 .06, 0 .1 .03, .0 .22 .03 + polygon -.02 .2, .1 .25, -.04 .26; leg plain
  on torso -.06 .2; swing 16; z .07
neck: limb 0 .04 .2, .1 -.12 .12, .08 -.3 .09, .12 -.42 .1; coat feather; on torso .26 -.04
  swing 14; jitter .12
beak: polygon 0 -.04, .07 -.02, .19 .02, .18 .05, 0 .05; beak plastic; on head .09 .01; jitter .15
head: blob -.12 .02, -.08 -.09, .04 -.1, .12 -.03, .11 .06, 0 .09; coat feather; on neck .13 -.44
  swing 14
wing: blob .2 -.08, .18 .06, .0 .14, -.3 .1, -.52 -.04, -.3 -.1, 0 -.15; wing feather; on torso
  swing 8
wing/bar: bars .02, .1 .06 -.16 .08, .06 -.02 -.3 .0; second plain; on wing; odds .7
eye: ellipse 0 0 .025; eye plastic; on head .05 -.03
eye/pupil: ellipse .004 0 .015; pupil plain; on head .05 -.03
"""
    ),
    keypoints("""
beak_tip: beak .18 .035
eye: eye 0 0
crown: head -.01 -.095
breast: belly .35 .04
wing_tip: wing -.51 -.04
tail_tip: tail -.25 -.11
near_foot: near_leg 0 .22
far_foot: far_leg 0 .22
"""),
    _BIRD_PALETTE,
)

FIGURES = {
    "bird": (_SONGBIRD, _GOOSE),
    "cat": (_CAT, _CAT_SITTING),
    "dog": (_DOG, _DOG_SITTING),
}
