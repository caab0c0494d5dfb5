"""The short campaign of faults finds nothing."""

import subprocess
import sys

import pytest

from tests.repository.tree import ROOT


@pytest.mark.slow
def test_the_short_campaign_finds_nothing():
    command = [sys.executable, "-m", "tests.chaos", "--short", "--seed=1"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert "Found nothing." in result.stdout
