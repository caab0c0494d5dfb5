"""The program: it says where it is, opens nothing unasked, and ends when it is told."""

import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from anchornet_tf.studio.config import StudioConfig
from tests.repository.tree import ROOT


def _start(*arguments, cache):
    environment = os.environ | {"ANCHORNET_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "anchornet_tf.studio", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_prints_its_address_and_ends_on_ctrl_c(image_folder, tmp_path):
    # SIFT: the real network would be loaded otherwise.
    arguments = "--noopen", "--port=0", "--features=sift", "--matcher=nearest", image_folder
    process = _start(*arguments, cache=tmp_path)
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        state = httpx.get(f"{address}api/v1/state", timeout=60).json()
        assert state["default"] == {"descriptor": "sift", "matcher": "nearest"}
        assert len(state["images"]) == 4 and "bird" in state["classes"]
        job = {"kind": "many", "image": "i1"}
        assert httpx.post(f"{address}api/v1/jobs", json=job).status_code == 202
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error.strip() == "Stopped. What was marked is kept."


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--noopen", "nowhere"], "Received: 'nowhere'"),
        (["--noopen", "--port=99999"], "`port` must be from 0 to 65535"),
        (["--noopen", "--features=magic"], "--features must be one of"),
    ],
)
def test_mistakes_get_one_line(arguments, message, tmp_path):
    process = _start(*arguments, cache=tmp_path)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert error.startswith("Error: ") and message in error and error.count("\n") == 1


def test_a_port_that_is_taken(studio_server, tmp_path):
    port = studio_server.address.rpartition(":")[2]
    process = _start("--noopen", f"--port={port}", cache=tmp_path)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1 and "--port=0 takes any free port" in error


def test_limits_are_checked():
    with pytest.raises(ValueError, match="max_images"):
        StudioConfig(max_images=0)
