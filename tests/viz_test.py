"""Pictures are drawn without a window, from the right numbers."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from anchornet_tf import viz
from anchornet_tf.matchers.flow import Flow


def _image(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def _flow(valid=None):
    displacement = np.broadcast_to([1.0, 2.0], (20, 30, 2))
    confidence = np.random.default_rng(0).random((20, 30))
    return Flow(displacement, (24, 40), valid, confidence)


def _segments(axes):
    [lines] = [artist for artist in axes.collections if isinstance(artist, LineCollection)]
    return np.array(lines.get_segments())


def test_lines_lead_from_points_to_their_matches():
    points = [[3, 4], [10, 15]]
    figure = viz.plot_matches(_image(20, 30), _image(24, 40), _flow(), points)
    assert isinstance(figure, Figure)
    [axes] = figure.axes
    shift = 30 + 1  # Width of the source and the gap.
    expected = [[[3, 4], [5 + shift, 5]], [[10, 15], [12 + shift, 16]]]
    np.testing.assert_allclose(_segments(axes), expected)


def test_points_without_a_match_have_no_line():
    valid = np.ones((20, 30), bool)
    valid[4, 3] = False
    figure = viz.plot_matches(_image(20, 30), _image(24, 40), _flow(valid), [[3, 4], [10, 15]])
    assert len(_segments(figure.axes[0])) == 1
    nothing = _flow(np.zeros((20, 30), bool))
    viz.plot_summary(_image(20, 30), _image(24, 40), nothing).savefig("/dev/null", format="png")


def test_chosen_points_are_sure_spread_and_valid():
    valid = np.ones((20, 30), bool)
    valid[:10, :10] = False
    flow = _flow(valid)
    points = viz.choose_points(flow, 3).astype(int)  # Of fields of 10 pixels a side.
    assert len(points) == 3
    peaks = {}
    for row in (0, 10):
        for column in (0, 10, 20):
            field = np.where(valid, flow.confidence, 0)[row : row + 10, column : column + 10]
            peaks[row, column] = field.max()
    chosen = {(y // 10 * 10, x // 10 * 10): flow.confidence[y, x] for x, y in points}
    assert chosen == dict(sorted(peaks.items(), key=lambda item: -item[1])[:3])
    assert len(viz.choose_points(flow, 10**6)) == valid.sum()
    assert len(viz.choose_points(_flow(np.zeros((20, 30), bool)), 5)) == 0
    with pytest.raises(ValueError, match="`num_points` must be positive. Received: num_points=0"):
        viz.choose_points(flow, 0)


def test_warp_shows_four_panels_that_can_be_saved(tmp_path):
    target = _image(24, 40)
    figure = viz.plot_warp(_image(20, 30), target, _flow())
    titles = [axes.get_title() for axes in figure.axes[:4]]
    assert titles == ["source", "target", "target warped onto source", "confidence"]
    np.testing.assert_array_equal(figure.axes[2].images[0].get_array(), _flow().warp(target, 255))
    figure.savefig(tmp_path / "warp.png")
    assert (tmp_path / "warp.png").stat().st_size > 1000


def test_summary_has_everything():
    figure = viz.plot_summary(_image(20, 30), _image(24, 40), _flow(), [[3, 4]])
    titles = {axes.get_title() for axes in figure.axes}
    assert {"target warped onto source", "the same over the source", "confidence"} <= titles


def test_images_must_have_the_flows_size():
    with pytest.raises(ValueError, match=r"`target_image` .*= \(24, 40\). Received: \(20, 30\)"):
        viz.plot_matches(_image(20, 30), _image(20, 30), _flow())
    with pytest.raises(ValueError, match=r"`source_image` .*= \(20, 30\). Received: \(24, 40\)"):
        viz.plot_warp(_image(24, 40), _image(24, 40), _flow())


def test_responses_show_the_highest_peaks_first():
    maps = np.zeros((5, 6, 4))
    maps[1, 2, 3], maps[4, 5, 1] = 9, 7
    figure = viz.plot_responses(_image(50, 60), maps, top=2, columns=1, titles=list("abcd"))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["d  (max 9.00)", "b  (max 7.00)"]
    [peak] = figure.axes[0].lines
    assert 20 <= peak.get_xdata()[0] < 30 and 10 <= peak.get_ydata()[0] < 20
    assert figure.axes[0].images[1].get_array().shape == (50, 60)


def test_more_maps_asked_for_than_there_are():
    figure = viz.plot_responses(_image(50, 60), np.ones((5, 6, 3)), top=8, columns=2)
    shown = [axes for axes in figure.axes if axes.images]
    assert len(shown) == 3


@pytest.mark.parametrize(
    "maps, options, message",
    [
        (np.zeros((5, 6)), {}, r"\(height, width, k\). Received"),
        (np.full((5, 6, 2), np.nan), {}, "must be a finite array"),
        (np.zeros((5, 6, 2)), {"top": 0}, "must be positive. Received: top=0"),
        (np.zeros((5, 6, 2)), {"columns": 0}, "must be positive. Received"),
        (np.zeros((5, 6, 2)), {"titles": ["a"]}, "each of the 2 maps. Received: 1 titles"),
    ],
)
def test_bad_responses_are_refused(maps, options, message):
    with pytest.raises(ValueError, match=message):
        viz.plot_responses(_image(50, 60), maps, **options)
