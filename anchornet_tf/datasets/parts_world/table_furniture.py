"""Tables of parts: chair, dining table, sofa."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts, sided

_CHAIR_LEGS = """
SIDE_back_leg: limb 0 0 .055, -.03 .48 .04; wood wood; on root -.22 .02; z @.21; jitter .05
SIDE_front_leg: limb 0 0 .055, .02 .48 .04; wood wood; on root .22 .02; z @.21; jitter .05
"""
_CHAIR_POINTS = keypoints("""
near_back_top: near_post -.32 -.6
far_back_top: far_post -.32 -.6
near_front_seat: seat .255 -.03 0
far_front_seat: seat .24 -.02 -.48
near_front_foot: near_front_leg .02 .48
far_front_foot: far_front_leg .02 .48
near_back_foot: near_back_leg -.03 .48
far_back_foot: far_back_leg -.03 .48
""")
_CHAIR_PALETTE = palette("""
wood: brown chestnut tan black white sand maroon
seat: red blue green dark cream brown teal orange tan
""")
_POST = (
    "back/SIDE_post: limb -.2 .03 .055, -.27 -.3 .05, -.33 -.62 .045; wood wood; z @.22; jitter .04"
)


def _chair(back: str, near_back: str = "") -> Figure:
    return Figure(
        parts(
            sided(_CHAIR_LEGS, "far"),
            sided(_POST, "far"),
            back,
            sided(_CHAIR_LEGS, "near").strip().splitlines()[0],
            """
seat: polygon -.25 -.04, .25 -.04, .26 .03, -.25 .03; wood wood; z .24; thick .48; jitter .05
seat/cushion: polygon -.22 -.075, .23 -.075, .24 -.035, -.22 -.035; seat cloth; z .22; thick .44
  odds .7
""",
            sided(_POST, "near"),
            near_back,
            sided(_CHAIR_LEGS, "near").strip().splitlines()[1],
        ),
        _CHAIR_POINTS,
        _CHAIR_PALETTE,
        yaw=(15, 60),
        pitch=(6, 26),
        warp=0.008,
        stretch=0.1,
    )


_SLATS = """
back: sheet -.3 -.44 .21, -.3 -.44 -.21, -.29 -.36 -.21, -.29 -.36 .21; wood wood
back/middle: sheet -.275 -.3 .21, -.275 -.3 -.21, -.26 -.22 -.21, -.26 -.22 .21; wood wood
back/top: sheet -.335 -.64 .23, -.335 -.64 -.23, -.31 -.52 -.23, -.31 -.52 .23; wood wood
"""
_PADDED = """
back: polygon -.22 -.12, -.33 -.6, -.27 -.6, -.18 -.12; seat cloth; z .2; thick .4
"""

_TABLE_LEG = """
SIDE_far_leg: limb 0 0 .07, 0 .55 .05; wood wood; on root @.6 .05; z -.3
"""
_TABLE_NEAR_LEG = """
SIDE_near_leg: limb 0 0 .075, 0 .6 .055; wood wood; on root @.62 .05; z .31
"""
_MEAL = """
dish/far_plate: ellipse .3 -.16 .12 .09; plate plastic; top -.005; odds .6
dish/far_food: ellipse .3 -.16 .06 .045; food stone; top -.012; odds .5
dish: ellipse -.32 .12 .14 .1; plate plastic; top -.005; odds .8
dish/food: ellipse -.32 .12 .08 .055; food stone; top -.012; odds .6
vase: blob -.05 0, .05 0, .07 -.1, .03 -.18, .045 -.22, -.045 -.22, -.03 -.18, -.07 -.1; vase clay
  z -.02; odds .6
vase/flowers: limb 0 -.2 .02, .02 -.36 .02 + limb 0 -.2 .02, -.08 -.32 .02 + ellipse .02 -.4 .05
  + ellipse -.09 -.35 .045 + ellipse .1 -.34 .045; flower leaf; on vase; z -.02; odds .6
glass: polygon -.035 -.13, .035 -.13, .028 0, -.028 0; glass glass; on root .12 -.0; z .15; odds .7
"""
_TABLE_PALETTE = palette("""
wood: brown chestnut tan sand maroon dark
cloth: white cream red sky green yellow
second: red blue white
plate: white cream sky
food: orange green brown yellow
vase: blue terracotta white teal
flower: red yellow pink purple
glass: sky white
""")
_TABLE = Figure(
    parts(
        sided(_TABLE_LEG, "right"),
        sided(_TABLE_LEG, "left"),
        """
top/apron: rectangle -.62 .04 .62 .12; wood wood; z .3; thick .6; tone .8
top: rectangle -.72 0 .72 .05; wood wood; z .38; thick .76; jitter .08
cloth: polygon -.4 -.38, .4 -.38, .4 .38, -.4 .38; cloth cloth; top -.003; odds .45
cloth/overhang: polygon -.4 -.0, .4 -.0, .4 .16, .2 .19, 0 .15, -.2 .19, -.4 .16
  cloth folds; z .382; odds .3
""",
        _MEAL,
        sided(_TABLE_NEAR_LEG, "right"),
        sided(_TABLE_NEAR_LEG, "left"),
    ),
    keypoints("""
left_near_corner: top .71 0 0
right_near_corner: top -.71 0 0
left_far_corner: top .71 0 -.76
right_far_corner: top -.71 0 -.76
left_near_foot: left_near_leg 0 .59
right_near_foot: right_near_leg 0 .59
left_far_foot: left_far_leg 0 .54
right_far_foot: right_far_leg 0 .54
left_edge: top .71 0 -.38
right_edge: top -.71 0 -.38
near_edge: top 0 .01 0
far_edge: top 0 0 -.75
"""),
    _TABLE_PALETTE,
    yaw=(-32, 32),
    pitch=(12, 34),
    warp=0.006,
    stretch=0.1,
)
_ROUND_TABLE = Figure(
    parts(
        """
foot: ellipse 0 0 .36 .3; wood wood; top .62
foot/ankle: blob -.28 .62, -.06 .5, .06 .5, .28 .62, 0 .68; wood wood
pedestal: limb 0 .04 .16, 0 .2 .1, 0 .36 .14, 0 .56 .12; wood wood
top/rim: ellipse 0 0 .7 .55; wood wood; top .06; tone .65
top: ellipse 0 0 .7 .55; wood wood; top 0
cloth: ellipse 0 0 .6 .46; cloth cloth; top -.003; odds .4
""",
        _MEAL,
    ),
    keypoints("""
left_edge: top .69 0 0
right_edge: top -.69 0 0
near_edge: top 0 0 .54
far_edge: top 0 0 -.54
pedestal_foot: ankle 0 .66
"""),
    _TABLE_PALETTE,
    yaw=(-32, 32),
    pitch=(14, 34),
    warp=0.006,
    stretch=0.1,
)

_SOFA_SIDE = """
SIDE_foot: polygon -.03 0, .03 0, .02 .08, -.02 .08; wood wood; on root @.52 .28; z .22
"""
_SOFA_ARM = """
SIDE_arm: polygon @.47 -.2, @.5 -.26, @.6 -.26, @.64 -.2, @.63 .28, @.47 .28; cover cloth; z .3
  thick .5; jitter .06
"""
_SOFA = Figure(
    parts(
        sided(_SOFA_SIDE, "right"),
        sided(_SOFA_SIDE, "left"),
        """
back: polygon -.58 .1, -.6 -.4, -.5 -.46, 0 -.48, .5 -.46, .6 -.4, .58 .1; cover cloth; z -.14
  thick .14; jitter .05
back/left_back_cushion: blob .02 -.02, .0 -.36, .06 -.41, .26 -.43, .44 -.41, .48 -.36, .47 -.02
  cover cloth; z -.06; tone 1.05
back/right_back_cushion: blob -.02 -.02, .0 -.36, -.06 -.41, -.26 -.43, -.44 -.41, -.48 -.36,
  -.47 -.02
  cover cloth; z -.06; tone 1.05
seat: rectangle -.5 .04 .5 .28; cover cloth; z .26; thick .4; tone .9
seat/left_seat_cushion: polygon .01 -.06, .03 -.08, .46 -.08, .48 -.06, .48 .06, .01 .06
  cover cloth; z .29; thick .36; tone 1.05
seat/right_seat_cushion: polygon -.01 -.06, -.03 -.08, -.46 -.08, -.48 -.06, -.48 .06, -.01 .06
  cover cloth; z .29; thick .36; tone 1.05
pillow/left_pillow: blob -.13 -.12, 0 -.1, .13 -.12, .11 0, .13 .12, 0 .1, -.13 .12, -.11 0
  second cloth; on root .32 -.16; z .02; swing 30; odds .5
pillow/right_pillow: blob -.13 -.12, 0 -.1, .13 -.12, .11 0, .13 .12, 0 .1, -.13 .12, -.11 0
  second cloth; on root -.32 -.16; z .02; swing 30; odds .5
""",
        sided(_SOFA_ARM, "right"),
        sided(_SOFA_ARM, "left"),
    ),
    keypoints("""
left_back_top: back .57 -.41 0
right_back_top: back -.57 -.41 0
back_top_centre: back 0 -.47 0
left_arm_front: left_arm .56 -.25 0
right_arm_front: right_arm -.56 -.25 0
seat_front_centre: seat 0 .0 .02
left_foot: left_foot 0 .06
right_foot: right_foot 0 .06
left_bottom: left_arm .62 .27 0
right_bottom: right_arm -.62 .27 0
"""),
    palette("""
cover: red blue brown grey cream green dark teal tan maroon white
second: yellow white red navy orange teal
wood: brown dark black
"""),
    yaw=(-35, 35),
    pitch=(4, 24),
    warp=0.01,
    stretch=0.1,
)

FIGURES = {
    "chair": (_chair(_SLATS), _chair(_PADDED)),
    "diningtable": (_TABLE, _ROUND_TABLE),
    "sofa": (_SOFA,),
}
