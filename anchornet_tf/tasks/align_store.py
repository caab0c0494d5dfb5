"""What is done of an alignment, on disk: the same command goes on from there."""

import json
import os
import pathlib
import shutil
from collections.abc import Mapping

import numpy as np

from anchornet_tf.tasks.align import Store
from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.flow_web.optimization import Consistent
from anchornet_tf.tasks.flow_web.web import Web
from anchornet_tf.utils.array_archive import open_archive
from anchornet_tf.utils.files import atomic_file, make_folder

_MATCHED = "matched.json"
_SETTINGS = "settings.json"
_LINKS = "links.npz"
_ITERATION = "iteration.npz"


class FolderStore(Store):
    """Keeps the pairs' flows, image by image, and the flows after the last iteration.

    What other images, matchers or settings left in the folder is removed.

    Args:
        folder: Where to keep it.
        matched: What the flows of the pairs depend on, ready for JSON.
        settings: What the iterations depend on besides.
        iterations: int. The most iterations: what is kept of more is of no use.
    """

    def __init__(
        self, folder: str | os.PathLike, matched: Mapping, settings: Mapping, iterations: int
    ):
        self._folder = pathlib.Path(folder)
        self._iterations = iterations
        if self._differs(_MATCHED, matched):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._differs(_SETTINGS, settings):
            (self._folder / _ITERATION).unlink(missing_ok=True)
        make_folder(self._folder)
        for name, values in ((_MATCHED, matched), (_SETTINGS, settings)):
            with atomic_file(self._folder / name) as temporary:
                temporary.write_text(json.dumps(values, indent=1) + "\n")

    def links(self) -> Links | None:
        """As in `Store`."""
        kept = self._read(_LINKS)
        return kept and Links(tuple(kept[f"neighbors_{n}"] for n in range(len(kept))))

    def save_links(self, links: Links) -> None:
        """As in `Store`."""
        self._write(_LINKS, {f"neighbors_{n}": own for n, own in enumerate(links.neighbors)})

    def start(self, source: int) -> np.ndarray | None:
        """As in `Store`."""
        kept = self._read(_start_name(source))
        return kept and kept["flows"]

    def save_start(self, source: int, flows: np.ndarray) -> None:
        """As in `Store`."""
        self._write(_start_name(source), {"flows": flows})

    def iteration(self, start: Web) -> Consistent | None:
        """As in `Store`."""
        kept = self._read(_ITERATION)
        if not kept or len(kept["objective"]) > self._iterations:
            return None
        flows = [kept[f"flows_{n}"] for n in range(len(start))]
        web = Web(start.size, start.links, flows)
        return Consistent(web, tuple(kept["objective"].tolist()))

    def save_iteration(self, found: Consistent) -> None:
        """As in `Store`."""
        flows = {f"flows_{n}": own for n, own in enumerate(found.web.flows)}
        self._write(_ITERATION, {"objective": found.objective, **flows})

    def _differs(self, name: str, values: Mapping) -> bool:
        try:
            kept = json.loads((self._folder / name).read_text())
        except (OSError, ValueError):
            return True
        return kept != json.loads(json.dumps(values))

    def _read(self, name: str) -> dict | None:
        path = self._folder / name
        if not path.is_file():
            return None
        with open_archive(path) as archive:
            return dict(archive)

    def _write(self, name: str, arrays: Mapping) -> None:
        with atomic_file(self._folder / name) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)


def _start_name(source: int) -> str:
    return f"start-{source:04d}.npz"
