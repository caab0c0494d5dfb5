"""The list of what is installed is complete and in its format."""

import json
import subprocess
import sys

from tests.repository.tree import ROOT


def test_the_list_holds_what_the_package_needs(tmp_path):
    path = tmp_path / "sbom.json"
    program = [sys.executable, str(ROOT / "tools" / "sbom.py"), f"--output={path}"]
    subprocess.run(program, check=True, capture_output=True)
    found = json.loads(path.read_text())
    assert found["bomFormat"] == "CycloneDX"
    assert found["metadata"]["component"]["name"] == "anchornet-tf"
    by_name = {each["name"]: each for each in found["components"]}
    assert {"tensorflow", "keras", "numpy", "h5py"} <= by_name.keys()  # h5py: of TensorFlow.
    references = {each["bom-ref"] for each in found["components"]}
    edges = {edge["ref"]: edge["dependsOn"] for edge in found["dependencies"]}
    assert by_name["keras"]["bom-ref"] in edges[by_name["tensorflow"]["bom-ref"]]
    assert all(set(needed) <= references for needed in edges.values())
