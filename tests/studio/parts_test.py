"""Parts of the studio by themselves: binary answers, caches, the worker, directions, the engine."""

import json
import struct
import threading

import numpy as np
import pytest

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.studio import directions, flow_answer, packing
from anchornet_tf.studio.byte_cache import ByteCache
from anchornet_tf.studio.refusals import Refusal
from anchornet_tf.studio.worker import LATER, Worker
from anchornet_tf.utils.image_io import ScaledImage
from tests.studio.conftest import color_engine
from tests.tasks import colored


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("name", ["", "a", "ab", "ä" * 7, "x" * 100])
def test_packing_round_trip(dtype, name):
    data = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    content = packing.pack({"rows": 2, "name": name}, data)
    header, found = packing.unpack(content)
    assert header == {"rows": 2, "name": name, "dtype": dtype}
    np.testing.assert_array_equal(found.reshape(2, 3, 4), data)
    # As the page reads it: little-endian, and where typed arrays can begin.
    (length,) = struct.unpack("<I", content[:4])
    assert (4 + length) % 8 == 0
    assert json.loads(content[4 : 4 + length]) == header
    assert content[4 + length :] == data.astype(data.dtype.newbyteorder("<")).tobytes()


def test_packing_turns_big_endian_numbers():
    data = np.array([1.5, -2.25], ">f4")
    assert packing.pack({}, data)[-8:] == struct.pack("<ff", 1.5, -2.25)


def test_unpack_refuses_too_little():
    with pytest.raises(ValueError, match="Received: 2 bytes"):
        packing.unpack(b"ab")


def test_quantized():
    values = np.array([-1.0, 0.5, 0.25])
    small, scale = packing.quantized(values, np.int8)
    assert small.dtype == np.int8 and np.abs(small).max() == 127
    np.testing.assert_allclose(small * scale, values, atol=scale / 2)
    assert packing.quantized(np.zeros(3), np.uint8)[0].tolist() == [0, 0, 0]


def test_cache_is_bounded_and_forgets_the_oldest():
    cache = ByteCache(100)
    for number in range(10):
        cache.put(number, f"value {number}", 30)
    assert len(cache) == 3 and cache.num_bytes == 90
    assert cache.get(0) is None and cache.get(7) == "value 7"
    cache.put(10, "new", 30)  # 8 was used least recently.
    assert cache.get(8) is None and cache.get(7) == "value 7"
    cache.put(7, "smaller", 1)
    assert cache.num_bytes == 61
    cache.put("huge", "x", 101)
    assert cache.get("huge") is None and cache.num_bytes == 61


def test_worker_takes_urgent_tasks_first():
    worker = Worker()
    gate, order = threading.Event(), []
    first = worker.submit(lambda: gate.wait(10))
    futures = [worker.submit(lambda: order.append("later"), LATER)]
    futures += [worker.submit(lambda n=n: order.append(n)) for n in range(3)]
    gate.set()
    for future in (first, *futures):
        future.result(10)
    assert order == [0, 1, 2, "later"]
    worker.close()
    assert worker.submit(lambda: 1).cancelled()


def test_worker_groups_items_and_hands_errors_on():
    worker = Worker(gathering_seconds=1.0)
    batches = []

    def work(items):
        batches.append(list(items))
        if "bad" in items:
            raise ValueError("bad")
        return [item * 2 for item in items]

    gate = threading.Event()
    worker.submit(lambda: gate.wait(10))
    futures = [worker.submit_item("group", n, work) for n in range(10)]
    other = worker.submit_item("other", "bad", work)
    gate.set()
    assert [future.result(10) for future in futures] == [2 * n for n in range(10)]
    assert batches[0] == list(range(8)) and batches[1] == [8, 9]
    with pytest.raises(ValueError, match="bad"):
        other.result(10)
    # Two that come one after the other within the time are taken together.
    pair = [worker.submit_item("group", n, work) for n in (5, 6)]
    assert [future.result(10) for future in pair] == [10, 12]
    assert batches[-1] == [5, 6]
    worker.close()


def test_directions_keep_what_is_alike(tmp_path):
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(20, 200))

    def describe(images):
        # Twenty dimensions in two hundred: nothing is lost.
        return [FeatureMap(rng.normal(size=(6, 7, 20)) @ mixing, (60, 70)) for _ in images]

    fitted = directions.kept(tmp_path / "d.npz", lambda: directions.fit(describe))
    assert fitted.shape == (200, directions.COUNT)
    np.testing.assert_allclose(fitted.T @ fitted, np.eye(directions.COUNT), atol=1e-5)
    first, second = describe([0, 1])
    units = [directions.unit_vectors(each.values).reshape(-1, 200) for each in (first, second)]
    header, small = packing.unpack(directions.packed(first, fitted))
    other_header, other = packing.unpack(directions.packed(second, fitted))
    found = np.einsum(
        "ac,bc->ab",
        *(each.reshape(-1, directions.COUNT).astype(float) for each in (small, other)),
    )
    found *= header["scale"] * other_header["scale"]
    np.testing.assert_allclose(found, units[0] @ units[1].T, atol=0.03)
    # Kept, and made again where the file is damaged.
    again = directions.kept(tmp_path / "d.npz", lambda: pytest.fail("was kept"))
    np.testing.assert_array_equal(again, fitted)
    (tmp_path / "d.npz").write_bytes(b"PK damaged")
    assert directions.kept(tmp_path / "d.npz", lambda: np.eye(3)).shape == (3, 3)


def test_large_maps_are_sent_smaller():
    features = FeatureMap(np.random.default_rng(0).normal(size=(100, 50, 8)), (400, 200))
    header, _ = packing.unpack(directions.packed(features, np.eye(8, dtype=np.float32)))
    assert (header["rows"], header["columns"], header["depth"]) == (64, 32, 8)


def test_flows_of_any_kind_become_cells():
    rng = np.random.default_rng(0)
    grid = Flow.from_grid(rng.normal(size=(7, 9, 2)), (70, 90), (50, 60), rng.random((7, 9)) > 0.3)
    values = flow_answer.cells(grid)
    assert values.shape == (7, 9, 3) and values.dtype == np.float32
    positions, valid, confidence = grid.cells(64)
    np.testing.assert_array_equal(np.isnan(values[..., 0]), ~valid)
    np.testing.assert_allclose(values[valid][:, :2], positions[valid][:, ::-1], atol=1e-5)
    np.testing.assert_allclose(values[..., 2], confidence)
    dense = Flow(np.full((100, 200, 2), (3.0, -2.0)), (100, 200))
    values = flow_answer.cells(dense)
    assert values.shape == (32, 64, 3)
    x = (np.arange(64) + 0.5) * 200 / 64 - 0.5
    np.testing.assert_allclose(values[5, :, 0], x - 2, atol=1e-4)
    tiny = flow_answer.cells(Flow(np.zeros((2, 300, 2)), (5, 5)))
    assert tiny.shape == (1, 64, 3)


def test_flow_says_its_grid_and_bytes():
    grid = Flow.from_grid(np.zeros((7, 9, 2)), (70, 90), (50, 60))
    assert grid.grid_size == (7, 9) and grid.num_bytes < 1000
    before = grid.num_bytes
    assert grid.displacement.shape == (70, 90, 2) and grid.num_bytes == before
    sure = grid.with_confidence(np.full((7, 9), 0.5, np.float32))
    assert before <= sure.num_bytes <= before + 7 * 9 * 4
    dense = Flow(np.zeros((20, 30, 2), np.float32), (5, 5))
    assert dense.grid_size == (20, 30) and dense.num_bytes >= 20 * 30 * 8


def _image(number):
    return ScaledImage(colored.picture(number % 40 + 2, number % 50 + 2)[0], (112, 112))


def test_engine_batches_what_is_asked_for_together():
    engine = color_engine()
    gate = threading.Event()
    engine.worker.submit(lambda: gate.wait(10))
    images = [_image(number) for number in range(3)]
    futures = [engine.features(image, "color") for image in (*images, images[0])]
    gate.set()
    maps = [future.result(20) for future in futures]
    assert maps[0] is maps[3]
    # The descriptor was called for the directions, and once for all three.
    assert engine._made["color"].calls.count(3) == 1 and 1 not in engine._made["color"].calls
    engine.close()


def test_features_are_never_seen_before_they_can_be_packed(monkeypatch):
    engine, image = color_engine(), _image(1)
    fitting, gate = threading.Event(), threading.Event()
    fit = directions.fit

    def slow_fit(describe):
        fitting.set()
        gate.wait(10)
        return fit(describe)

    monkeypatch.setattr(directions, "fit", slow_fit)
    first = engine.features(image, "color")
    assert fitting.wait(10)
    second = engine.features(image, "color")
    assert not second.done()
    gate.set()
    assert engine.packed(second.result(10), "color") == engine.packed(first.result(10), "color")
    engine.close()


def test_engine_keeps_within_its_memory():
    engine = color_engine(memory=2**20)
    for number in range(60):
        source, target = _image(number), _image(number + 7)
        engine.flow(source, target, "color", "nearest").result(20)
        assert engine.features_cache.num_bytes <= 0.6 * 2**20
        assert engine.flows_cache.num_bytes <= 0.25 * 2**20
    assert len(engine.features_cache) < 60
    engine.close()


def test_engine_results_do_not_depend_on_what_was_forgotten():
    small, large = color_engine(memory=2**17), color_engine()
    for number in (0, 1, 0, 2, 0):
        pair = _image(number), _image(number + 3)
        flows = [e.flow(*pair, "color", "hough").result(60) for e in (small, large)]
        np.testing.assert_array_equal(*(flow_answer.cells(flow) for flow in flows))
    small.close(), large.close()


def test_engine_refuses_too_much_at_once(monkeypatch):
    from anchornet_tf.studio import engine as module

    monkeypatch.setattr(module, "_MOST_WAITING", 3)
    engine = color_engine()
    gate = threading.Event()
    engine.worker.submit(lambda: gate.wait(10))
    futures = [engine.features(_image(number), "color") for number in range(3)]
    with pytest.raises(Refusal, match="at most 3"):
        engine.features(_image(9), "color")
    gate.set()
    for future in futures:
        future.result(20)
    assert engine.features(_image(9), "color").result(20) is not None
    engine.close()


def test_costs_are_measured():
    engine = color_engine()
    assert engine.offered()["descriptors"][0]["cost"] == "1 ms per image"
    engine.flow(_image(0), _image(1), "color", "nearest").result(20)
    offered = engine.offered()
    assert offered["descriptors"][0]["cost"].endswith("ms per image here")
    assert offered["matchers"][0]["cost"].endswith("ms per pair here")
    engine.close()
