"""The documents become a site without a warning, and one that needs nothing from elsewhere."""

import json
import re
import subprocess
import sys

import pytest

import anchornet_tf
from tests.repository.tree import ROOT

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", f"--site-dir={folder}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-2000:]
    return folder


def test_every_public_name_is_described(site):
    page = (site / "api.html").read_text()
    for name, home in anchornet_tf._HOMES.items():
        assert f'id="{home}.{name}"' in page, name
    assert ".__init__" not in page  # Classes are described by their own text.


def test_every_document_is_a_page(site):
    expected = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index", "changelog", "api"}
    assert {path.stem for path in site.glob("*.html")} >= expected
    assert "Install" in (site / "index.html").read_text()


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        fetched = re.findall(r'<(?:script|img|iframe)[^>]*\bsrc="([^"]+)"', text)
        fetched += re.findall(r'<link[^>]*\bhref="([^"]+)"', text)
        assert not [place for place in fetched if re.match(r"(?:https?:)?//", place)], page.name


def test_the_search_knows_the_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert {"serving.html", "api.html", "results.html"} <= places
