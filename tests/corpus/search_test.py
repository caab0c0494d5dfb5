"""The index of a corpus and what is found in it, against plain NumPy."""

import json
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.corpus import neighbors, part_search
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.found_picture import crop
from anchornet_tf.corpus.part_index import PartIndex, write_index
from anchornet_tf.corpus.quantization import dequantize, quantize, strongest_directions
from anchornet_tf.corpus.shard_reader import read_sparse
from tests.repository.tree import ROOT


@pytest.fixture(scope="module")
def index_folder(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "index"
    write_index(corpus, folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def index(index_folder):
    return PartIndex.open(index_folder)


def _peaks(corpus: CorpusFolder):
    """Yields key, class, filter, x, y, strength of all peaks."""
    for number in sorted(corpus.finished()):
        shard = read_sparse(corpus, number)
        keys = np.array(shard.keys)[shard.peak_image]
        yield from zip(
            keys,
            shard.peak_class,
            shard.peak_filter,
            shard.peak_x,
            shard.peak_y,
            shard.peak_strength,
            strict=True,
        )


def test_a_filter_orders_the_images_in_which_it_fires(corpus, index):
    everything = list(_peaks(corpus))
    assert len(everything) == len(index.firing) == 14 * 6
    for class_name, number in {(entry[1], int(entry[2])) for entry in everything}:
        own = [entry for entry in everything if entry[1:3] == (class_name, number)]
        own.sort(key=lambda entry: -entry[5])
        found = part_search.search_filter(index, class_name, number, 20)
        assert [each.key for each in found] == [entry[0] for entry in own][:20]
        assert found[0].score == pytest.approx(own[0][5], abs=1e-3)
        assert (found[0].x, found[0].y) == pytest.approx((own[0][3], own[0][4]), abs=0.01)


@pytest.mark.parametrize("name, number", [("horse", 0), ("bird", 4)])
def test_a_filter_that_is_not_there(index, name, number):
    with pytest.raises(ValueError, match=f"Received: .*{name if number == 0 else number}"):
        part_search.search_filter(index, name, number, 3)


def test_points_are_found_by_the_cosine_with_every_place(index):
    query = np.random.default_rng(0).normal(size=8).astype(np.float32)
    vectors = np.asarray(index.vectors, np.float32)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    best = {}
    for row in np.argsort(-cosines):
        best.setdefault(index.keys[index.places["image"][row]], cosines[row])
    found = part_search.search_vector(index, query, 5)
    assert [each.key for each in found] == list(best)[:5]
    np.testing.assert_allclose([each.score for each in found], list(best.values())[:5], atol=1e-3)
    # All images, without the one that was asked about.
    left_out = part_search.path_of(index, found[0].key)
    rest = part_search.search_vector(index, query, 14, left_out)
    assert [each.key for each in rest] == list(best)[1:]


def test_many_places_are_found_by_ivfpq():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(200, 16))
    vectors = centers[rng.integers(200, size=20_000)] + 0.3 * rng.normal(size=(20_000, 16))
    vectors = quantize(vectors)[0]
    queries = vectors[rng.choice(20_000, 50, replace=False)].astype(np.float32)
    exact, cosines = neighbors.nearest(neighbors.build(vectors, "flat"), vectors, queries, 10)
    fast = neighbors.build(vectors, "ivfpq")
    rows, similar = neighbors.nearest(fast, vectors, queries, 10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, rows, strict=True)])
    assert recall >= 0.95
    np.testing.assert_allclose(similar[:, 0], cosines[:, 0], atol=1e-5)
    # One list of many: it must be possible to find less.
    assert (neighbors.nearest(fast, vectors, queries, 10, probed=1)[0] != exact).any()


def test_few_places_are_no_ivfpq():
    with pytest.raises(ValueError, match="Expected at least 9984 places.*Received: 50"):
        neighbors.build(np.ones((50, 8), np.int8), "ivfpq")


def test_directions_are_those_of_the_largest_variance():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    variances = np.array([9.0, 5.0, 3.0, 1.0, 0.5, 0.1])
    covariance = (basis * variances) @ basis.T
    # After C^-1/4 the variances are their square roots, in the same directions.
    equalizer = (basis * variances**-0.25) @ basis.T
    found = strongest_directions(rng.normal(size=(10, 6)), equalizer, 2)
    np.testing.assert_allclose(np.abs(found.T @ basis[:, :2]), np.eye(2), atol=1e-5)
    # Without an equalizer, those of the encoder.
    encoder = rng.normal(size=(10, 6)) @ np.linalg.cholesky(covariance).T
    found = strongest_directions(encoder, np.eye(6), 1)[:, 0]
    gain = np.linalg.norm(encoder @ found)
    assert gain == pytest.approx(np.linalg.svd(encoder)[1][0], rel=1e-5)


def test_eight_bits_are_half_a_step_off_at_most():
    vectors = np.random.default_rng(0).normal(size=(5, 7, 64)).astype(np.float32)
    values, scales = quantize(vectors)
    assert values.dtype == np.int8 and scales.shape == (5, 7)
    assert (np.abs(dequantize(values, scales) - vectors) <= 0.501 * scales[..., None]).all()
    assert not quantize(np.zeros((2, 4)))[0].any()


def test_a_crop_shows_its_point(tmp_path):
    pixels = np.zeros((60, 100, 3), np.uint8)
    pixels[10, 90] = 255
    PIL.Image.fromarray(pixels).save(tmp_path / "a.png")
    tile, center = crop(str(tmp_path / "a.png"), 90, 10)
    brightest = np.unravel_index(np.asarray(tile)[..., 0].argmax(), tile.size[::-1])
    assert brightest == pytest.approx(center[::-1], abs=2)


def _search(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "anchornet_tf.corpus.search", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_program_finds_a_place_of_the_corpus_again(index, index_folder, images, tmp_path):
    """A copy of an image of the corpus, asked at one of its places, finds that very place."""
    copy = tmp_path / "copy.png"
    copy.write_bytes((images / "05.png").read_bytes())
    row = np.flatnonzero(index.places["image"] == index.keys.index("05.png"))[0]
    x, y = (float(index.places[name][row]) for name in ("x", "y"))
    finished = _search(
        f"--index={index_folder}",
        f"--image={copy}",
        f"--point={x},{y}",
        "--top=3",
        f"--output={tmp_path / 'found'}",
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    found = json.loads((tmp_path / "found" / "found.json").read_text())
    assert len(found) == 3
    assert found[0]["key"] == "05.png" and found[0]["score"] > 0.999
    assert (found[0]["x"], found[0]["y"]) == pytest.approx((x, y), abs=0.01)
    with PIL.Image.open(tmp_path / "found" / "found.png") as picture:
        assert picture.size[0] > 4 * 144
    assert "Next: python -m anchornet_tf.corpus.search" in finished.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--point=3,4"], "Expected --image with --point=X,Y, or --filter=CLASS:NUMBER. Received"),
        (["--filter=bird"], "Expected --filter=CLASS:NUMBER, such as bird:12. Received: bird"),
        (["--filter=bird:1", "--index=nowhere"], "corpus.index wrote. Received: nowhere"),
    ],
)
def test_mistakes(arguments, message):
    finished = _search(*arguments)
    assert finished.returncode == 1 and message in finished.stderr
    assert "Traceback" not in finished.stderr


def test_an_unfinished_corpus_is_not_indexed(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(CorpusFolder, "finished", lambda self: {0, 1})
    with pytest.raises(ValueError, match="finished corpus.*Received: 2 of 4 shards"):
        write_index(corpus, tmp_path / "index", progress=False)
    assert not list(tmp_path.iterdir())
