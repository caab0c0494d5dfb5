"""Pictures are drawn without a window, from the right numbers."""

import numpy as np
import PIL.Image
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from anchornet_tf import viz
from anchornet_tf.datasets import parts_world
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
    points = viz.choose_points(flow, 3).astype(int)  # Of fields of 10 x 10 pixels.
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


def _cut_out(class_name, number, margin=60):
    """A drawn figure alone on white."""
    example = parts_world.draw(class_name, number)
    figure = np.where(example.part_map[..., np.newaxis] > 0, example.image, 255).astype(np.uint8)
    return np.pad(figure, [(margin, margin), (margin, margin), (0, 0)], constant_values=255)


def _near_the_figure(image, points, reach=6):
    """Whether each point (x, y) has something other than white around it."""
    shown = (image < 250).any(axis=-1)
    found = []
    for x, y in np.rint(points).astype(int):
        rows, columns = slice(max(0, y - reach), y + reach + 1), slice(max(0, x - reach), x + reach)
        found.append(shown[rows, columns].any())
    return np.array(found)


def test_lines_of_cut_outs_stay_on_the_figures():
    source, target = _cut_out("bicycle", 1), _cut_out("bicycle", 2)
    # Sure of the background, and of it alone: what nearest neighbours of white on white are.
    confidence = 1.0 - 0.9 * (source < 250).any(axis=-1)
    flow = Flow(np.zeros((*source.shape[:2], 2)), target.shape[:2], confidence=confidence)
    points = viz.choose_points(flow, 60, source, target)
    assert 40 <= len(points) <= 60
    assert _near_the_figure(source, points).all()
    assert _near_the_figure(target, flow.transfer_points(points), reach=25).all()
    # Spread: the points reach nearly as far as the figure.
    rows, columns = np.nonzero((source < 250).any(axis=-1))
    for values, places in ((points[:, 0], columns), (points[:, 1], rows)):
        assert np.ptp(values) > 0.8 * np.ptp(places)
    # Without the images, only confidence counts.
    assert _near_the_figure(source, viz.choose_points(flow, 60)).mean() < 0.5
    segments = _segments(viz.plot_summary(source, target, flow).axes[0])
    assert _near_the_figure(source, segments[:, 0]).all() and len(segments) >= 40


def test_flat_images_have_no_lines(tmp_path):
    flat = np.full((20, 30, 3), 200, np.uint8)
    noisy = flat + np.random.default_rng(0).integers(-1, 2, flat.shape).astype(np.uint8)
    flow = Flow(np.zeros((20, 30, 2)), (20, 30))
    for pair in ((flat, flat), (noisy, noisy), (flat, _image(20, 30)), (_image(20, 30), flat)):
        assert len(viz.choose_points(flow, 10, *pair)) == 0
        viz.plot_summary(*pair, flow).savefig(tmp_path / "flat.png")
    assert len(viz.choose_points(flow, 10, _image(20, 30), _image(20, 30))) == 10
    tiny = Flow(np.zeros((2, 2, 2)), (2, 2))
    viz.plot_matches(_image(2, 2), _image(2, 2), tiny)


def test_huge_images_are_drawn_smaller():
    source = np.kron(_image(40, 50), np.ones((50, 50, 1), np.uint8))  # 2,000 x 2,500
    flow = Flow.from_grid(np.full((4, 5, 2), [50.0, 100.0]), (2000, 2500), (2000, 2500))
    figure = viz.plot_summary(source, source, flow, [[500, 1000]])
    canvas = figure.axes[0].images[0].get_array()
    assert canvas.shape[0] == 960 and 2400 <= canvas.shape[1] < 2500
    shift = canvas.shape[1] - 1200
    expected = [[[240, 480], [288 + shift, 504]]]
    np.testing.assert_allclose(_segments(figure.axes[0]), expected, atol=0.5)
    for panel in figure.axes[1:4]:
        assert panel.images[0].get_array().shape[:2] == (960, 1200)
    points = viz.choose_points(flow, 20, source, source)
    assert len(points) == 20 and (points.max(axis=0) > [1200, 960]).all()
    assert (viz.choose_points(flow, 20).max(axis=0) > [1200, 960]).all()
    responses = viz.plot_responses(source, np.ones((4, 5, 1)))
    assert responses.axes[0].images[0].get_array().shape == (960, 1200, 3)


def test_images_over_the_limit_are_refused(tmp_path):
    PIL.Image.fromarray(_image(20, 30)).save(tmp_path / "a.png")
    pair = (tmp_path / "a.png", _image(24, 40))
    for plot in (viz.plot_matches, viz.plot_warp, viz.plot_summary):
        plot(*pair, _flow(), max_pixels=600)
        with pytest.raises(ValueError, match="at most 599 pixels.*Received: the image"):
            plot(*pair, _flow(), max_pixels=599)


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


@pytest.mark.parametrize("size", [(20, 30), (30, 20)])
def test_the_bar_beside_the_confidence_is_as_high_as_it(size, tmp_path):
    flow = Flow(np.zeros((*size, 2)), (24, 40), confidence=np.random.default_rng(0).random(size))
    for plot in (viz.plot_warp, viz.plot_summary):
        figure = plot(_image(*size), _image(24, 40), flow)
        figure.savefig(tmp_path / "drawn.png")
        (panel,) = (axes for axes in figure.axes if axes.get_title() == "confidence")
        picture, (bar,) = panel.get_window_extent(), panel.child_axes
        bar = bar.get_window_extent()
        np.testing.assert_allclose([bar.y0, bar.y1], [picture.y0, picture.y1], atol=1)
        assert picture.x1 < bar.x0 < bar.x1 <= figure.bbox.x1


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
