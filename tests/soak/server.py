"""A model server as a process: serves the newest version in a folder, over gRPC and REST.

    python -m tests.soak.server FOLDER GRPC_PORT REST_PORT

As TensorFlow Serving does, it loads a version that appears while the one before still answers, and
then answers with the new one. It stands in for the real server, whose binary is in no Python
package (see `tests.export.model_server`).
"""

import os
import pathlib
import sys
import time

from export import archive
from tests.export import model_server

MODEL = "anchornet"
_LOOK_EVERY = 0.5


class NewestVersion:
    """What the services ask: the newest `Servable` of a folder.

    Args:
        folder: Folder of the versions.
    """

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        self._current = self._load(archive.versions(folder)[-1])

    def _load(self, version: int) -> model_server.Servable:
        return model_server.Servable(self._folder / str(version), MODEL, version)

    def look(self) -> None:
        """Loads a newer version, if there is one."""
        newest = archive.versions(self._folder)[-1]
        if newest != self._current.version:
            # Requests that have begun keep the version that they began with.
            self._current = self._load(newest)

    def __getattr__(self, name):
        return getattr(self._current, name)


def main() -> None:
    folder, grpc_port, rest_port = sys.argv[1:]
    newest = NewestVersion(pathlib.Path(folder))
    with (
        model_server.grpc_server(newest, int(grpc_port)),
        model_server.rest_server(newest, int(rest_port)),
    ):
        parent = os.getppid()
        # It ends with the process that started it, however that one ended.
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
            newest.look()


if __name__ == "__main__":
    main()
