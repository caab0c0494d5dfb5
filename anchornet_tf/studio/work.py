"""The work of the user, kept in a file: it survives a reload and a restart, and tabs share it."""

import contextlib
import hashlib
import json
import os
import pathlib
import sys
import threading

from anchornet_tf.studio import marks
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.utils.files import atomic_file, cache_folder, locked

_SETTINGS_BYTES = 64 * 1024
_VERSION = 1


class WorkFile:
    """Marks and settings. Marks are kept by the names of images, whose ids may change.

    Args:
        library: The images.
    """

    def __init__(self, library: Library):
        self._library = library
        place = "examples" if library.folder is None else os.fspath(library.folder)
        digest = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self._path: pathlib.Path | None = cache_folder() / "studio" / f"work-{digest}.json"
        self._kept = {"revision": 0, "marks": [], "settings": {}}
        self._lock = threading.Lock()

    def read(self) -> dict:
        """Returns the work: its revision, marks with ids of images, settings."""
        with self._lock:
            return self._shown(self._load())

    @property
    def revision(self) -> int:
        """How often the work was changed."""
        with self._lock:
            return self._load()["revision"]

    def write(self, document: dict) -> int:
        """Replaces the work.

        Args:
            document: `{"revision", "marks", "settings"}`, of which the revision is the one that was
                read before.

        Returns:
            The new revision.

        Raises:
            Refusal: If the work was changed by somebody else meanwhile (409, with that work), or
                something is not as it must be.
        """
        revision = document.get("revision")
        if isinstance(revision, bool) or not isinstance(revision, int):
            raise expected("a whole number as `revision`", revision)
        given = document.get("marks") or []
        marks.parse_marks(given, self._library)
        settings = document.get("settings")
        settings = {} if settings is None else settings
        if not isinstance(settings, dict) or len(json.dumps(settings)) > _SETTINGS_BYTES:
            raise expected(f"an object of at most {_SETTINGS_BYTES} bytes as `settings`", settings)
        keys = {entry.id: entry.key for entry in self._library.all()}
        kept = [{**mark, "image": keys[mark["image"]]} for mark in given]
        with self._lock, self._locked():
            current = self._load()
            if current["revision"] != revision:
                raise Refusal(
                    409,
                    "Expected the revision that was read last. "
                    f"Received: {revision}, while the work is at {current['revision']}",
                    **self._shown(current),
                )
            known = set(keys.values())
            # What is marked in images that are not here today is not lost.
            kept += [mark for mark in current["marks"] if mark["image"] not in known]
            self._save({"revision": revision + 1, "marks": kept, "settings": settings})
            return revision + 1

    def _locked(self):
        try:
            return locked(self._path) if self._path else contextlib.nullcontext()
        except OSError:
            return contextlib.nullcontext()

    def _shown(self, work: dict) -> dict:
        ids = {entry.key: entry.id for entry in self._library.all()}
        shown = [
            {**mark, "image": ids[mark["image"]]} for mark in work["marks"] if mark["image"] in ids
        ]
        return {"revision": work["revision"], "marks": shown, "settings": work["settings"]}

    def _load(self) -> dict:
        if self._path is None:
            return self._kept
        try:
            work = json.loads(self._path.read_text())
            fits = isinstance(work, dict) and work.pop("version", None) == _VERSION
            if not fits or work.keys() != self._kept.keys():
                raise ValueError("another version")
        except FileNotFoundError:
            return self._kept
        except (OSError, ValueError, RecursionError) as error:
            print(f"Begun anew: {self._path} cannot be read ({error}).", file=sys.stderr)
            return self._kept
        return work

    def _save(self, work: dict) -> None:
        if self._path is not None:
            try:
                with atomic_file(self._path) as temporary:
                    temporary.write_text(json.dumps({"version": _VERSION, **work}))
                return
            except OSError as error:
                print(f"The work is kept in memory only: {error}", file=sys.stderr)
                self._path = None
        self._kept = work
