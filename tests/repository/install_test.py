"""docs/install.md is true: its extras are those of setup.py, and what needs which package."""

import os
import re
import subprocess
import sys

import numpy as np
import PIL.Image

from tests.repository import documents
from tests.repository.tree import ROOT

TEXT = documents.text_of("docs/install.md")

_WITHOUT = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow_datasets", "promise"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import anchornet_tf
from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.sources import open_source
for name in anchornet_tf.__all__:
    getattr(anchornet_tf, name)
for module in (
    "anchornet_tf.match", "anchornet_tf.viz", "anchornet_tf.studio.engine",
    "anchornet_tf.tasks.align_run", "anchornet_tf.tasks.transfer_run",
    "anchornet_tf.training.stage1.run", "anchornet_tf.training.stage2.run",
    "export.archive", "export.litert_files", "export.onnx_files",
):
    importlib.import_module(module)
print(parts_world.draw("bird", 3).image.shape, len(open_source("folder:images")))
try:
    open_source("parts_world")
except ImportError as error:
    print(error)
"""


def _table(heading: str) -> list[str]:
    """Returns the first cells of a table's rows that name extras."""
    section = TEXT.split(f"## {heading}")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return re.findall(r"`([\w,-]+)`", " ".join(row.split("|")[1] for row in rows))


def test_all_extras_are_described_and_were_resolved(monkeypatch):
    import setuptools

    given = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    exec(
        compile((ROOT / "setup.py").read_text(), "setup.py", "exec"),
        {"__file__": ROOT / "setup.py"},
    )
    extras = set(given["extras_require"])
    assert set(_table("Extras")) == extras
    resolved = _table("Wheels, and the one package that has none")
    assert set(",".join(resolved).split(",")) == extras


def test_most_works_without_tensorflow_datasets(tmp_path):
    for name in ("cat", "dog"):
        folder = tmp_path / "images" / name
        folder.mkdir(parents=True)
        for number in range(3):
            pixels = np.full((40, 40, 3), 40 * number, np.uint8)
            PIL.Image.fromarray(pixels).save(folder / f"{number}.png")
    finished = subprocess.run(
        [sys.executable, "-c", _WITHOUT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines() == [
        "(224, 224, 3) 4",
        "tensorflow_datasets is blocked",
    ]
