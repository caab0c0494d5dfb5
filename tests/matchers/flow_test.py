"""Flows: what they carry across, and how they are kept."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.features.feature_map import resize_bilinear
from anchornet_tf.matchers import flow as flow_module
from anchornet_tf.matchers import flow_values
from anchornet_tf.matchers.cells import flow_from_cells
from anchornet_tf.matchers.flow import Flow


def _constant(dy, dx, size=(6, 8), target_size=(6, 8), **options):
    return Flow(np.broadcast_to([dy, dx], (*size, 2)), target_size, **options)


def _random(size=(6, 8), target_size=(7, 9), seed=0):
    rng = np.random.default_rng(seed)
    return Flow(
        rng.normal(size=(*size, 2)),
        target_size,
        rng.random(size) > 0.3,
        rng.random(size),
    )


def test_defaults_are_valid_and_sure_everywhere():
    flow = _constant(1, 2)
    assert flow.shape == (6, 8)
    assert flow.displacement.dtype == flow.confidence.dtype == np.float32
    assert flow.valid.all() and (flow.confidence == 1).all()


@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 3), (0, 8, 2)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(height, width, 2\).*Received"):
        Flow(np.zeros(shape), (6, 8))


def test_masks_must_have_the_shape_of_the_source():
    with pytest.raises(ValueError, match="`valid` must have the shape .*Received"):
        _constant(0, 0, valid=np.ones((8, 6)))
    with pytest.raises(ValueError, match="`confidence` must have the shape .*Received"):
        _constant(0, 0, confidence=np.ones((6, 8, 1)))
    with pytest.raises(ValueError, match="`confidence` must be finite"):
        _constant(0, 0, confidence=np.full((6, 8), np.nan))


def test_missing_vectors_are_allowed_only_where_invalid():
    displacement = np.zeros((6, 8, 2))
    displacement[2, 3, 1] = np.nan
    with pytest.raises(ValueError, match="Received: 1 valid pixels"):
        Flow(displacement, (6, 8))
    valid = np.ones((6, 8), bool)
    valid[2, 3] = False
    assert np.isfinite(Flow(displacement, (6, 8), valid).displacement).all()


def test_points_are_x_y_and_move_by_dx_dy():
    moved = _constant(1, 2).transfer_points([[3, 4], [0, 0]])
    np.testing.assert_array_equal(moved, [[5, 5], [2, 1]])
    assert _constant(1, 2).transfer_points(np.zeros((0, 2))).shape == (0, 2)


def test_points_between_pixels_are_read_bilinearly_or_rounded():
    displacement = np.zeros((6, 8, 2))
    displacement[2, 3] = [0, 4]
    flow = Flow(displacement, (6, 8))
    np.testing.assert_allclose(flow.transfer_points([[3.25, 2.5]]), [[3.25 + 4 * 0.375, 2.5]])
    rounded = flow.transfer_points([[3.25, 2.49], [3.25, 2.5]], rounded=True)
    np.testing.assert_allclose(rounded, [[7.25, 2.49], [3.25, 2.5]], rtol=1e-6)


def test_invalid_neighbours_are_left_out_of_the_reading():
    displacement = np.zeros((6, 8, 2))
    displacement[:, :4] = [1, 1]
    displacement[:, 4:] = 100
    valid = np.zeros((6, 8), bool)
    valid[:, :4] = True
    moved = Flow(displacement, (6, 8), valid).transfer_points([[3.5, 2], [5, 2]])
    np.testing.assert_allclose(moved[0], [4.5, 3])
    assert np.isnan(moved[1]).all()


def test_points_off_the_image():
    flow = _constant(1, 2)
    points = [[7.4, 0], [7.6, 0], [-3, 2]]
    with pytest.raises(ValueError, match=r"width 8 and height 6. Received: \[\[7.6, 0.0\]"):
        flow.transfer_points(points)
    assert np.isnan(flow.transfer_points(points, outside="nan")).all(axis=1).tolist() == [0, 1, 1]
    nearest = flow.transfer_points(points, outside="nearest")
    np.testing.assert_allclose(nearest, np.add(points, [2, 1]), rtol=1e-6)
    with pytest.raises(ValueError, match="`outside` must be .*Received: outside='clip'"):
        flow.transfer_points(points, outside="clip")


@pytest.mark.parametrize("points", [[1, 2], [[1, 2, 3]], [[[1, 2]]]])
def test_points_of_another_shape_are_refused(points):
    with pytest.raises(ValueError, match=r"shape \(n, 2\).*Received"):
        _constant(0, 0).transfer_points(points)


def test_points_must_be_finite():
    with pytest.raises(ValueError, match="`points` must be finite"):
        _constant(0, 0).transfer_points([[np.nan, 1]])


def test_warp_by_whole_pixels_is_a_lookup():
    target = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    warped = _constant(1, 2).warp(target, fill=9)
    np.testing.assert_array_equal(warped[:-1, :-2], target[1:, 2:])
    assert (warped[-1] == 9).all() and (warped[:, -2:] == 9).all()
    assert warped.dtype == np.uint8


def test_warp_by_fractions_is_bilinear():
    target = np.random.default_rng(0).random((6, 8))
    warped = _constant(0.25, 0.5).warp(target)
    rows = 0.75 * target[:-1] + 0.25 * target[1:]
    expected = (rows[:, :-1] + rows[:, 1:]) / 2
    np.testing.assert_allclose(warped[:-1, :-1], expected, rtol=1e-5)


def test_warp_fills_invalid_pixels():
    valid = np.ones((6, 8), bool)
    valid[1, 1] = False
    warped = _constant(0, 0, valid=valid).warp(np.ones((6, 8, 1)), fill=5)
    assert warped[1, 1, 0] == 5 and (warped != 1).sum() == 1


def test_masks_and_labels_take_the_nearest_pixel():
    mask = np.zeros((6, 8), bool)
    mask[2, 3] = True
    moved = _constant(0.4, -1.4).transfer_mask(mask)
    assert moved.dtype == bool
    assert np.argwhere(moved).tolist() == [[2, 4]]
    labels = np.arange(48).reshape(6, 8)
    moved = _constant(2, 0).transfer_mask(labels)
    np.testing.assert_array_equal(moved[:4], labels[2:])
    assert (moved[4:] == 0).all()
    stack = np.stack([mask, ~mask], axis=-1)
    assert _constant(0, 0).transfer_mask(stack).shape == (6, 8, 2)


@pytest.mark.parametrize("method", ["warp", "transfer_mask"])
def test_arrays_must_have_the_targets_size(method):
    with pytest.raises(ValueError, match=r"= \(7, 9\).*Received: .*shape=\(6, 8\)"):
        getattr(_random(), method)(np.zeros((6, 8)))


def test_lands_inside_means_on_a_pixel_and_valid():
    inside = _constant(0, 1.6, valid=np.tri(6, 8, dtype=bool)).lands_inside()
    expected = np.tri(6, 8, dtype=bool)
    expected[:, 6:] = False
    np.testing.assert_array_equal(inside, expected)


def test_from_grid_interpolates_between_cells_and_keeps_to_the_target():
    rng = np.random.default_rng(1)
    grid = rng.normal(scale=20, size=(4, 5, 2))
    flow = Flow.from_grid(grid, (40, 60), (30, 50), confidence=rng.random((4, 5)))
    positions = flow.target_positions()
    assert (positions >= -1e-4).all() and (positions <= [29 + 1e-4, 49 + 1e-4]).all()
    gentle = Flow.from_grid(grid / 100, (41, 60), (45, 70))
    np.testing.assert_allclose(gentle.displacement[15, 30], _read(grid / 100, 15, 30), atol=1e-5)


def _read(grid, row, column):
    """Bilinear reading of a (4, 5) grid on a (41, 60) image, far from its border."""
    y, x = (row + 0.5) * 4 / 41 - 0.5, (column + 0.5) * 5 / 60 - 0.5
    i, j = int(y), int(x)
    u, v = y - i, x - j
    upper = (1 - v) * grid[i, j] + v * grid[i, j + 1]
    lower = (1 - v) * grid[i + 1, j] + v * grid[i + 1, j + 1]
    return (1 - u) * upper + u * lower


def test_from_grid_nearest_copies_the_cell():
    grid = np.arange(8.0).reshape(2, 2, 2) / 10
    valid = np.array([[True, False], [True, True]])
    flow = Flow.from_grid(grid, (4, 6), (50, 50), valid, interpolation="nearest")
    np.testing.assert_allclose(flow.displacement[1, 2], grid[0, 0])
    np.testing.assert_allclose(flow.displacement[2, 3], grid[1, 1], rtol=1e-6)
    np.testing.assert_array_equal(flow.valid[:2], [[True] * 3 + [False] * 3] * 2)
    with pytest.raises(ValueError, match="`interpolation` must be .*Received"):
        Flow.from_grid(grid, (4, 6), (50, 50), interpolation="cubic")


def test_a_grid_of_pixel_resolution_is_kept_as_it_is():
    displacement = np.random.default_rng(0).random((6, 8, 2))
    flow = Flow.from_grid(displacement, (6, 8), (20, 20))
    np.testing.assert_allclose(flow.displacement, displacement, rtol=1e-6)


def test_save_and_load(tmp_path):
    flow = _random()
    path = tmp_path / "new" / "flow.npz"
    flow.save(path)
    again = Flow.load(path)
    for name in ("displacement", "valid", "confidence"):
        np.testing.assert_array_equal(getattr(again, name), getattr(flow, name))
    assert again.target_size == flow.target_size
    assert [entry.name for entry in path.parent.iterdir()] == ["flow.npz"]


def test_files_that_are_no_flow_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        Flow.load(tmp_path / "absent.npz")
    np.savez(tmp_path / "other.npz", displacement=np.zeros((2, 2, 2)))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "empty.npz").write_text("")
    for name in ("other.npz", "array.npy", "text.npz", "empty.npz"):
        with pytest.raises(ValueError, match=f"A flow is a .npz archive.*Received: .*{name}"):
            Flow.load(tmp_path / name)


def _spread(displacement, size, target_size, valid, confidence, interpolation):
    """All pixels of a grid at once, as displacement, validity and confidence."""
    grid = displacement.shape[:2]
    rows, columns = (
        (2 * np.arange(side) + 1) * cells // (2 * side)
        for side, cells in zip(size, grid, strict=True)
    )
    if interpolation == "nearest":
        full, sure = displacement[rows][:, columns], confidence[rows][:, columns]
    else:
        full = resize_bilinear(displacement, size)
        sure = resize_bilinear(confidence[..., np.newaxis], size)[..., 0]
    origin = np.stack(np.mgrid[: size[0], : size[1]], axis=-1).astype(np.float32)
    last = np.subtract(target_size, 1).astype(np.float32)
    return np.clip(full, -origin, last - origin), valid[rows][:, columns], sure


@pytest.fixture(params=[2**19, 50])
def pixels_at_once(request, monkeypatch):
    """Flows of a few strips as well as those of a single one."""
    monkeypatch.setattr(flow_values, "PIXELS_AT_ONCE", request.param)


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
@pytest.mark.parametrize("grid", [(4, 5), (30, 40), (31, 40), (60, 50), (1, 1)])
def test_a_flow_of_cells_is_that_of_its_pixels(grid, interpolation, pixels_at_once):
    rng = np.random.default_rng(0)
    size, target_size = (31, 40), (25, 50)
    displacement = rng.normal(scale=9, size=(*grid, 2)).astype(np.float32)
    valid, confidence = rng.random(grid) > 0.3, rng.random(grid).astype(np.float32)
    flow = Flow.from_grid(displacement, size, target_size, valid, confidence, interpolation)
    expected = _spread(displacement, size, target_size, valid, confidence, interpolation)
    dense = Flow(expected[0], target_size, *expected[1:])

    points = rng.uniform(-0.5, [39.4, 30.4], (80, 2))
    for rounded in (False, True):
        np.testing.assert_allclose(
            flow.transfer_points(points, rounded), dense.transfer_points(points, rounded), atol=1e-5
        )
    image = rng.random((*target_size, 3))
    np.testing.assert_allclose(flow.warp(image, 2), dense.warp(image, 2), atol=1e-5)
    mask = rng.random(target_size) > 0.5
    np.testing.assert_array_equal(flow.transfer_mask(mask), dense.transfer_mask(mask))
    np.testing.assert_array_equal(flow.lands_inside(), dense.lands_inside())
    np.testing.assert_allclose(flow.target_positions(), dense.target_positions(), atol=1e-5)
    for name in ("displacement", "valid", "confidence"):
        values = getattr(flow, name)
        np.testing.assert_allclose(values, getattr(dense, name), rtol=1e-5, atol=1e-6)
        assert values.dtype == getattr(dense, name).dtype and getattr(flow, name) is values


def test_points_of_a_huge_flow_need_no_pixels():
    rng = np.random.default_rng(0)
    cells = rng.normal(scale=50, size=(28, 28, 2))
    flow = Flow.from_grid(cells, (60000, 80000), (50000, 90000))
    moved = flow.transfer_points([[40000.5, 30000], [0, 0], [79999, 59999]])
    assert np.isfinite(moved).all() and np.abs(moved[0] - [40000.5, 30000]).max() < 300


@pytest.mark.parametrize("most", [0, 2**22], ids=["large", "ordinary"])
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
def test_cells_of_large_flows_are_saved_as_cells(most, tmp_path, interpolation, monkeypatch):
    rng = np.random.default_rng(0)
    flow = Flow.from_grid(
        rng.normal(scale=9, size=(4, 5, 2)),
        (600, 800),
        (500, 900),
        rng.random((4, 5)) > 0.3,
        rng.random((4, 5)),
        interpolation,
    )
    monkeypatch.setattr(flow_module, "_MOST_PIXELS_WRITTEN", most)
    flow.save(tmp_path / "flow.npz")
    with np.load(tmp_path / "flow.npz") as archive:
        assert ("displacement" in archive) == bool(most)
    assert most or (tmp_path / "flow.npz").stat().st_size < 5000
    again = Flow.load(tmp_path / "flow.npz")
    assert again.shape == (600, 800) and again.target_size == (500, 900)
    for name in ("displacement", "valid", "confidence"):
        np.testing.assert_array_equal(getattr(again, name), getattr(flow, name))


def test_files_of_the_first_version_are_read(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "displacement": rng.normal(size=(6, 8, 2)).astype(np.float32),
        "target_size": np.array([7, 9]),
        "valid": rng.random((6, 8)) > 0.3,
        "confidence": rng.random((6, 8)).astype(np.float32),
    }
    np.savez_compressed(tmp_path / "flow.npz", **arrays)
    flow = Flow.load(tmp_path / "flow.npz")
    for name in ("displacement", "valid", "confidence"):
        np.testing.assert_array_equal(getattr(flow, name), arrays[name])
    assert flow.target_size == (7, 9)


def test_a_resized_flow_of_cells_is_the_flow_of_resized_images():
    positions = np.random.default_rng(0).uniform(0, 5, (4, 5, 2))
    small = flow_from_cells(positions, (6, 6), (30, 40), (20, 50))
    large = flow_from_cells(positions, (6, 6), (90, 121), (67, 100))
    resized = small.resized((90, 121), (67, 100))
    np.testing.assert_allclose(resized.displacement, large.displacement, atol=1e-4)
    assert resized.shape == (90, 121) and resized.target_size == (67, 100)
    assert small.resized((30, 40), (20, 50)) is small


def test_a_resized_dense_flow_leads_to_the_same_places(tmp_path):
    valid = np.ones((6, 8), bool)
    valid[:, 4:] = False
    flow = _constant(1, 2, valid=valid, confidence=np.arange(48.0).reshape(6, 8))
    resized = flow.resized((12, 24), (18, 16))  # Twice, three times; three times, twice.
    # Pixel (2, 3) of the source goes to (3, 5): from the middle of its block to that of the other.
    np.testing.assert_allclose(resized.transfer_points([[10, 4.5]]), [[10.5, 10]])
    np.testing.assert_array_equal(resized.valid, np.kron(valid, np.ones((2, 3), bool)))
    np.testing.assert_array_equal(resized.confidence[::2, ::3], flow.confidence)
    # Vectors that leave the target still do.
    outside = _constant(0, 20).resized((12, 16), (12, 16))
    assert not outside.lands_inside().any()
    outside.save(tmp_path / "flow.npz")
    assert not Flow.load(tmp_path / "flow.npz").lands_inside().any()


def test_a_target_of_one_row_can_be_warped():
    flow = Flow(np.zeros((1, 5, 2)), (1, 4))
    np.testing.assert_array_equal(flow.warp(np.arange(4.0)[None], -1), [[0, 1, 2, 3, -1]])


def test_a_flow_is_described_by_its_sizes():
    assert repr(_constant(0, 0)) == "Flow(shape=(6, 8), target_size=(6, 8))"


def test_no_points_give_no_points():
    assert _constant(0, 0).transfer_points([]).shape == (0, 2)


def test_a_path_can_be_warped(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    PIL.Image.fromarray(image).save(tmp_path / "b.png")
    flow = _constant(0, 1)
    np.testing.assert_array_equal(flow.warp(tmp_path / "b.png"), flow.warp(image))


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="the file of a flow. Received: .*none.npz"):
        Flow.load(tmp_path / "none.npz")
