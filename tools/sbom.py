"""Writes a list of everything that is installed with the package (SBOM, CycloneDX 1.6 as JSON).

    python tools/sbom.py --output=sbom.json

It holds the package, what it requires and what that requires in turn, extras included where they
are installed: names, versions, licences and the files' checksums that pip recorded.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import re

from absl import app, flags
from packaging.requirements import Requirement

_OUTPUT = flags.DEFINE_string("output", "sbom.json", "Where to write the list.")
_ROOT = "anchornet_tf"
_LONGEST_LICENCE = 80  # Some packages put the whole text into the field.


def required(root: str) -> dict[str, importlib.metadata.Distribution]:
    """Returns a package and all that it needs, as far as it is installed, by their plain names."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [root]
    while waiting:
        name = _plain(waiting.pop())
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += [Requirement(line).name for line in found[name].requires or ()]
    return found


def bill(distributions: dict[str, importlib.metadata.Distribution]) -> dict:
    """Returns the list as CycloneDX wants it."""
    components = [_component(name, distributions[name]) for name in sorted(distributions)]
    (root,) = (each for each in components if each["name"] == _plain(_ROOT))
    edges = [
        {
            "ref": _reference(name, each),
            "dependsOn": sorted(
                _reference(other, distributions[other])
                for other in {_plain(Requirement(line).name) for line in each.requires or ()}
                if other in distributions
            ),
        }
        for name, each in sorted(distributions.items())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [each for each in components if each is not root],
        "dependencies": edges,
    }


def _component(name: str, distribution: importlib.metadata.Distribution) -> dict:
    metadata = distribution.metadata
    found = {
        "type": "library",
        "bom-ref": _reference(name, distribution),
        "name": name,
        "version": distribution.version,
        "purl": _reference(name, distribution),
    }
    licence = metadata.get("License-Expression") or metadata.get("License") or ""
    if licence and len(licence) <= _LONGEST_LICENCE:
        found["licenses"] = [{"license": {"name": licence}}]
    record = distribution.read_text("RECORD")
    if record is not None:
        # RECORD names every file with its checksum.
        digest = hashlib.sha256(record.encode()).hexdigest()
        found["properties"] = [{"name": "RECORD sha256", "value": digest}]
    return found


def _reference(name: str, distribution: importlib.metadata.Distribution) -> str:
    return f"pkg:pypi/{name}@{distribution.version}"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(argv):
    if argv[1:]:
        raise app.UsageError(f"Expected flags only. Received: {' '.join(argv[1:])}")
    distributions = required(_ROOT)
    path = pathlib.Path(_OUTPUT.value)
    path.write_text(json.dumps(bill(distributions), indent=1) + "\n")
    print(f"{len(distributions)} packages in {path}")


if __name__ == "__main__":
    app.run(main)
