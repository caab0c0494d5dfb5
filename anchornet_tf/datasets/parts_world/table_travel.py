"""Tables of parts: aeroplane, boat, train."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts, sided

_WING = """
SIDE_engine: limb -.04 0 .09, .1 0 .1; trim metal; on root .02 .1; z @.3
SIDE_engine/SIDE_intake: ellipse .15 .1 .02 .045; dark plain; z @.3
SIDE_wing: sheet .16 .04 @.04, -.14 .04 @.04, -.34 -.03 @.8, -.22 -.03 @.8; body paint
"""
_TAILPLANE = """
SIDE_tailplane: sheet -.48 -.03 @.02, -.62 -.03 @.02, -.7 -.05 @.28, -.63 -.05 @.28; body paint
"""
_AEROPLANE = Figure(
    parts(
        sided(_TAILPLANE, "far"),
        sided(_WING, "far"),
        """
fuselage: limb -.66 -.05 .03, -.46 -.02 .12, -.2 0 .17, .3 0 .17, .5 .02 .13, .58 .035 .06
  body paint
fuselage/stripe: limb -.6 -.03 .02, -.3 .01 .03, .3 .02 .03, .5 .035 .03; trim paint; odds .8
fin: polygon -.4 -.07, -.58 -.3, -.68 -.3, -.64 -.06; trim paint; jitter .1
windows: row 11 .06 ellipse -.3 -.025 .014; glass glass; z .05
cockpit: polygon .42 -.05, .5 -.03, .53 -.0, .43 -.01; glass glass; z .03
wheels: bars .016, .4 .05 .41 .15, -.06 .06 -.06 .15 + ellipse .41 .16 .028 + ellipse -.06 .16 .032
  dark rubber; odds .5
""",
        sided(_WING, "near"),
        sided(_TAILPLANE, "near"),
    ),
    keypoints("""
nose: fuselage .59 .035
cockpit: cockpit .48 -.02
tail_end: fuselage -.66 -.05
fin_top: fin -.64 -.29
near_wing_tip: near_wing -.28 -.03 .79
far_wing_tip: far_wing -.28 -.03 -.79
near_wing_root: near_wing .14 .04 .05
near_engine: near_engine .1 0
near_tailplane_tip: near_tailplane -.67 -.05 .27
far_tailplane_tip: far_tailplane -.67 -.05 -.27
belly: fuselage -.1 .085
"""),
    palette("""
body: white silver white grey sky
trim: red blue navy orange green yellow
glass: night glass
dark: dark black
"""),
    yaw=(-45, 50),
    pitch=(-28, 30),
    roll=22,
    warp=0.01,
    grounded=False,
)

_TRAIN = Figure(
    parts("""
scenery/track: polygon -1.3 -.26, .75 -.26, .75 .26, -1.3 .26; gravel stone; top .25
scenery/rails: bars .02, -1.3 -.13 .75 -.13, -1.3 .13 .75 .13; metal metal; top .245
bogie: rectangle -1.15 .12 .3 .2; dark metal; z .12; thick .24
body: polygon -1.2 .14, -1.2 -.22, -1.17 -.25, .36 -.25, .42 -.2, .5 .0, .5 .14; body paint; z .17
  thick .34; jitter .03
stripe: polygon -1.2 .02, .49 .02, .5 .08, -1.2 .08; second paint; z .171; odds .85
window: row 2 .18 rectangle -1.12 -.15 -.98 -.03 + row 3 .18 rectangle -.56 -.15 -.42 -.03
  glass glass; z .172
door: rectangle -.74 -.17 -.62 .12 + rectangle .0 -.17 .12 .12; trim paint; z .172
cab_window: polygon .2 -.16, .34 -.16, .39 -.04, .2 -.04; glass glass; z .172
near_back_wheel: ellipse -1.05 .19 .06 + ellipse -.88 .19 .06; dark metal; z .15; jitter 0
near_front_wheel: ellipse .05 .19 .06 + ellipse .22 .19 .06; dark metal; z .15; jitter 0
nose: face .5 .0 .17, .5 .0 -.17, .505 .14 -.17, .505 .14 .17; second paint
nose/brow: face .42 -.2 .17, .42 -.2 -.17, .5 .0 -.17, .5 .0 .17; second paint; odds .6
windscreen: face .426 -.19 .14, .426 -.19 .01, .49 -.03 .01, .49 -.03 .15; glass glass
windscreen/far_pane: face .426 -.19 -.01, .426 -.19 -.14, .49 -.03 -.15, .49 -.03 -.01; glass glass
headlight: ellipse -.12 .06 .032 + ellipse .12 .06 .032; lamp glass; front .51
coupler: rectangle -.04 .1 .04 .17; dark metal; front .53
buffer: rectangle -.17 .13 .17 .19; dark metal; front .51
lamp: ellipse 0 -.225 .025; lamp glass; front .4
pantograph: bars .015, -.6 -.25 -.5 -.34, -.5 -.34 -.6 -.42, -.68 -.42 -.5 -.42; dark metal; odds .5
"""),
    keypoints("""
roof_front: body .36 -.25 0
roof_back: body -1.18 -.24 0
nose_top: nose .5 .02 0
bottom_front: body .5 .14 0
bottom_back: body -1.2 .14 0
near_headlight: headlight .51 .06 .12
far_headlight: headlight .51 .06 -.12
cab_window: cab_window .28 -.1
first_window: window -.13 -.09
last_window: window -1.05 -.09
front_wheel: near_front_wheel .22 .19
back_wheel: near_back_wheel -1.05 .19
"""),
    palette("""
body: silver blue red green white maroon navy
second: yellow red orange white blue
trim: grey dark red blue yellow
glass: night glass
dark: dark black
metal: silver grey
lamp: lamp
gravel: grey brown sand
"""),
    yaw=(18, 62),
    pitch=(3, 16),
    roll=3,
    warp=0.005,
)

_BOAT_PALETTE = palette("""
hull: white blue red navy green brown maroon black
second: red white navy yellow blue
sail: white cream sky orange red
wood: brown tan chestnut
cabin: white cream silver
glass: night glass
metal: silver grey
water: sky teal white
flag: red blue yellow
""")
_SAILING_BOAT = Figure(
    parts("""
hull/deck: blob -.5 0, 0 -.13, .56 0, 0 .13; wood wood; top -.01
hull: polygon -.5 -.02, .58 -.06, .5 .04, .34 .16, -.4 .17, -.47 .1; hull paint; z .03
hull/stripe: polygon -.49 .03, .52 .01, .49 .05, -.48 .07; second paint; z .031
cabin: polygon -.22 -.02, -.18 -.1, .1 -.1, .18 -.03; cabin paint; z .0; thick .1; odds .6
rudder: polygon -.5 .04, -.44 .04, -.44 .26, -.54 .24; wood wood; odds .5
mast: limb .06 0 .03, .06 -.98 .02; wood wood; jitter .03
boom: limb .06 -.12 .022, -.42 -.1 .02; wood wood
mainsail: blob .03 -.94, .035 -.5, .03 -.16, -.14 -.15, -.42 -.13, -.34 -.34, -.16 -.7; sail folds
  jitter .1
mainsail/battens: bars .008, .02 -.4 -.3 -.36, .02 -.62 -.2 -.58; second plain
jib: blob .1 -.86, .3 -.5, .54 -.1, .3 -.14, .12 -.14, .13 -.5; sail folds; jitter .1; odds .85
flag: polygon .06 -.98, -.08 -.95, .06 -.9; flag cloth; odds .6
scenery/wake: blob -.6 .14, -.2 .12, .2 .12, .52 .1, .6 .16, .3 .2, -.3 .21; water cloth
"""),
    keypoints("""
bow: hull .57 -.055
stern: hull -.49 -.01
waterline_front: hull .4 .08
waterline_back: hull -.46 .08
mast_top: mast .06 -.97
mast_foot: mast .06 -.03
boom_end: boom -.41 -.1
jib_corner: jib .52 -.1
"""),
    _BOAT_PALETTE,
    yaw=(-40, 40),
    pitch=(2, 14),
    roll=12,
    warp=0.012,
    grounded=False,
)
_MOTOR_BOAT = Figure(
    parts("""
hull/deck: blob -.56 -.03, -.2 -.17, .3 -.13, .64 -.05, .3 .14, -.2 .17; cabin wood; top -.05
cabin/back: polygon -.36 -.05, -.34 -.34, .06 -.34, .16 -.05; cabin paint; z .12; thick .24
cabin/roof: polygon -.4 -.33, .1 -.35, .1 -.38, -.4 -.37; second paint; z .14; thick .28
window: polygon -.3 -.29, -.18 -.29, -.18 -.16, -.3 -.16 + polygon -.14 -.29, -.02 -.29, 0 -.16,
  -.14 -.16; glass glass; z .121
windscreen: face .07 -.32 .11, .07 -.32 -.11, .12 -.16 -.11, .12 -.16 .11; glass glass
mast: limb -.1 -.36 .025, -.1 -.7 .015; metal metal
mast/cross: bars .015, -.22 -.54 .02 -.54; metal metal
flag: polygon -.1 -.7, -.26 -.66, -.1 -.6; flag cloth; odds .7
hull: polygon -.58 -.06, .3 -.05, .68 -.12, .58 .04, .42 .17, -.5 .18, -.56 .1; hull paint; z .13
  jitter .05
hull/stripe: polygon -.57 0, .61 -.03, .56 .05, -.56 .06; second paint; z .131
rail: bars .012, .16 -.16 .62 -.22, .2 -.05 .2 -.16, .34 -.06 .34 -.18, .48 -.08 .48 -.2,
  .62 -.1 .62 -.22; metal metal; z .1
fender: limb 0 0 .05, 0 .08 .05; second rubber; on root -.3 -.02; z .14; swing 8; odds .6
fender/second_fender: limb 0 0 .05, 0 .08 .05; second rubber; on root .1 -.02; z .14; swing 8
scenery/wake: blob -.7 .16, -.2 .13, .2 .13, .5 .12, .6 .17, .3 .22, -.3 .23; water cloth; z .15
"""),
    keypoints("""
bow: hull .67 -.115
stern: hull -.57 -.04
waterline_front: hull .49 .09
waterline_back: hull -.55 .09
mast_top: mast -.1 -.69
mast_foot: mast -.1 -.38
cabin_front: back .15 -.07
cabin_back: back -.35 -.2
"""),
    _BOAT_PALETTE,
    yaw=(-40, 45),
    pitch=(2, 16),
    warp=0.012,
    grounded=False,
)

FIGURES = {
    "aeroplane": (_AEROPLANE,),
    "boat": (_SAILING_BOAT, _MOTOR_BOAT),
    "train": (_TRAIN,),
}
