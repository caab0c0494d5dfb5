"""Tables of parts: bus, car."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts, sided

_CAR_WHEEL = """
SIDE_{0}_wheel: ellipse 0 0 .105; rubber rubber; on root {1} .09; z @.2; thick .08; jitter 0
SIDE_{0}_wheel/SIDE_{0}_rim: ellipse 0 0 .068 ; metal metal; on root {1} .09; z @.201; jitter 0
SIDE_{0}_wheel/SIDE_{0}_spokes: spokes 0 0 .06 4 .016; dark metal; on root {1} .09; z @.202
  swing 40; jitter 0
"""


def _car(body: str, cabin: str, windows: str, windscreen: str, back_window: str, roof: float):
    """Returns a car from the outlines of its body, cabin and panes."""
    wheels = _CAR_WHEEL.format("back", -0.31) + _CAR_WHEEL.format("front", 0.31)
    return Figure(
        parts(
            sided(wheels, "far"),
            f"""
body: polygon {body}; body paint; z .21; thick .42; jitter .03
cabin: polygon {cabin}; body paint; z .18; thick .36; jitter .03
windscreen: face {windscreen}; glass glass
back_window: face {back_window}; glass glass
side_window: {windows}; glass glass; z .181
near_front_wheel/front_arch: ellipse 0 0 .125; dark plain; on root .31 .085; z .205; jitter 0
near_back_wheel/back_arch: ellipse 0 0 .125; dark plain; on root -.31 .085; z .205; jitter 0
door: bars .008, -.16 -.06 -.16 .1, .1 -.06 .13 .1, -.16 .1 .13 .1; dark plain; z .212
door/handle: bars .014, -.14 -.03 -.09 -.03, -.27 -.03 -.22 -.03; metal chrome; z .213
sill: bars .03, -.2 .11 .2 .11; dark plain; z .212
bumper/front_bumper: rectangle -.21 .05 .21 .1; trim plastic; front .515
bumper/back_bumper: rectangle -.21 .05 .21 .1; trim plastic; back -.515
grille: rectangle -.1 .0 .1 .045; dark metal; front .514
headlight/headlights: ellipse -.155 .01 .045 .028 + ellipse .155 .01 .045 .028
  lamp glass; front .515
tail_light/tail_lights: rectangle -.2 -.03 -.12 .02 + rectangle .12 -.03 .2 .02; red plastic
  back -.515
plate: rectangle -.06 .05 .06 .085; white plain; front .517
headlight: blob .44 -.025, .5 .0, .5 .03, .45 .02; lamp glass; z .214
tail_light: blob -.5 -.05, -.45 -.05, -.46 .01, -.5 .01; red plastic; z .214
mirror: blob .12 -.1, .18 -.1, .17 -.06, .12 -.065; body paint; z .24
""",
            sided(wheels, "near"),
        ),
        keypoints(f"""
front_wheel_centre: near_front_rim 0 0
back_wheel_centre: near_back_rim 0 0
headlight: headlight .48 .01
tail_light: tail_light -.48 -.02
front_bumper: body .51 .08 0
back_bumper: body -.51 .08 0
mirror: mirror .15 -.08
roof_front: cabin .05 {roof} 0
roof_back: cabin -.25 {roof} 0
door_handle: handle -.115 -.03
windscreen_base: cabin .22 -.08 0
"""),
        palette("""
body: red blue white silver black grey green yellow navy maroon orange sky
trim: dark grey black silver
glass: glass night sky
metal: silver grey
rubber: black dark
dark: black dark
white: white yellow
lamp: lamp white
red: red maroon
"""),
        yaw=(-40, 55),
        pitch=(2, 18),
        warp=0.008,
        stretch=0.07,
    )


_SEDAN = _car(
    "-.5 .11, -.515 -.02, -.49 -.075, .2 -.085, .46 -.035, .515 .01, .515 .11",
    "-.4 -.07, -.27 -.215, .06 -.225, .24 -.075",
    "polygon -.33 -.085, -.245 -.19, -.1 -.195, -.1 -.085 +"
    " polygon -.07 -.085, -.07 -.195, .045 -.2, .17 -.085",
    ".065 -.215 .155, .065 -.215 -.155, .23 -.085 -.17, .23 -.085 .17",
    "-.275 -.205 -.155, -.275 -.205 .155, -.39 -.08 .17, -.39 -.08 -.17",
    -0.22,
)
_HATCHBACK = _car(
    "-.48 .11, -.5 -.02, -.49 -.08, .24 -.09, .47 -.04, .515 .0, .515 .11",
    "-.485 -.07, -.42 -.25, -.3 -.27, .06 -.265, .26 -.08",
    "polygon -.44 -.09, -.39 -.22, -.3 -.235, -.28 -.09 +"
    " polygon -.25 -.09, -.25 -.235, -.1 -.235, -.1 -.09 +"
    " polygon -.07 -.09, -.07 -.235, .05 -.235, .2 -.09",
    ".065 -.255 .155, .065 -.255 -.155, .25 -.09 -.17, .25 -.09 .17",
    "-.425 -.24 -.155, -.425 -.24 .155, -.48 -.1 .17, -.48 -.1 -.17",
    -0.26,
)

_BUS_WHEEL = """
SIDE_{0}_wheel: ellipse 0 0 .075; rubber rubber; on root {1} .15; z @.15; thick .05; jitter 0
SIDE_{0}_wheel/SIDE_{0}_rim: ellipse 0 0 .042; metal metal; on root {1} .15; z @.151; jitter 0
"""
_BUS_WHEELS = _BUS_WHEEL.format("back", -0.33) + _BUS_WHEEL.format("front", 0.33)
_BUS = Figure(
    parts(
        sided(_BUS_WHEELS, "far"),
        """
body: polygon -.57 .16, -.57 -.2, -.55 -.23, .55 -.23, .57 -.2, .575 .16; body paint
  z .16; thick .32; jitter .03
stripe: rectangle -.57 .03 .57 .08; second paint; z .161; odds .8
stripe/skirt: rectangle -.57 .12 .57 .16; trim plastic; z .161
window: row 5 .16 rectangle -.52 -.15 -.38 -.01; glass glass; z .162
door: rectangle .3 -.16 .46 .14; trim plastic; z .162
door/pane: rectangle .315 -.14 .375 .08 + rectangle .385 -.14 .445 .08; glass glass; z .163
side_light: rectangle .53 .04 .565 .08; lamp glass; z .163
windscreen: polygon -.14 -.14, .14 -.14, .15 .02, -.15 .02; glass glass; front .577
sign: rectangle -.12 -.205 .12 -.155; dark plain; front .577
sign/letters: bars .016, -.09 -.18 -.02 -.18, .0 -.18 .04 -.18, .06 -.18 .09 -.18
  yellow plain; front .578
headlight: ellipse -.115 .09 .028 .024 + ellipse .115 .09 .028 .024; lamp glass; front .578
grille: rectangle -.06 .07 .06 .11; dark metal; front .578
bumper: rectangle -.16 .12 .16 .16; trim plastic; front .579
back_window: rectangle -.13 -.16 .13 -.03; glass glass; back -.572
tail_light: rectangle -.15 .04 -.11 .1 + rectangle .11 .04 .15 .1; red plastic; back -.572
mirror: bars .012, .57 -.16 .61 -.14 + rectangle .595 -.14 .625 -.06; dark plastic; z .17
near_back_wheel/back_arch: ellipse 0 0 .09; dark plain; on root -.33 .145; z .163; jitter 0
near_front_wheel/front_arch: ellipse 0 0 .09; dark plain; on root .33 .145; z .163; jitter 0
""",
        sided(_BUS_WHEELS, "near"),
    ),
    keypoints("""
front_wheel_centre: near_front_rim 0 0
back_wheel_centre: near_back_rim 0 0
roof_front: body .55 -.22 0
roof_back: body -.55 -.22 0
bottom_front: skirt .57 .155
bottom_back: skirt -.57 .155
mirror: mirror .61 -.1
door: door .38 0
first_window: window .19 -.08
last_window: window -.45 -.08
windscreen: windscreen .577 -.06 0
"""),
    palette("""
body: red white yellow blue green orange silver sky
second: white blue red yellow navy green
trim: dark grey black
glass: glass night
metal: silver grey
rubber: black dark
dark: black dark
yellow: yellow orange
lamp: lamp
red: red
"""),
    yaw=(-25, 58),
    pitch=(2, 16),
    warp=0.006,
)

FIGURES = {"bus": (_BUS,), "car": (_SEDAN, _HATCHBACK)}
