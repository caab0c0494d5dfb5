"""What it costs to make the flows of a set of images agree, and how that grows with the set."""

import numpy as np

from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks.common_frame import CommonFrame
from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.flow_web.optimization import make_consistent
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
from anchornet_tf.tasks.flow_web.web import Web
from anchornet_tf.tasks.start_flows import matched_flows
from anchornet_tf.utils.image_io import read_scaled
from benchmarks.pictures import drawn_image
from benchmarks.results import Curve, Line, Results
from benchmarks.settings import Settings
from benchmarks.timing import MATMUL, in_turn

_DSP = "matching the pairs by SIFT + DSP"
# All iterations are done, however little they gain: what is timed does not depend on the images.
_NEVER_DONE = -10.0


def whole_sets(settings: Settings) -> Results:
    """Ten iterations on 6 and on 12 images, against matching their pairs."""
    few, many = settings.choose((6, 12), (3, 4))
    size, iterations = settings.choose(((108, 150), 10), ((12, 16), 2))
    frames = {count: _frame(count, size) for count in (few, many)}
    webs = {count: _start(frame) for count, frame in frames.items()}
    dsp = Matcher("sift", "dsp", confidence=None)
    works = {
        **{str(count): _work(web, iterations) for count, web in webs.items()},
        _DSP: lambda: list(_matched(frames[few], dsp)),
    }
    timed = in_turn(works, settings.repeats)
    shape = f"images of {size[0]}x{size[1]}"
    return Results(
        (
            timed.row(
                str(few),
                f"FlowWeb, {iterations} iterations, {few} {shape}",
                reference="Octave: 813 s, about 9,000 mm",
            ),
            timed.row(str(few), f"the same, {few} images", per=_DSP),
            timed.row(str(many), f"the same, {many} images"),
        )
    )


def growth_images(settings: Settings) -> Results:
    """One iteration on sets of several sizes: all linked to all, and to a few."""
    counts = settings.choose((6, 12, 24), (5, 6))
    size, linked = settings.choose(((54, 75), 8), ((12, 16), 3))
    lines = {"all linked": [], f"{linked} neighbours": []}
    for count in counts:
        web = _start(_frame(count, size))
        works = {
            "all linked": _work(web, 1),
            f"{linked} neighbours": _work(_thinned(web, linked), 1),
        }
        timed = in_turn(works, settings.repeats)
        for name, samples in lines.items():
            samples.append(timed.ratios(name))
    title = f"FlowWeb, one iteration, images of {size[0]}x{size[1]}"
    drawn = tuple(Line(name, tuple(counts), tuple(found)) for name, found in lines.items())
    return Results(curves=(Curve(title, "images", MATMUL, drawn),))


def _work(web: Web, iterations: int):
    settings = FlowWebSettings(iterations=iterations, least_gain=_NEVER_DONE)
    return lambda: make_consistent(web, settings)


def _frame(count: int, size: tuple[int, int]) -> CommonFrame:
    images = [read_scaled(drawn_image(index, size, "car")) for index in range(count)]
    return CommonFrame.of(images, max(size))


def _matched(frame: CommonFrame, matcher: Matcher):
    return matched_flows(frame, matcher, Links.complete(len(frame)), 0, progress=False)


def _start(frame: CommonFrame) -> Web:
    """Returns cheap flows to start from."""
    matcher = Matcher("sift", "hough", confidence=None, step=4, grid_size=14)
    return Web(frame.size, Links.complete(len(frame)), list(_matched(frame, matcher)))


def _thinned(web: Web, count: int) -> Web:
    """Returns a web in which each image is linked to those with the nearest numbers alone."""
    numbers = np.arange(len(web))
    links = Links.nearest(-np.abs(numbers[:, np.newaxis] - numbers), count)
    flows = [flow[:, own] for flow, own in zip(web.flows, links.neighbors, strict=True)]
    return Web(web.size, links, flows)
