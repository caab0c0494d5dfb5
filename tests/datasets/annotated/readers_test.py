"""Each benchmark is read from a small folder in its published layout; its faults are named."""

import json

import numpy as np
import pytest
import scipy.io

from anchornet_tf.datasets.annotated import part_names, pf_willow
from anchornet_tf.datasets.annotated.reading import DataMissing
from anchornet_tf.datasets.annotated.registry import BENCHMARKS, open_benchmark
from tests.datasets.annotated import folders
from tests.shared_data import shared_path

FOLDERS = [name for name in BENCHMARKS.names if name != "parts_world"]


@pytest.mark.parametrize("name", FOLDERS)
def test_missing_data_says_what_was_expected_and_where_to_get_it(name, tmp_path):
    for folder in (None, tmp_path / "absent", tmp_path):
        with pytest.raises(DataMissing, match=r"Expected .*Get .*Received: ") as caught:
            open_benchmark(name, folder)
        assert any(letter.isdigit() for letter in str(caught.value)) or name == "pascal_parts"


def test_unknown_names_and_options(tmp_path):
    with pytest.raises(ValueError, match="must be one of pf_willow.*Received: 'willow'"):
        open_benchmark("willow", tmp_path)
    with pytest.raises(ValueError, match="takes the options.*Received: subset"):
        open_benchmark("spair", tmp_path, subset="tune")


def test_willow(tmp_path):
    benchmark = open_benchmark("pf_willow", folders.willow(tmp_path))
    assert len(benchmark.pairs) == 12 and len(benchmark.annotations()) == 6
    pair = benchmark.pairs[0]
    assert (pair.name, pair.group) == ("car(S)/img_0>img_1", "car(S)")
    assert benchmark.pairs[-1].source.class_name == "bird"
    written = scipy.io.loadmat(tmp_path / "car(S)" / "img_0.mat")["pts_coord"]
    np.testing.assert_allclose(pair.source.points, written.T - 1)
    assert "not the whole of PF-WILLOW" in benchmark.notes[0]
    assert pair.source.read_image().shape == (60, 80, 3)


def test_willow_that_is_malformed(tmp_path):
    root = folders.willow(tmp_path)
    annotation = root / "car(S)" / "img_1.mat"
    scipy.io.savemat(annotation, {"pts_coord": np.full((2, 10), 81.0)})
    with pytest.raises(ValueError, match="keypoints on the image.*Received: .*img_1.mat"):
        open_benchmark("pf_willow", root)
    annotation.write_bytes(annotation.read_bytes()[:150])
    with pytest.raises(ValueError, match="`pts_coord`.*img_1.mat"):
        open_benchmark("pf_willow", root)
    annotation.unlink()
    with pytest.raises(DataMissing, match="img_1.mat"):
        open_benchmark("pf_willow", root)
    with pytest.raises(ValueError, match="Received: subset='half'"):
        open_benchmark("pf_willow", root, subset="half")


def test_halves_of_willow_share_no_image():
    half = pf_willow.halves({"one": ["a", "b", "c", "d"], "two": ["c", "d", "e", "f"]})
    assert half == dict(
        zip("abcdef", ["tune", "report", "tune", "report", "tune", "report"], strict=True)
    )
    both = pf_willow.halves({"one": ["a", "b"], "two": ["a", "x", "y"]})
    assert both == {"a": "tune", "b": "report", "x": "report", "y": "tune"}


def test_the_real_willow():
    folder = shared_path("data/pf-willow")
    benchmark = open_benchmark("pf_willow", folder)
    assert len(benchmark.pairs) == 900 and len(benchmark.annotations()) == 70
    assert benchmark.notes == ()
    tune, report = (open_benchmark("pf_willow", folder, subset=s) for s in ("tune", "report"))
    assert len(tune.pairs) == len(report.pairs) == 200
    assert not set(tune.annotations()) & set(report.annotations())
    groups = [sum(pair.group == "car(G)" for pair in half.pairs) for half in (tune, report)]
    assert groups == [20, 20]


@pytest.mark.parametrize("side, scale", [(300, 1), (600, 2)])
def test_pf_pascal_coordinates_belong_to_images_of_long_side_300(tmp_path, side, scale):
    benchmark = open_benchmark("pf_pascal", folders.pascal_pairs(tmp_path, side))
    assert [pair.group for pair in benchmark.pairs] == ["bird", "car"]
    points = benchmark.pairs[1].source.points
    np.testing.assert_allclose(points[0], np.array([9.5, 19.5]) * scale - 0.5)
    assert benchmark.notes[0] == "leak: 1 of these 2 test pairs are also training pairs"
    assert "299" in benchmark.notes[1]


def test_pf_pascal_without_training_pairs_tells_the_known_leak(tmp_path):
    root = folders.pascal_pairs(tmp_path)
    (root / "image_pairs" / "train_pairs.csv").unlink()
    assert "95 of the 299" in open_benchmark("pf_pascal", root).notes[0]


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda text: text[:-20], "Expected as many XA, YA, XB and YB|cut short"),
        (lambda text: text.replace("40.5", "fourty"), "numbers separated by ';'.*line 2"),
        (lambda text: text.replace(",7,", ",21,"), "class from 1 to 20. Received: '21'"),
        (lambda text: text.replace("class,", "kind,"), "Expected a header with source_image"),
        (lambda text: text.replace("2008_c", "2008_x"), "2008_x.jpg"),
        (lambda text: text.splitlines()[0], "at least one pair"),
    ],
)
def test_pf_pascal_that_is_malformed(tmp_path, damage, message):
    table = folders.pascal_pairs(tmp_path) / "image_pairs" / "test_pairs.csv"
    table.write_text(damage(table.read_text()))
    with pytest.raises((ValueError, DataMissing), match=message):
        open_benchmark("pf_pascal", tmp_path)


def test_pascal_parts(tmp_path):
    benchmark = open_benchmark("pascal_parts", folders.flowweb(tmp_path))
    counts = {name: 0 for name in ("boat", "bus", "car")}
    for pair in benchmark.pairs:
        counts[pair.group] += 1
    assert counts == {"boat": 2, "bus": 2, "car": 6}
    car = next(pair.source for pair in benchmark.pairs if pair.group == "car")
    # The third keypoint lies on the last column and does not count, the fourth is not flagged.
    np.testing.assert_array_equal(car.visible, [True, True, False, False])
    np.testing.assert_allclose(car.points[0], [20, 15])
    masks = car.read_masks()
    assert list(masks.parts) == ["leftmirror", "frontside"] and masks.whole.sum() == 30 * 40
    assert not next(p.source for p in benchmark.pairs if p.group == "boat").read_masks().parts


def test_one_set_of_pascal_parts_is_named_after_its_folder(tmp_path):
    benchmark = open_benchmark("pascal_parts", folders.flowweb(tmp_path) / "car_set_1")
    assert {pair.group for pair in benchmark.pairs} == {"car"}
    with pytest.raises(ValueError, match="folder named after a class"):
        folders.flowweb_image(tmp_path / "things" / "a.jpg")
        open_benchmark("pascal_parts", tmp_path / "things")


def test_pascal_parts_across_categories(tmp_path):
    benchmark = open_benchmark(
        "pascal_parts", folders.flowweb(tmp_path), cross_category=True, num_pairs=6
    )
    assert [pair.group for pair in benchmark.pairs] == ["bus>car"] * 6 + ["car>bus"] * 6
    for pair in benchmark.pairs:
        assert f"{pair.source.class_name}>{pair.target.class_name}" == pair.group
    masks = benchmark.pairs[0].source.read_masks()
    assert "mirror" in masks.parts
    again = open_benchmark("pascal_parts", tmp_path, cross_category=True, num_pairs=6)
    assert [pair.name for pair in again.pairs] == [pair.name for pair in benchmark.pairs]
    with pytest.raises(ValueError, match="two classes of .*Received: car"):
        open_benchmark("pascal_parts", tmp_path / "car_set_1", cross_category=True)


def test_pascal_parts_that_is_malformed(tmp_path):
    path = folders.flowweb(tmp_path) / "car_set_1" / "001.mat"
    contents = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
    scipy.io.savemat(path, contents | {"mask": np.ones((5, 6))})
    with pytest.raises(ValueError, match=r"size \(60, 80\). Received: \(5, 6\).*001.mat"):
        open_benchmark("pascal_parts", tmp_path)
    scipy.io.savemat(path, contents | {"keypts_status": np.ones((1, 3))})
    with pytest.raises(ValueError, match="4 keypoints and 3.*001.mat"):
        open_benchmark("pascal_parts", tmp_path)
    scipy.io.savemat(path, contents | {"keypts": np.full((2, 4), np.nan)})
    benchmark = open_benchmark("pascal_parts", tmp_path)  # No coordinates: not a keypoint.
    assert any(not pair.source.visible.any() for pair in benchmark.pairs)
    path.unlink()
    with pytest.raises(DataMissing, match="001.mat"):
        open_benchmark("pascal_parts", tmp_path)


def test_names_of_parts():
    merged = {
        "leftmirror": "mirror",
        "headlight_2": "headlight",
        "lfuleg": "leg",
        "rear": "ear",
        "lbpa": "paw",
        "fwheel": "wheel",
        "hleftside": "side",
        "near_front_leg": "leg",
        "head": "head",
        "back": "back",
        "roofside": "roofside",
    }
    assert {name: part_names.merged_name(name) for name in merged} == merged
    left, right = np.eye(2, dtype=bool)
    joined = part_names.merge_parts({"leye": left, "reye": right, "nose": left})
    np.testing.assert_array_equal(joined["eye"], [True, True])
    assert set(joined) == {"eye", "nose"}


def test_the_pairs_of_classes_are_the_papers():
    tables = json.loads(shared_path("protocols/paper_tables.json").read_text())
    published = tables["pascal_parts_cross_category_iou"]["pairs_source_to_target"]
    ours = [">".join(pair) for pair in part_names.CLASS_PAIRS]
    assert len(published) == 13 and published.count("bus>car") == 2  # A misprint.
    assert ours == list(dict.fromkeys(published))
    assert len({name for pair in part_names.CLASS_PAIRS for name in pair}) == 9


def test_animal_parts(tmp_path):
    benchmark = open_benchmark("animal_parts", folders.animals(tmp_path), num_pairs=2)
    assert len(benchmark.pairs) == 8 and benchmark.protocol.matrix
    points, candidates = benchmark.pairs[0].shared_points()
    assert points.shape == (3, 2) and candidates.shape == (3, 2, 2)
    assert np.isnan(candidates[2, 1]).all()  # One foot, two eyes.
    other = open_benchmark("animal_parts", tmp_path, num_pairs=2, seed=1)
    assert [p.name for p in other.pairs] != [p.name for p in benchmark.pairs]
    table = tmp_path / "annotations.csv"
    table.write_text(table.read_text()[:-6])
    with pytest.raises(ValueError, match="cut short"):
        open_benchmark("animal_parts", tmp_path)


@pytest.mark.parametrize("layout", [True, False])
def test_spair(tmp_path, layout):
    benchmark = open_benchmark("spair", folders.spair(tmp_path / "SPair-71k", layout).parent)
    assert [pair.group for pair in benchmark.pairs] == ["bus", "cat", "cat"]
    pair = benchmark.pairs[0]
    assert pair.target.box == (6, 8, 66, 48) and len(pair.shared_points()[0]) == 3
    assert "12234" in benchmark.notes[0] and len(benchmark.annotations()) == 4


def test_spair_that_is_malformed(tmp_path):
    path = next((folders.spair(tmp_path) / "PairAnnotation" / "test").glob("000001*"))
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"trg_kps": [[1, 2]]}))
    with pytest.raises(ValueError, match="3 and 1 in .*000001"):
        open_benchmark("spair", tmp_path)
    path.write_text(path.read_text()[:50])
    with pytest.raises(ValueError, match="JSON object with src_imname.*000001"):
        open_benchmark("spair", tmp_path)
    path.unlink()
    with pytest.raises(DataMissing, match="000001"):
        open_benchmark("spair", tmp_path)
    with pytest.raises(ValueError, match="Received: split='all'"):
        open_benchmark("spair", tmp_path, split="all")


def test_cub(tmp_path):
    benchmark = open_benchmark("cub", folders.birds(tmp_path / "CUB_200_2011").parent, num_pairs=5)
    assert len(benchmark.pairs) == 5
    names = {side.name for pair in benchmark.pairs for side in (pair.source, pair.target)}
    assert names == {"Bird_0002", "Bird_0003", "Bird_0004"}
    pair = next(pair for pair in benchmark.pairs if pair.source.name == "Bird_0002")
    assert len(pair.shared_points()[0]) == 14 and pair.source.box == (5, 6, 55, 46)
    assert pair.source.point_names[2] == "left eye"


def test_cub_that_is_malformed(tmp_path):
    root = folders.birds(tmp_path)
    table = root / "parts" / "part_locs.txt"
    whole = table.read_text()
    table.write_text(whole[: len(whole) // 2 + 3])
    with pytest.raises(ValueError, match="5 values per line|name, a box and parts"):
        open_benchmark("cub", root)
    table.write_text(whole)
    (root / "images" / "001.Black_footed_Albatross" / "Bird_0003.jpg").unlink()
    with pytest.raises(DataMissing, match="Bird_0003"):
        open_benchmark("cub", root)
    (root / "bounding_boxes.txt").unlink()
    with pytest.raises(DataMissing, match="without bounding_boxes.txt"):
        open_benchmark("cub", root)


def test_the_embedded_set():
    benchmark = open_benchmark("parts_world", num_pairs=2)
    assert len(benchmark.pairs) == 40
    source = benchmark.pairs[0].source
    assert source.read_image().shape == (224, 224, 3)
    assert source.read_masks().whole.any() and source.box is not None
    crossed = open_benchmark("parts_world", cross_category=True, num_pairs=1)
    assert [pair.group for pair in crossed.pairs] == [
        ">".join(pair) for pair in part_names.CLASS_PAIRS
    ]
    assert all(pair.source.class_name != pair.target.class_name for pair in crossed.pairs)


def test_animals_of_the_embedded_set_stand_for_families():
    benchmark = open_benchmark("parts_world", animal_families=True, num_pairs=1)
    groups = [pair.group for pair in benchmark.pairs]
    assert len(groups) == 36 and groups[:3] == ["bird>bird", "bird>cat", "bird>cow"]
    assert benchmark.protocol.measures == ("pck",) and benchmark.protocol.matrix
    assert benchmark.protocol.normalize_by[0] == "image", "as in AnimalParts"
    names = {name for image in benchmark.annotations().values() for name in image.point_names}
    assert names == {"eye", "foot"}
    points, candidates = benchmark.pairs[7].shared_points()  # of two cats
    assert candidates.shape[1] > 1 or len(points) == 1, "feet are not told apart"
