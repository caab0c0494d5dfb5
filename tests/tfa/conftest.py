"""Runs tensorflow-addons once in its own environment, for the tests that compare with it."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
_ENVIRONMENT = _REPOSITORY / ".venv-tfa"


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """Returns the arrays of `tests/tfa/reference.py` by name."""
    # The stamp is written last: without it the environment is not there or not complete.
    if not (_ENVIRONMENT / ".requirements-stamp").exists():
        pytest.skip("no environment with tensorflow-addons: run `make test-tfa`, which builds it")
    output = tmp_path_factory.mktemp("tfa") / "reference.npz"
    # The variables of the calling environment would point Python at the wrong packages.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    finished = subprocess.run(
        [_ENVIRONMENT / "bin" / "python", "-W", "ignore", "-m", "tests.tfa.reference", output],
        cwd=_REPOSITORY,
        env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr
    with np.load(output) as arrays:
        return dict(arrays)
