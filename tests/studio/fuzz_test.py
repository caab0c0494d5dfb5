"""Whatever is sent: no failure of the server, no traceback, nothing from outside the folder."""

import json
import os
import random
import urllib.parse

import httpx
import pytest

from anchornet_tf.studio.config import StudioConfig
from tests.studio.api import colored_png, marked
from tests.studio.conftest import RunningStudio, color_engine
from tests.tasks import colored

# Raises the number of requests of the slow test.
COUNT_VARIABLE = "ANCHORNET_FUZZ_REQUESTS"
SECRET = b"a-secret-that-nobody-asked-for"

TEXTS = [
    "", "i1", "i2", "i3", "i999", "I1", "i-1", "i1\x00", "../secret.txt", "..%2fsecret.txt",
    "/etc/passwd", "%2e%2e%2fsecret.txt", "....//secret.txt", "C:\\secret", "file:///etc/passwd",
    "color", "nearest", "__class__", "constructor", "é𝄞\ud800", "x" * 5000, "'; drop", "<script>",
    "NaN", "null", "true", "j1", "j2", "average", "a.csv", "a.json", "{}", "\n\r\n", "0", "-1",
]  # fmt: skip
NUMBERS = [0, 1, -1, 0.5, 1e308, -1e308, 10**400, 2**63, float("nan"), float("inf"), 1e-320, 160]
PATHS = {
    "state": "GET", "images": "POST", "images/{}": "DELETE", "images/{}/picture": "GET",
    "features/{}": "GET", "flow": "GET", "responses/{}": "GET", "jobs": "POST",
    "jobs/{}": "DELETE", "jobs/{}/events": "GET", "jobs/{}/pictures/{}": "GET",
    "annotations/export": "POST", "annotations/import": "POST", "work": "PUT", "{}": "GET",
}  # fmt: skip
QUERY = ["name", "side", "descriptor", "matcher", "source", "target", "class", "token", "x"]
FIELDS = [
    "kind", "references", "images", "image", "threshold", "mirror", "references_per_image", "class",
    "descriptor", "matcher", "side", "format", "revision", "marks", "settings",
]  # fmt: skip


class Generator:
    """Makes requests, some nearly right and some not at all."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def request(self):
        """Returns a method, a path with its query, headers and a body."""
        r = self._random
        if r.random() < 0.25:
            return self.nearly_right()
        path = r.choice(list(PATHS))
        method = PATHS[path]
        if r.random() < 0.15:
            method = r.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"])
        path = path.format(
            *(urllib.parse.quote(self.text(), "/%", errors="surrogatepass") for _ in range(2))
        )
        if r.random() < 0.6:
            names = r.sample(QUERY, r.randint(1, 4))
            query = {
                name: (self.text() if r.random() < 0.5 else str(self.value(0))).encode(
                    "utf-8", "surrogatepass"
                )
                for name in names
            }
            path += "?" + urllib.parse.urlencode(query)
        headers = {}
        if r.random() < 0.1:
            headers["Last-Event-ID"] = r.choice(["5", "-1", "x", "9" * 30])
        if r.random() < 0.05:
            headers["Content-Type"] = r.choice(["text/plain", "application/json", "x"])
        return method, path, headers, self.body()

    def nearly_right(self):
        """Returns a request that would be right but for one thing, if that."""
        r = self._random
        kind = r.choice(["images", "jobs", "jobs", "annotations/export", "work", "flow"])
        if kind == "images":
            image = colored_png(r.randint(2, 40), r.randint(2, 40))
            return "POST", "images?name=" + r.choice(["a.png", "%00", "..%2f.."]), {}, image
        if kind == "flow":
            names = ["i1", "i2", "i3", self.text()[:20].encode("utf-8", "replace")]
            query = {"source": r.choice(names), "target": r.choice(names)}
            return "GET", "flow?" + urllib.parse.urlencode(query), {}, b""
        mark = marked(r.choice(["i1", "i2"]), (10, 10))
        document = {"references": [mark], "images": ["i1", "i2", "i3"]}
        if kind == "jobs":
            document |= {"kind": r.choice(["transfer", "many"]), "image": "i1", "side": 32}
        elif kind == "work":
            document = {"revision": r.randint(0, 3), "marks": [mark], "settings": {}}
        else:
            document["format"] = r.choice(["csv", "coco", "labelme"])
        if r.random() < 0.6:
            document[r.choice([*document, "threshold", "mirror"])] = self.value(2)
        return "PUT" if kind == "work" else "POST", kind, {}, json.dumps(document).encode()

    def body(self):
        r = self._random
        kind = r.random()
        if kind < 0.15:
            return r.randbytes(r.randint(0, 300))
        if kind < 0.25:
            image = bytearray(colored_png(r.randint(2, 40), r.randint(2, 40)))
            for _ in range(r.choice([0, 0, 1, 20])):
                image[r.randrange(len(image))] = r.randrange(256)
            return bytes(image if r.random() < 0.5 else image[: r.randint(1, len(image))])
        if kind < 0.3:
            return ("image,name,x,y\n" + f"{self.text()},{self.text()},{self.value(0)},1\n").encode(
                "utf-8", "replace"
            )
        if kind < 0.35:
            return b"[" * r.randint(1, 30000)
        document = {name: self.value(2) for name in r.sample(FIELDS, r.randint(0, 6))}
        if r.random() < 0.6:
            document["kind"] = r.choice(["transfer", "many", "responses"])
        if r.random() < 0.5:
            document["references"] = [self.mark() for _ in range(r.randint(0, 3))]
        if r.random() < 0.2:
            document["format"] = r.choice(["csv", "coco", "labelme"])
        return json.dumps(document).encode()

    def mark(self):
        r = self._random
        mark = marked(r.choice(["i1", "i2", "i1", "i9"]), (10, 10))
        if r.random() < 0.5:
            place = r.choice(mark["points"])
            place[r.choice(["x", "y", "name"])] = self.value(1)
        if r.random() < 0.3:
            mark["regions"] = [{"name": self.text(), "polygons": self.value(3)}]
        if r.random() < 0.2:
            mark[r.choice(["image", "points", "regions", "category"])] = self.value(2)
        return mark

    def text(self):
        # Often right, so that requests get past the first check.
        if self._random.random() < 0.4:
            return self._random.choice(["i1", "i2", "i3", "j1"])
        return self._random.choice(TEXTS)

    def value(self, depth):
        r = self._random
        kind = r.random()
        if depth and kind < 0.3:
            return [self.value(depth - 1) for _ in range(r.randint(0, 4))]
        if depth and kind < 0.45:
            return {self.text()[:20]: self.value(depth - 1) for _ in range(r.randint(0, 4))}
        if kind < 0.75:
            return r.choice(NUMBERS)
        return r.choice([*TEXTS, None, True, False])


def _fuzz(tmp_path, count, seed):
    folder = tmp_path / "things"
    folder.mkdir()
    for name, place in {"a.png": (10, 10), "b.png": (30, 20), "c.png": (5, 40)}.items():
        colored.save(folder, name, *place)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.png").write_bytes(colored_png() + SECRET)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    config = StudioConfig(port=0, max_upload=1, max_images=12)
    running = RunningStudio(config, [folder], color_engine(memory=2**24), folder)
    generator, statuses = Generator(seed), {}
    client = httpx.Client(base_url=f"{running.address}/api/v1/", timeout=60)
    try:
        for number in range(count):
            method, path, headers, body = generator.request()
            request = (method, path[:200], headers, body[:200])
            try:
                answer = client.request(method, path, headers=headers, content=body)
            except httpx.InvalidURL:
                continue
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, (number, request, answer.text[:300])
            assert b"Traceback" not in answer.content, (number, request)
            assert SECRET not in answer.content, (number, request)
            assert b"root:" not in answer.content, (number, request)
            if answer.status_code >= 400 and method != "HEAD" and "/events" not in path:
                assert "Received:" in answer.json()["error"], (number, request, answer.text[:300])
        # It still works.
        assert client.get("state").status_code == 200
        assert client.get("flow?source=i1&target=i2").status_code == 200
    finally:
        client.close()
        running.stop()
    return statuses


def test_some_hundreds_of_requests(tmp_path, studio_cache):
    statuses = _fuzz(tmp_path, 400, seed=1)
    # Enough of every kind got through.
    assert all(statuses.get(status, 0) > 1 for status in (200, 201, 202, 400, 404)), statuses


@pytest.mark.slow
def test_many_requests(tmp_path, studio_cache):
    count = int(os.environ.get(COUNT_VARIABLE, "10000"))
    statuses = _fuzz(tmp_path, count, seed=2)
    print(f"{count} requests: {dict(sorted(statuses.items()))}")
