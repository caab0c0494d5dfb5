"""Tables of parts: bottle, potted plant, monitor."""

from anchornet_tf.datasets.parts_world.figure import Figure
from anchornet_tf.datasets.parts_world.table_text import keypoints, palette, parts


def _bottle(body: str, neck: str, cap: str, label: str, shoulder, base) -> Figure:
    """Returns a bottle; `shoulder` and `base` are (half width, y)."""
    return Figure(
        parts(f"""
neck: {neck}; body liquid
body: {body}; body liquid
body/fill: {body}; fill liquid; odds .5; tone .9
label: rectangle {label}; label cloth; jitter .1; odds .85
label/emblem: ellipse 0 .18 .09 .07; second plain; on label; odds .8
label/print: bars .02, -.1 .04 .1 .04, -.12 .31 .12 .31, -.08 .35 .08 .35; second plain; on label
body/gleam: limb -.12 -.1 .02, -.125 .1 .035, -.12 .5 .02; gleam plain; odds .8
cap: {cap}; cap plastic
"""),
        keypoints(f"""
cap_top: cap 0 -.68
neck_base: body 0 {shoulder[1] - 0.07}
left_shoulder: body {shoulder[0]} {shoulder[1]}
right_shoulder: body -{shoulder[0]} {shoulder[1]}
left_base: body {base[0]} {base[1]}
right_base: body -{base[0]} {base[1]}
label_centre: label 0 .18
"""),
        palette("""
body: green brown olive sky teal maroon lime glass white
fill: maroon brown orange lime yellow green
label: white cream yellow red navy
second: red navy dark green maroon
cap: red white blue dark yellow silver
gleam: white
"""),
        yaw=(-20, 20),
        pitch=(0, 8),
        roll=22,
        warp=0.008,
        stretch=0.1,
    )


_WINE = _bottle(
    "blob -.18 -.08, -.12 -.22, 0 -.24, .12 -.22, .18 -.08, .185 .3, .18 .62, 0 .66, -.18 .62,"
    " -.185 .3",
    "limb 0 -.62 .12, 0 -.4 .12, 0 -.22 .17, 0 -.14 .3",
    "rectangle -.07 -.7 .07 -.5",
    "-.183 0 .183 .4",
    (0.15, -0.16),
    (0.17, 0.63),
)
_FLASK = _bottle(
    "blob -.2 -.16, -.14 -.3, 0 -.33, .14 -.3, .2 -.16, .18 .04, .2 .24, .19 .62, 0 .65, -.19 .62,"
    " -.2 .24, -.18 .04",
    "limb 0 -.58 .13, 0 -.46 .14, 0 -.3 .22",
    "polygon -.085 -.7, .085 -.7, .09 -.56, -.09 -.56",
    "-.195 .02 .195 .36",
    (0.17, -0.24),
    (0.18, 0.63),
)

_BROAD_LEAF = "blob 0 0, .07 -.12, .1 -.3, .06 -.46, 0 -.58, -.06 -.46, -.1 -.3, -.07 -.12"
_BLADE = "blob 0 0, .05 -.3, .055 -.6, .02 -.9, 0 -.98, -.03 -.86, -.05 -.5, -.04 -.2"
_POT = """
pot: polygon -.24 .02, .24 .02, .17 .44, -.17 .44; pot clay; jitter .1
pot/soil: ellipse 0 0 .22 .05; soil stone; top .0; odds .5
pot/rim: polygon -.28 -.04, .28 -.04, .27 .06, -.27 .06; pot clay; on pot; tone 1.1
saucer: blob -.24 .42, .24 .42, .2 .48, -.2 .48; pot clay; on pot; odds .5
"""
_POT_POINTS = """
left_rim: rim .275 0
right_rim: rim -.275 0
left_base: pot .175 .39
right_base: pot -.175 .39
stem_base: rim 0 -.03
top_leaf_tip: leaf0 0 {0}
left_leaf_tip: leaf{2} 0 {0}
right_leaf_tip: leaf{1} 0 {0}
"""
_POT_PALETTE = palette("""
pot: terracotta white blue brown grey teal dark
soil: brown dark
leaf: green olive lime green
vein: lime olive green
flower: red pink yellow purple white orange
""")


def _plant(leaf: str, tip: float, turns: tuple[float, ...], extra: str = "") -> Figure:
    """Returns a potted plant; the last two leaves are the right and the left one."""
    leaves = [
        f"leaves/leaf{i}: {leaf}; leaf leaf; on root 0 -.02; turn {turn}; swing 9; jitter .14"
        f"; tone {1.08 - 0.06 * (i % 5)}\n"
        f"leaves/vein{i}: bars .012, 0 -.05 0 {0.85 * tip}; vein plain; on leaf{i}"
        for i, turn in enumerate(turns)
    ]
    last = len(turns)
    return Figure(
        parts(*leaves, extra, _POT),
        keypoints(_POT_POINTS.format(tip, last - 2, last - 1)),
        _POT_PALETTE,
        yaw=(-30, 30),
        pitch=(2, 18),
        warp=0.02,
        stretch=0.12,
    )


_FLOWERS = "\n".join(
    f"flower/stalk{i}: limb 0 0 .025, {x / 2} {y / 2} .02, {x} {y} .02; leaf leaf; on root 0 -.02\n"
    f"flower/flower{i}: blob 0 -.09, .03 -.03, .09 -.02, .04 .03, .06 .09, 0 .05, -.06 .09,"
    f" -.04 .03, -.09 -.02, -.03 -.03; flower leaf; on stalk{i} {x} {y}; swing 40; odds .9\n"
    f"flower/heart{i}: ellipse 0 0 .03; soil plain; on flower{i}"
    for i, (x, y) in enumerate(((0.05, -0.68), (-0.2, -0.55), (0.26, -0.5)))
)

_SCREEN_POINTS = """
left_top: bezel .5 -.3
right_top: bezel -.5 -.3
left_bottom: bezel .5 .3
right_bottom: bezel -.5 .3
screen_centre: screen 0 0
"""
_SCREEN_PALETTE = palette("""
bezel: black dark silver grey white
coat: blue night sky green teal purple
second: white yellow orange red black sky
gleam: white
lamp: lime red
""")
_MONITOR = Figure(
    parts("""
foot: ellipse 0 0 .26 .15; bezel plastic; top .52
stand: polygon -.06 .26, .06 .26, .09 .53, -.09 .53; bezel plastic; z -.03
bezel: rectangle -.52 -.32 .52 .32; bezel plastic; z .03; thick .07; jitter .06
screen: rectangle -.47 -.27 .47 .26; coat glass; on bezel; z .031
screen/gleam: polygon -.3 -.27, -.1 -.27, -.3 .26, -.5 .26; coat glass; on bezel; z .032; tone 1.2
  odds .3
button: ellipse .4 .29 .012; lamp plain; on bezel; z .032
"""),
    keypoints(_SCREEN_POINTS, "left_foot: foot .25 .52 0\nright_foot: foot -.25 .52 0"),
    _SCREEN_PALETTE,
    patterns=("plain", "patches", "patches"),
    yaw=(-42, 42),
    pitch=(0, 16),
    warp=0.004,
    stretch=0.1,
)
_TELEVISION = Figure(
    parts("""
antenna: limb 0 0 .02, -.2 -.34 .012 + limb 0 0 .02, .22 -.3 .012; bezel metal; on root 0 -.36
  z -.2; odds .6
foot: rectangle -.42 .38 -.34 .46 + rectangle .34 .38 .42 .46; bezel plastic
bezel: polygon -.52 -.38, .52 -.38, .54 .4, -.54 .4; bezel plastic; z .1; thick .4; jitter .06
screen: blob -.44 -.3, 0 -.33, .3 -.3, .33 0, .3 .3, 0 .33, -.44 .3, -.46 0; coat glass; on bezel
  z .101
button: ellipse .42 -.2 .045 + ellipse .42 -.06 .045 + ellipse .42 .1 .02 + ellipse .42 .18 .02
  lamp metal; on bezel; z .102
"""),
    keypoints(
        _SCREEN_POINTS.replace(".3\n", ".38\n"),
        "left_foot: foot .38 .45\nright_foot: foot -.38 .45",
    ),
    {**_SCREEN_PALETTE, "lamp": ("silver", "grey", "tan")},
    patterns=("plain", "patches", "patches"),
    yaw=(-42, 42),
    pitch=(0, 16),
    warp=0.004,
    stretch=0.1,
)

FIGURES = {
    "bottle": (_WINE, _FLASK),
    "pottedplant": (
        _plant(_BROAD_LEAF, -0.57, (4, -24, 28, -46, 50, 12, -12, -74, 76), _FLOWERS),
        _plant(_BROAD_LEAF, -0.57, (0, -30, 30, -52, 54, 14, -14, -80, 82)),
        _plant(_BLADE, -0.96, (2, -12, 14, -24, 24, 7, -6, -38, 38)),
    ),
    "tvmonitor": (_MONITOR, _TELEVISION),
}
