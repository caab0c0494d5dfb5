"""The repository speaks of the product alone and holds no stray large files."""

import subprocess

import pytest

from tests.repository.tree import ROOT


def _tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listing.stdout.split("\0") if name]


def test_no_file_is_over_25_megabytes():
    sizes = {name: (ROOT / name).stat().st_size for name in _tracked() if (ROOT / name).is_file()}
    assert sizes and max(sizes.values()) < 25 * 2**20


def test_no_image_of_the_reference_data_is_tracked():
    assert not [
        name for name in _tracked() if name.startswith(("data/", "golden/", "shared/", "runs/"))
    ]
