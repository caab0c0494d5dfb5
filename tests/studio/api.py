"""A client of the studio's API, for tests."""

import io
import json

import httpx
import numpy as np
import PIL.Image

from anchornet_tf.studio.packing import unpack
from tests.tasks import colored


class Api:
    """Calls a studio.

    Args:
        address: str, `http://127.0.0.1:PORT`.
    """

    def __init__(self, address):
        self.client = httpx.Client(base_url=f"{address}/api/v1", timeout=120)

    def __getattr__(self, name):
        return getattr(self.client, name)

    def binary(self, path, **query):
        """Returns the header and the array of a binary answer."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return unpack(answer.content)

    def start(self, **job):
        """Starts a job and returns its id."""
        answer = self.client.post("/jobs", json=job)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]

    def events(self, job, after=None, most=None):
        """Returns `(number, kind, data)` of the events of a job, until it ends."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        events, current = [], {}
        with self.client.stream("GET", f"/jobs/{job}/events", headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith(":"):
                    continue
                if line:
                    name, _, value = line.partition(": ")
                    current[name] = value
                elif current:
                    data = json.loads(current["data"])
                    events.append((int(current["id"]), current["event"], data))
                    current = {}
                    if most is not None and len(events) == most:
                        break
        return events

    def results(self, **job):
        """Runs a job and returns its results by image, and what `done` said."""
        events = self.events(self.start(**job))
        kind, data = events[-1][1:]
        assert kind == "done", data
        return {e["image"]: e for _, kind, e in events if kind == "result"}, data


def png(image) -> bytes:
    """Returns an array as a PNG file."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.asarray(image)).save(buffer, "PNG")
    return buffer.getvalue()


def colored_png(left=20, top=20) -> bytes:
    """Returns a picture of the colored object as a PNG file."""
    return png(colored.picture(left, top)[0])


def marked(image, place, names=None) -> dict:
    """Returns the marks of the colored object in an image whose object is at a place."""
    points = colored.picture(*place)[1]
    chosen = points if names is None else names
    return {
        "image": image,
        "points": [{"name": n, "x": points[n][0], "y": points[n][1]} for n in chosen],
        "regions": [],
    }
