"""Tables of parts: bicycle, motorbike."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts

_BICYCLE = Figure(
    parts("""
far_pedal: bars .025, 0 0 -.04 -.13, -.09 -.13 .01 -.13; metal metal; on root -.05 .02; swing 180
  z -.05
back_wheel/back_spokes: spokes 0 0 .29 9 .007; metal metal; on root -.46 0; swing 20; jitter 0
back_wheel: ring 0 0 .31 .268; rubber rubber; on root -.46 0; jitter 0
front_wheel/front_spokes: spokes 0 0 .29 9 .007; metal metal; on root .47 0; swing 20; jitter 0
front_wheel: ring 0 0 .31 .268; rubber rubber; on root .47 0; jitter 0
back_wheel/back_hub: ellipse 0 0 .035; metal metal; on back_wheel
front_wheel/front_hub: ellipse 0 0 .03; metal metal; on front_wheel
back_guard: limb -.3 -.12 .03, -.2 -.27 .03, 0 -.335 .03, .2 -.27 .03; frame paint; on back_wheel
  odds .5
fork: limb 0 0 .035, -.1 -.24 .04, -.16 -.42 .045; frame metal; on front_wheel; jitter .02
frame: bars .042, -.05 .02 .31 -.36, -.17 -.36 .3 -.42, -.05 .02 -.19 -.44 +
  bars .028, -.46 0 -.05 .02, -.46 0 -.17 -.36 + bars .05, .32 -.34 .29 -.46; frame paint
chain: bars .016, -.46 .03 -.04 .08, -.46 -.03 -.04 -.04; dark rubber
crank: ring -.05 .02 .075 .045 + ellipse -.05 .02 .025; metal chrome
saddle: blob -.12 -.02, .0 -.045, .14 -.02, .1 .02, -.04 .04, -.12 .035; dark leather
  on frame -.2 -.48; jitter .14
handlebar/stem: bars .03, 0 0 -.02 -.09; metal metal; on frame .29 -.46
handlebar: limb -.02 -.09 .03, .1 -.1 .035, .14 -.02 .035, .05 .03 .035; dark rubber
  on frame .29 -.46; swing 25; z .16; jitter .12
handlebar/far_bar: limb -.02 -.09 .03, .1 -.1 .035, .14 -.02 .035, .05 .03 .035; dark rubber
  on frame .29 -.46; swing 4; z -.16; tone .8
handlebar/bar: sheet .27 -.56 .16, .29 -.54 .16, .29 -.54 -.16, .27 -.56 -.16; metal metal; on frame
basket: polygon -.1 -.14, .14 -.16, .1 .06, -.06 .06; wood cloth; on frame .42 -.46; odds .25
near_pedal: bars .028, 0 0 .04 .13, -.02 .13 .1 .13; metal metal; on root -.05 .02; swing 180; z .06
"""),
    keypoints("""
front_wheel_centre: fork 0 0
back_wheel_centre: frame -.46 0
front_wheel_ground: front_wheel 0 .29
back_wheel_ground: back_wheel 0 .29
front_wheel_front: front_wheel .29 0
back_wheel_back: back_wheel -.29 0
crank: crank -.05 .02
saddle: saddle 0 -.03
head_tube: frame .3 -.42
handlebar: handlebar .12 -.06
"""),
    palette("""
frame: red blue green black silver yellow teal orange white purple
metal: silver grey
rubber: black dark
dark: black dark brown
wood: tan sand brown
"""),
    yaw=(-40, 45),
    pitch=(0, 12),
    warp=0.008,
)

_MOTORBIKE = Figure(
    parts("""
exhaust/far_exhaust: limb .1 .1 .05, -.2 .13 .07, -.55 .04 .1; metal chrome; z -.1; tone .7; odds .5
back_wheel: ring 0 0 .29 .18; rubber rubber; on root -.5 0; jitter 0
back_wheel/back_rim: ring 0 0 .19 .155 + spokes 0 0 .17 4 .035; metal chrome; on back_wheel
  swing 40; jitter 0
back_wheel/back_hub: ellipse 0 0 .07; metal metal; on back_wheel
front_wheel: ring 0 0 .29 .2; rubber rubber; on root .56 0; jitter 0
front_wheel/front_rim: ring 0 0 .21 .175 + spokes 0 0 .19 4 .03; metal chrome; on front_wheel
  swing 40; jitter 0
front_wheel/front_disc: ellipse 0 0 .09; metal metal; on front_wheel
swing_arm: limb -.5 0 .06, -.1 .04 .09; dark metal
frame: bars .045, -.1 .05 -.28 -.26, -.28 -.26 .3 -.34, .3 -.34 .14 .08, -.1 .05 .16 .08; dark metal
engine: blob -.16 -.16, .12 -.2, .2 -.02, .16 .12, -.08 .15, -.18 .02; dark metal
engine/fins: bars .02, -.06 -.16 .12 -.17, -.06 -.12 .13 -.13, -.06 -.08 .14 -.09,
  -.05 -.04 .14 -.05
  metal chrome
engine/cover: ellipse .02 .06 .085; metal chrome
fork: limb 0 0 .05, -.09 -.2 .055, -.22 -.5 .06; metal chrome; on front_wheel; jitter .02
front_guard: blob -.26 -.16, -.14 -.29, .06 -.34, .2 -.27, .26 -.16, .16 -.22, .02 -.28, -.14 -.22
  body paint; on front_wheel
back_guard: blob -.3 -.08, -.26 -.24, -.08 -.35, .14 -.34, .2 -.24, 0 -.28, -.2 -.2; body paint
  on back_wheel
tail_light: ellipse -.32 -.16 .04 .03; red plastic; on back_wheel
seat: blob -.34 -.06, -.28 -.12, 0 -.03, .22 -.0, .24 .08, 0 .1, -.28 .06; dark leather
  on root -.22 -.37; jitter .1
side_panel: polygon -.26 -.27, -.06 -.28, -.1 -.12, -.24 -.14; body paint
tank: blob -.2 .06, -.18 -.06, -.04 -.13, .14 -.12, .22 -.02, .2 .08, 0 .11; body paint
  on root .14 -.4; jitter .1
tank/badge: ellipse .02 -.02 .07 .03; second paint; on tank; odds .7
headlight: ellipse 0 0 .09 .085; metal chrome; on fork -.16 -.42
headlight/lamp: ellipse .035 0 .05 .07; lamp glass; on fork -.16 -.42
windscreen: polygon -.06 -.04, .02 -.26, .05 -.24, .06 .0; glass glass; on fork -.18 -.48; odds .35
handlebar: limb .02 .0 .035, -.04 -.12 .035, -.2 -.13 .04; dark rubber; on fork -.22 -.48; swing 10
  z .14
mirror: bars .014, -.06 -.12 .0 -.22 + ellipse .01 -.25 .05 .035; metal chrome; on fork -.22 -.48
  z .16; odds .7
exhaust: limb .12 .12 .05, -.1 .15 .06, -.3 .13 .08, -.62 .06 .11; metal chrome; z .1
"""),
    keypoints("""
front_wheel_centre: fork 0 0
back_wheel_centre: swing_arm -.5 0
front_wheel_ground: front_wheel 0 .27
back_wheel_ground: back_wheel 0 .27
front_wheel_front: front_wheel .27 0
back_wheel_back: back_wheel -.27 0
engine: engine 0 0
seat: seat 0 0
tank: tank 0 -.1
headlight: headlight .04 0
tail_light: tail_light -.32 -.16
handlebar: handlebar -.18 -.13
exhaust_end: exhaust -.62 .06
"""),
    palette("""
body: red blue black green orange yellow silver white maroon
second: white yellow red black
metal: silver grey
dark: dark black
rubber: black dark
red: red
lamp: lamp
glass: sky glass
"""),
    yaw=(-40, 45),
    pitch=(0, 14),
    warp=0.008,
)

FIGURES = {"bicycle": (_BICYCLE,), "motorbike": (_MOTORBIKE,)}
