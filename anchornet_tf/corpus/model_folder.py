"""What describes a corpus, on disk: a preset, the folder of a model, or an exported SavedModel.

Needs no TensorFlow.
"""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib

from anchornet_tf.models import presets

_GRAPH, _VARIABLES, _ASSETS = "saved_model.pb", "variables", "assets"
_CONFIGURATION, _CONFIDENCE = "configuration.json", "confidence.json"
_FUNCTION = "anchors"


@dataclasses.dataclass(frozen=True)
class ModelFolder:
    """The folder of a model.

    Attributes:
        path: The folder; of an export, that of one version.
        is_exported: bool. Whether it is a SavedModel.
    """

    path: pathlib.Path
    is_exported: bool

    @classmethod
    def find(cls, model: str | os.PathLike) -> "ModelFolder":
        """Finds a model.

        Args:
            model: The name of a preset, the folder of an `AnchorNet`, or what `export.saved_model`
                wrote: one version, or the folder of all, of which the newest counts.

        Raises:
            ValueError: If it is none of these.
        """
        folder = pathlib.Path(model)
        for version in (folder, _newest(folder)):
            if version is not None and (version / _GRAPH).is_file():
                found = cls(version, True)
                if _FUNCTION not in found._configuration.get("functions", ()):
                    raise ValueError(
                        "Expected a SavedModel of this version's export.saved_model, with the "
                        f"function {_FUNCTION!r}. Received: {version}"
                    )
                return found
        return cls(presets.find(model), False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the model's classes."""
        return tuple(self._option("classes", list))

    @property
    def num_filters(self) -> int:
        """How many filters a bank has."""
        return self._option("num_filters", int)

    def confidence(self) -> dict | None:
        """Returns what tells how sure matches of its descriptors are, or None."""
        path = (self.path / _ASSETS if self.is_exported else self.path) / _CONFIDENCE
        return json.loads(path.read_text()) if path.is_file() else None

    def digest(self) -> str:
        """Returns what identifies the weights, without loading them."""
        if self.is_exported:
            paths = [self.path / _GRAPH, *sorted((self.path / _VARIABLES).iterdir())]
        else:
            paths = sorted(self.path.glob("*.npz"))
        total = hashlib.sha256()
        for path in paths:
            total.update(path.name.encode())
            total.update(path.read_bytes())
        return total.hexdigest()[:16]

    def _option(self, name: str, kind: type):
        options = self._configuration.get("options", {})
        if not isinstance(options.get(name), kind):
            raise ValueError(
                f"Expected the configuration of a model, with {name!r}, beside its arrays. "
                f"Received: {self.path}"
            )
        return options[name]

    @functools.cached_property
    def _configuration(self) -> dict:
        """What the model is; empty where it does not say."""
        path = self.path / (f"{_ASSETS}/{_CONFIGURATION}" if self.is_exported else "config.json")
        try:
            contents = json.loads(path.read_text())
            return contents if isinstance(contents["options"], dict) else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _newest(folder: pathlib.Path) -> pathlib.Path | None:
    numbers = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    numbers = [name for name in numbers if name.isascii() and name.isdigit()]
    return folder / max(numbers, key=int) if numbers else None
