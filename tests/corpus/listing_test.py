"""Which images a corpus has, and what is said where there are none."""

import pytest

from anchornet_tf.corpus.beam_options import pipeline_options
from anchornet_tf.corpus.config import DescribeConfig, SearchConfig
from anchornet_tf.corpus.listing import list_images, shard_keys


@pytest.fixture
def folder(tmp_path):
    for name in ("b/2.jpg", "a.PNG", "b/1.jpg", "notes.md", "c.jpeg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_a_folder_is_listed_in_order_and_cut_into_shards(folder, tmp_path):
    listing = list_images(folder, 3)
    assert listing.contents.decode().splitlines() == ["a.PNG", "b/1.jpg", "b/2.jpg", "c.jpeg"]
    assert listing.root == str(folder) and listing.count == 4
    file = tmp_path / "images.txt"
    file.write_bytes(listing.contents)
    shards = [shard_keys(file, shard) for shard in listing.shards]
    assert shards == [["a.PNG", "b/1.jpg", "b/2.jpg"], ["c.jpeg"]]
    assert list_images(folder, 3, limit=3).shards == listing.shards[:1]


def test_a_pattern_keeps_what_it_matches(folder):
    listing = list_images(f"{folder}/b/*.jpg", 10)
    assert listing.contents.decode().split() == ["1.jpg", "2.jpg"]
    assert listing.root == str(folder / "b")
    assert listing.digest() != list_images(folder, 10).digest()


def test_manifests_keep_their_order(folder):
    (folder / "labels.csv").write_text("labels,path\nbird,c.jpeg\ncar;dog,b/1.jpg\n")
    listing = list_images(folder / "labels.csv", 10)
    assert listing.contents.decode().split() == ["c.jpeg", "b/1.jpg"]
    (folder / "names.txt").write_text("c.jpeg\n\nb/1.jpg\n")
    assert list_images(folder / "names.txt", 10) == listing


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("twice.txt", "a.png\nb.png\na.png\n", "every image once.*Received: 'a.png'"),
        ("wrong.csv", "file,labels\na.png,x\n", "column 'path'. Received: .*file, labels"),
        ("empty.csv", "path\n", "at least one image. Received: none"),
    ],
)
def test_wrong_manifests(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        list_images(tmp_path / name, 10)


@pytest.mark.parametrize("name", ["nowhere/*.jpg", "nowhere.csv", "nowhere"])
def test_nothing_there(tmp_path, name):
    with pytest.raises((FileNotFoundError, ValueError), match="Received: .*nowhere"):
        list_images(tmp_path / name / "" if name == "nowhere" else tmp_path / name, 10)


def test_beams_options_are_checked_and_workers_added():
    options = pipeline_options([], workers=3).get_all_options()
    assert options["direct_num_workers"] == 3
    assert options["direct_running_mode"] == "multi_processing"
    assert pipeline_options([], workers=1).get_all_options()["direct_num_workers"] == 1
    named = pipeline_options(["--runner=FlinkRunner", "--parallelism=8"], workers=3)
    assert named.get_all_options()["direct_num_workers"] != 3
    with pytest.raises(ValueError, match="option of Apache Beam after --. Received: --wrokers=3"):
        pipeline_options(["--wrokers=3"])


@pytest.mark.parametrize("wrong", [{"peaks": 0}, {"shard_size": 0}, {"image_size": 8}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError, match=r"must be at least \d+. Received: "):
        DescribeConfig("images", **wrong)


def test_a_search_asks_for_one_thing():
    with pytest.raises(ValueError, match="Expected --image with --point"):
        SearchConfig(image="a.jpg", point=(3.0, 4.0), filter="bird:1")
    with pytest.raises(ValueError, match="Expected --point=X,Y. Received"):
        SearchConfig(image="a.jpg", point=(3.0,))
