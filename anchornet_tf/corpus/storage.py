"""Files of a corpus: local ones, and by Beam's file systems those of gs://, s3:// and hdfs://."""

import os
import pathlib
import posixpath

from anchornet_tf.corpus.extras import need
from anchornet_tf.utils import files


def is_remote(path: str | os.PathLike) -> bool:
    """Tells whether a path needs one of Beam's file systems."""
    return "://" in os.fspath(path)


def join(folder: str | os.PathLike, name: str) -> str:
    """Returns the path of a file in a folder; a name that is a whole path stays as it is."""
    if is_remote(name) or os.path.isabs(name):
        return name
    folder = os.fspath(folder)
    return posixpath.join(folder, name) if is_remote(folder) else os.path.join(folder, name)


def read_bytes(path: str | os.PathLike) -> bytes:
    """Returns the contents of a file."""
    if not is_remote(path):
        return pathlib.Path(path).read_bytes()
    with _file_systems().open(os.fspath(path), compression_type=_plain()) as handle:
        return handle.read()


def write_bytes(path: str | os.PathLike, contents: bytes) -> None:
    """Writes a file that is whole or absent."""
    if not is_remote(path):
        with files.atomic_file(path) as temporary:
            temporary.write_bytes(contents)
        return
    # Object stores show a file when it is closed, and not before.
    with _file_systems().create(os.fspath(path), compression_type=_plain()) as handle:
        handle.write(contents)


def exists(path: str | os.PathLike) -> bool:
    """Tells whether there is such a file."""
    if not is_remote(path):
        return os.path.exists(path)
    return _file_systems().exists(os.fspath(path))


def names(folder: str | os.PathLike, suffix: str) -> list[str]:
    """Returns the names of a folder's files with a suffix, in order; none for no folder."""
    if not is_remote(folder):
        if not os.path.isdir(folder):
            return []
        found = [entry.name for entry in os.scandir(folder) if entry.name.endswith(suffix)]
        return sorted(name for name in found if not name.startswith("."))
    matched = _file_systems().match([join(folder, f"*{suffix}")])[0].metadata_list
    return sorted(posixpath.basename(each.path) for each in matched)


def matching(pattern: str) -> list[str]:
    """Returns the files of a remote pattern such as `gs://bucket/photos/*.jpg`, in order."""
    return sorted(each.path for each in _file_systems().match([pattern])[0].metadata_list)


def _file_systems():
    return need("apache_beam.io.filesystems").FileSystems


def _plain():
    # Beam would unpack files by their suffix.
    return need("apache_beam.io.filesystem").CompressionTypes.UNCOMPRESSED
