"""Jobs over the API: events, pictures, cancelling, bounds, and that results are right."""

import io
import threading

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.annotations.items import AnnotatedObject, ImageAnnotations, Region
from anchornet_tf.annotations.regions import region_mask
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.studio import jobs
from anchornet_tf.tasks.transfer import transfer
from tests.studio.api import Api, marked
from tests.studio.conftest import PLACES
from tests.tasks import colored

IDS = {f"i{number}": name for number, name in enumerate(PLACES, start=1)}


def test_transfer_is_that_of_the_package(api, image_folder):
    references = [marked("i1", PLACES["a.png"])]
    results, done = api.results(kind="transfer", references=references, threshold=0.3)
    assert set(results) == {"i2", "i3", "i4"} and done["seconds"] >= 0
    matcher = Matcher(colored.ColorDescriptor(), "nearest")
    points = colored.picture(*PLACES["a.png"])[1]
    paths = [image_folder / IDS[name] for name in results]
    found = transfer([(image_folder / "a.png", points)], paths, matcher, threshold=0)
    for result, image in zip(results.values(), found, strict=True):
        wanted = image.objects[0].points
        assert [point["name"] for point in result["points"]] == list(wanted)
        for point in result["points"]:
            expected = wanted[point["name"]]
            assert (point["x"], point["y"]) == pytest.approx((expected.x, expected.y), abs=0.006)
            assert point["score"] == pytest.approx(expected.score, abs=1e-4)
            assert point["sure"] == (point["score"] >= 0.3)
        assert result["used"] and 0 <= result["score"] <= 1


def test_points_land_on_their_colours(api):
    references = [marked("i1", PLACES["a.png"])]
    results, _ = api.results(kind="transfer", references=references, mirror=False)
    for identifier, result in results.items():
        true = colored.picture(*PLACES[IDS[identifier]])[1]
        for point in result["points"]:
            assert (
                np.hypot(point["x"] - true[point["name"]][0], point["y"] - true[point["name"]][1])
                < 6
            )


def test_another_point_costs_no_matching(studio_server, api):
    first = [marked("i1", PLACES["a.png"], ["head"])]
    api.results(kind="transfer", references=first)
    engine = studio_server.studio.engine
    flows, calls = len(engine.flows_cache), list(engine._made["color"].calls)
    second = [marked("i1", PLACES["a.png"], ["head", "tail"])]
    results, _ = api.results(kind="transfer", references=second)
    assert [point["name"] for point in results["i2"]["points"]] == ["head", "tail"]
    assert len(engine.flows_cache) == flows
    assert engine._made["color"].calls == calls


def test_regions_are_those_of_the_package(api, image_folder):
    left, top = PLACES["a.png"]
    corners = [(7, 5), (17, 5), (17, 15), (7, 15)]
    square = [[left + x, top + y] for x, y in corners]
    mark = {"image": "i1", "points": [], "regions": [{"name": "head", "polygons": [square]}]}
    results, _ = api.results(kind="transfer", references=[mark], images=["i2"], mirror=False)
    (region,) = results["i2"]["regions"]
    assert region["name"] == "head" and 0 < region["score"] <= 1
    given = Region("head", "polygons", (np.array(square, float),))
    reference = ImageAnnotations("a.png", None, (AnnotatedObject("", {}, (given,)),))
    (found,) = transfer(
        [(image_folder / "a.png", reference)],
        [image_folder / "b.png"],
        Matcher(colored.ColorDescriptor(), "nearest"),
        threshold=0,
        mirror=False,
    )
    size = colored.SIZE, colored.SIZE
    wanted = region_mask(found.objects[0].regions[0], size)
    polygons = tuple(np.array(polygon) for polygon in region["polygons"])
    mask = region_mask(Region("", "polygons", polygons), size)
    assert (mask & wanted).sum() > 0.9 * (mask | wanted).sum()
    assert mask[PLACES["b.png"][1] + 10, PLACES["b.png"][0] + 12]


def test_many(api):
    results, done = api.results(kind="many", image="i1", side=64)
    assert list(results) == ["i1", "i2", "i3", "i4"]
    assert results["i1"]["similarity"] == pytest.approx(1, abs=1e-3)
    for name in ("average", "plain_average"):
        answer = api.get(done[name].removeprefix("/api/v1"))
        assert PIL.Image.open(io.BytesIO(answer.content)).size == (64, 64)
    for result in results.values():
        assert 0 <= result["mean_confidence"] <= 1
        picture = api.get(result["picture"].removeprefix("/api/v1"))
        assert PIL.Image.open(io.BytesIO(picture.content)).size == (64, 64)
    assert api.get("/jobs/j1/pictures/nothing").status_code == 404


def test_events_from_the_beginning_and_from_the_middle(api):
    job = api.start(kind="many", image="i1", side=32)
    events = api.events(job)
    assert [number for number, *_ in events] == list(range(1, len(events) + 1))
    assert [kind for _, kind, _ in events] == ["progress", *["result", "progress"] * 4, "done"]
    assert events[0][2] == {"done": 0, "total": 4, "seconds_left": None}
    assert events[-2][2]["done"] == 4
    assert api.events(job) == events
    assert api.events(job, after=events[3][0]) == events[4:]
    assert api.events(job, after=events[-1][0]) == []
    assert api.events(job, after="garbage") == events


def test_cancel(studio_server, api):
    release = threading.Event()
    started = threading.Event()

    def work(_):
        started.set()
        yield {"image": "i1"}
        release.wait(30)
        yield {"image": "i2"}

    job = studio_server.studio.jobs.add("slow", 2, work)
    started.wait(30)
    assert api.events(job.id, most=2)[1][1] == "result"
    assert api.delete(f"/jobs/{job.id}").status_code == 204
    release.set()
    events = api.events(job.id)
    assert events[-1][1:] == ("cancelled", {})
    assert not any(data.get("image") == "i2" for _, _, data in events)
    # The next job runs.
    api.results(kind="many", image="i1", side=32)


def test_the_queue_is_bounded(studio_server, api):
    release = threading.Event()

    def work(_):
        release.wait(30)
        yield {}

    first = studio_server.studio.jobs.add("slow", 1, work)
    try:
        for _ in range(jobs.MOST_WAITING + 1):
            answer = api.post("/jobs", json={"kind": "many", "image": "i1"})
            if answer.status_code == 429:
                break
        assert answer.status_code == 429
        # A cancelled one makes room.
        assert api.delete(f"/jobs/j{jobs.MOST_WAITING + 1}").status_code == 204
        assert api.post("/jobs", json={"kind": "many", "image": "i1"}).status_code == 202
    finally:
        release.set()
    assert api.events(first.id)[-1][1] == "done"


def test_old_jobs_are_forgotten(studio_server, api):
    made = []
    for _ in range(40):
        job = studio_server.studio.jobs.add("quick", 1, lambda _: (each for each in [{}]))
        api.events(job.id)
        made.append(job.id)
    assert len(studio_server.studio.jobs) < 40
    assert api.get(f"/jobs/{made[0]}/events").status_code == 404


def test_a_failure_says_nothing_of_the_inside(studio_server, api, capsys):
    def work(_):
        yield {}
        raise RuntimeError("secret detail")

    job = studio_server.studio.jobs.add("bad", 2, work)
    kind, data = api.events(job.id)[-1][1:]
    assert kind == "failed" and "secret" not in data["error"]
    assert "secret detail" in capsys.readouterr().err


def test_an_image_that_is_gone_is_told(studio_server, api, tmp_path):
    (studio_server.folder / "c.png").rename(tmp_path / "c.png")
    try:
        results, _ = api.results(kind="transfer", references=[marked("i1", PLACES["a.png"])])
    finally:
        (tmp_path / "c.png").rename(studio_server.folder / "c.png")
    assert "Received:" in results["i3"]["error"] and not results["i3"]["points"]
    assert results["i2"]["points"]


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"kind": "dance"},
        {"kind": ["transfer"]},
        {"kind": "transfer"},
        {"kind": "transfer", "references": []},
        {"kind": "transfer", "references": [{"image": "i1"}]},
        {"kind": "transfer", "references": [{"image": "i9", "points": []}]},
        {"kind": "transfer", "references": [marked("i1", (10, 10))], "threshold": 2},
        {"kind": "transfer", "references": [marked("i1", (10, 10))], "threshold": True},
        {"kind": "transfer", "references": [marked("i1", (10, 10))], "references_per_image": 0},
        {"kind": "transfer", "references": [marked("i1", (10, 10))], "mirror": "yes"},
        {"kind": "transfer", "references": [marked("i1", (10, 10))], "images": ["i1", 5]},
        {"kind": "many", "image": None},
        {"kind": "many", "image": "i1", "side": 1e9},
        {"kind": "responses", "class": "bird"},
    ],
)
def test_wrong_jobs_are_refused(api, job):
    answer = api.post("/jobs", json=job)
    assert answer.status_code in (400, 404)
    assert "Received:" in answer.json()["error"]


def test_a_point_outside_fails_in_one_line(api):
    mark = {"image": "i1", "points": [{"name": "far", "x": 5000, "y": 3}]}
    kind, data = api.events(api.start(kind="transfer", references=[mark]))[-1][1:]
    assert kind == "failed" and "inside its image" in data["error"]


def test_two_clients_at_once(studio_server):
    answers = {}

    def ask(number):
        api = Api(studio_server.address)
        source, target = (("i1", "i2"), ("i2", "i1"))[number % 2]
        for _ in range(5):
            header, values = api.binary("/flow", source=source, target=target)
            answers.setdefault((source, target), []).append(values)
        references = [marked(source, PLACES[IDS[source]])]
        results, _ = api.results(kind="transfer", references=references)
        answers.setdefault(source, []).append(results)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(answers) == {("i1", "i2"), ("i2", "i1"), "i1", "i2"}
    for key in (("i1", "i2"), ("i2", "i1")):
        assert len(answers[key]) == 10
        assert all(np.array_equal(answers[key][0], each) for each in answers[key])
    for key in ("i1", "i2"):
        assert answers[key][0] == answers[key][1]
