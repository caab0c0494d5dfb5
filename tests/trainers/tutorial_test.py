"""docs/own_classes.md is correct: its commands, in order, on drawn images under other names."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from PIL import Image

import anchornet_tf
from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.label_map import find
from tests.repository import documents
from tests.repository.tree import ROOT

TEXT = documents.text_of("docs/own_classes.md")
# What makes the commands quick; all else is as it is written.
QUICK = {
    "trainers.stage1": "--steps=4 --views=1 --num_filters=64 --batch_size=4",
    "trainers.stage2": "--steps=2 --batch_size=4 --calibration_images=8",
}


def _commands() -> list[list[str]]:
    # What follows are measurements on data that is not here.
    steps = TEXT.split("\n## Background")[0]
    lines = "\n".join(documents.blocks(steps)).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[2:] for line in lines if line.startswith("python -m ")]


def test_commands_and_their_flags_exist():
    for module, used in documents.commands(TEXT):
        assert set(used) <= documents.flags_of(module), module


def test_the_label_map_is_one():
    (text,) = [block for block in documents.blocks(TEXT, "text") if block.startswith("{")]
    merged = find(json.loads(text)).apply(["snowy egret", "sky", "tree"])
    assert list(merged.values()) == ["egret", "background", "background"]


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    for name, drawn in {"giraffe": "horse", "okapi": "cow"}.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for index in range(1, 13):
            image = Image.fromarray(parts_world.draw(drawn, index).image)
            image.save(tmp_path / "photos" / name / f"{index:03}.jpg")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = {}
    for module, *arguments in _commands():
        quick = QUICK.get(module, "").split()
        finished = subprocess.run(
            [sys.executable, "-m", module, *arguments, *quick],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert finished.returncode == 0, (module, arguments, finished.stderr[-3000:])
        printed[module, *arguments] = finished.stdout
        if "--dry_run" in arguments:
            assert not (tmp_path / "runs").exists(), "a dry run writes nothing"
            said = re.findall(r"^(\w+): ", finished.stdout, re.MULTILINE)
            shown = re.findall(r"^(\w+): ", "\n".join(documents.blocks(TEXT, "text")), re.M)
            said.remove("Few")  # Twelve images are.
            assert said == shown and "giraffe 1" in finished.stdout
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"match.png", "across.png", "runs/stage1-all/pictures/giraffe.png"} <= made
    assert "exported/animals/1/saved_model.pb" in made
    joined = anchornet_tf.load(tmp_path / "runs" / "stage2" / "model")
    assert joined.classes == ("giraffe", "okapi") and joined.latent_filters == 64
    added = anchornet_tf.load(tmp_path / "runs" / "voc20-and-mine" / "model")
    assert added.classes[-2:] == ("giraffe", "okapi") and len(added.classes) == 22
