"""Asks a studio for everything from several clients at once, garbage among it, for some minutes.

    python tools/studio_load.py --minutes=3

A studio is started over drawn images. Every answer is compared with the first one to the same
question; the memory of the studio is printed at the start, in between and at the end. Of features
and flows, one number in a hundred may differ by more than a step or half a pixel: the last bits of
a network depend on which images went through it together, and two places may be as alike.
"""

import json
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import httpx
import numpy as np
import PIL.Image
import psutil
from absl import app, flags

ROOT = pathlib.Path(__file__).resolve().parents[1]
_MINUTES = flags.DEFINE_float("minutes", 3.0, "How long.")
_CLIENTS = flags.DEFINE_integer("clients", 8, "How many clients.")
_FEATURES = flags.DEFINE_string("features", "hog", "The descriptor.")
_MATCHER = flags.DEFINE_string("matcher", "nearest", "The matcher.")
_IMAGES = 6
_TELL_SECONDS = 20


def _agree(first: bytes, second: bytes) -> bool:
    """Returns whether two answers say the same; see the top for what that means."""
    if first == second:
        return True
    try:
        (header, numbers), (other, others) = _numbers(first), _numbers(second)
    except (ValueError, KeyError, UnicodeDecodeError):
        return False
    scale, other_scale = header.pop("scale", 1.0), other.pop("scale", 1.0)
    if header != other or len(numbers) != len(others):
        return False
    # Of bytes, a step is the scale; of pixels and probabilities, half of one is much.
    most = 1.5 * scale if header["dtype"] == "int8" else 0.5
    differing = np.abs(numbers * scale - others * other_scale) > most
    return bool(differing.mean() < 0.01)


def _numbers(answer: bytes) -> tuple[dict, np.ndarray]:
    """Reads a binary answer: its header and its numbers, those that are not known as zero."""
    length = int.from_bytes(answer[:4], "little")
    if length > len(answer):
        raise ValueError("no binary answer")
    header = json.loads(answer[4 : 4 + length])
    numbers = np.frombuffer(answer[4 + length :], header["dtype"])
    return header, np.nan_to_num(numbers.astype(np.float64))


class _Load:
    """What all clients share: the answers so far, and what went wrong."""

    def __init__(self, address: str):
        self.address = f"{address}api/v1/"
        self.answers, self.wrong, self.count = {}, [], 0
        self._lock = threading.Lock()

    def note(self, question: str, answer: httpx.Response) -> None:
        """Compares an answer with the first one to the same question."""
        with self._lock:
            self.count += 1
            if answer.status_code == 429:
                return
            if answer.status_code >= 500:
                self.wrong.append(f"{question}: {answer.status_code} {answer.text[:200]}")
                return
            # Nothing that is compared holds a time.
            known = self.answers.setdefault(question, answer.content)
            if answer.status_code == 200 and not _agree(known, answer.content):
                self.wrong.append(f"{question}: another answer than before")

    def run(self, seed: int, end: float) -> None:
        """Asks until the end."""
        chance = random.Random(seed)
        with httpx.Client(base_url=self.address, timeout=120) as client:
            while time.monotonic() < end:
                try:
                    self._ask(client, chance)
                except httpx.HTTPError as error:
                    self.wrong.append(repr(error))

    def _ask(self, client: httpx.Client, chance: random.Random) -> None:
        first, second = (f"i{chance.randint(1, _IMAGES)}" for _ in range(2))
        kind = chance.randrange(6)
        if kind == 0:
            self.note(f"features {first}", client.get(f"features/{first}"))
        elif kind == 1:
            question = f"flow?source={first}&target={second}"
            self.note(question, client.get(question))
        elif kind == 2:
            picture = f"images/{first}/picture?side={chance.choice([64, 300])}"
            self.note(picture, client.get(picture))
        elif kind == 3:
            garbage = chance.randbytes(chance.randint(1, 200_000))
            if chance.random() < 0.5:
                garbage = b"\x89PNG\r\n\x1a\n" + garbage
            answer = client.post("images?name=x.png", content=garbage)
            if answer.status_code != 400:
                self.wrong.append(f"garbage: {answer.status_code}")
        elif kind == 4:
            self._upload_and_remove(client, chance)
        else:
            points = [{"name": "p", "x": chance.randint(0, 200), "y": chance.randint(0, 200)}]
            fields = {"format": "csv", "references": [{"image": first, "points": points}]}
            # Not all: others come and go.
            fields["images"] = [f"i{number}" for number in range(1, _IMAGES + 1)]
            self.note(f"export {fields}", client.post("annotations/export", json=fields))

    def _upload_and_remove(self, client: httpx.Client, chance: random.Random) -> None:
        color = tuple(chance.randrange(256) for _ in range(3))
        with tempfile.SpooledTemporaryFile() as file:
            PIL.Image.new("RGB", (chance.randint(40, 400), 64), color).save(file, "BMP")
            file.seek(0)
            answer = client.post("images?name=new.bmp", content=file.read())
        if answer.status_code == 201:
            identifier = answer.json()["id"]
            client.get(f"features/{identifier}")
            client.delete(f"images/{identifier}")


def _draw(folder: pathlib.Path) -> None:
    from anchornet_tf.datasets import parts_world

    for number in range(_IMAGES):
        PIL.Image.fromarray(parts_world.draw("bird", number).image).save(folder / f"{number}.png")


def main(argv):
    del argv
    # It would tell of every request.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "images"
        folder.mkdir()
        _draw(folder)
        command = [sys.executable, "-m", "anchornet_tf.studio", "--noopen", "--port=0"]
        command += [f"--features={_FEATURES.value}", f"--matcher={_MATCHER.value}", str(folder)]
        command += ["--memory=64", "--max_images=30"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "ANCHORNET_CACHE": temporary}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            load, memory = _Load(address), psutil.Process(process.pid)
            load.run(0, time.monotonic() + _TELL_SECONDS)  # Warm: caches are filling.
            end = time.monotonic() + 60 * _MINUTES.value
            threads = [
                threading.Thread(target=load.run, args=(seed, end), daemon=True)
                for seed in range(1, _CLIENTS.value + 1)
            ]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                resident = memory.memory_info().rss / 2**20
                left = max(0, end - time.monotonic())
                print(f"{resident:.0f} MB, {load.count:,} answers, {left:.0f} s left", flush=True)
                time.sleep(min(_TELL_SECONDS, left + 2))
            print(f"{memory.memory_info().rss / 2**20:.0f} MB at the end")
        finally:
            process.terminate()
            process.wait(30)
    print(f"{load.count:,} answers, {len(load.wrong)} of them wrong")
    for text in load.wrong[:10]:
        print(text)
    if load.wrong:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
