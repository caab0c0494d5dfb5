"""Archives of arrays, folders of models and benchmarks, and what a server decodes, as targets."""

import json
import pathlib
import shutil
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.inputs import changed, damaged, encoded_images
from tests.fuzz.targets import Target


def archive_targets() -> list[Target]:
    """Returns what reads .npz files, each fed with damaged bytes and with other arrays."""
    from anchornet_tf.features.hog_background import HogBackground
    from anchornet_tf.matchers.flow import Flow
    from anchornet_tf.models.bank_file import BankFile
    from anchornet_tf.training import checkpoint
    from anchornet_tf.trunks.pca import HypercolumnPCA

    def newest(path):
        return checkpoint.read_newest(path.parent)

    return [
        Target("bank files", 1, _archive("bank.npz", _write_bank, BankFile.load)),
        Target("PCA files", 1, _archive("pca.npz", _write_pca, HypercolumnPCA.load)),
        Target("flows", 1, _archive("flow.npz", _write_flow, Flow.load)),
        Target("HOG statistics", 0.3, _archive("hog.npz", _write_hog, HogBackground.load)),
        Target("checkpoints", 0.7, _archive("checkpoint.npz", _write_checkpoint, newest)),
    ]


def folder_targets() -> list[Target]:
    """Returns what reads folders: models and benchmarks."""
    from anchornet_tf.datasets.annotated.registry import open_benchmark
    from anchornet_tf.models import anchornet_folder
    from tests.datasets.annotated import folders

    def benchmark(name, write):
        def make(folder):
            root = write(folder / name)
            files = sorted(path for path in root.rglob("*") if path.is_file())
            files = [path for path in files if path.suffix in (".mat", ".json", ".csv", ".txt")]
            originals = {path: path.read_bytes() for path in files}
            strategy = st.sampled_from(files).flatmap(
                lambda path: st.tuples(st.just(path), damaged([originals[path]]))
            )

            def prepare(pair):
                path, raw = pair
                path.write_bytes(raw)

                def read():
                    try:
                        open_benchmark(name, root)
                    finally:
                        path.write_bytes(originals[path])

                return read, root.name, raw

            return strategy, prepare

        return make

    writers = {
        "pf_willow": folders.willow,
        "pascal_parts": folders.flowweb,
        "animal_parts": folders.animals,
        "spair": folders.spair,
        "cub": folders.birds,
    }
    targets = [
        Target(f"benchmark {name}", 0.35, benchmark(name, write)) for name, write in writers.items()
    ]
    model = _model_folder(anchornet_folder.read)
    return [*targets, Target("model folders", 1, model)]


def server_targets() -> list[Target]:
    """Returns what a server decodes inside its graph."""

    def make(folder):
        import tensorflow as tf

        from export import image_bytes

        found = encoded_images()
        originals = [*found["JPEG"], *found["PNG"], *found["GIF"], *found["BMP"]]
        decode = tf.function(
            lambda raw: image_bytes.decode_batch(raw, (16, 16)),
            input_signature=[tf.TensorSpec((None,), tf.string)],
        )

        # Making the graph takes seconds, which no input is to blame for.
        decode(originals[:1])

        def read(raw):
            try:
                pixels, sizes = decode([raw])
            except tf.errors.InvalidArgumentError:
                return
            if not np.isfinite(pixels).all() or not (sizes.numpy() > 0).all():
                raise AssertionError("pixels that are not finite")

        return damaged(originals), lambda raw: (lambda: read(raw), "", raw)

    return [Target("bytes for a server", 0.6, make, names_file=False)]


def _archive(name: str, write: Callable, load: Callable):
    def make(folder):
        original = folder / f"original-{name}"
        write(original)
        raw = original.read_bytes()
        with np.load(original, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        path = folder / name
        strategy = st.one_of(damaged([raw]), _other_arrays(arrays))

        def prepare(given):
            if isinstance(given, bytes):
                path.write_bytes(given)
            else:
                np.savez(path, **given)
            return lambda: load(path), name, path.read_bytes()

        return strategy, prepare

    return make


@st.composite
def _other_arrays(draw, arrays: dict) -> dict:
    """Gives named arrays of which some are missing or have other shapes, types or values."""
    arrays = dict(arrays)
    for _ in range(draw(st.integers(1, 3))):
        if not arrays:
            break
        name = draw(st.sampled_from(sorted(arrays)))
        kind = draw(st.integers(0, 6))
        array = arrays[name]
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[name] = array[..., None]
        elif kind == 2:
            arrays[name] = array.ravel()[: draw(st.integers(0, 3))]
        elif kind == 3:
            arrays[name] = np.array(draw(st.sampled_from(["text", 1.5, -3, True, 1j, np.nan])))
        elif kind == 4:
            arrays[name] = np.full(array.shape, draw(st.sampled_from([np.nan, np.inf, 1e38, -1.0])))
        elif kind == 5:
            kind = draw(st.sampled_from(["f2", "f8", "i8", "c16"]))
            arrays[name] = array.astype(kind) if array.dtype.kind in "fiub" else array
        else:
            text = draw(changed([{"class_name": "a", "pca_digest": "b", "record": {}}]))
            arrays[name] = np.frombuffer(json.dumps(text).encode(), np.uint8)
    return arrays


def _write_bank(path: pathlib.Path) -> None:
    from anchornet_tf.models.bank_file import BankFile

    arrays = {name: np.ones(2, np.float32) for name in ("bias", "running_mean", "running_square")}
    arrays["kernel"] = np.ones((3, 3, 6, 2), np.float32)
    BankFile("bird", arrays, "digest", {"steps": 3}, np.eye(2)).save(path)


def _write_pca(path: pathlib.Path) -> None:
    from anchornet_tf.trunks.pca import HypercolumnPCA, TapPCA

    tap = TapPCA(np.zeros(4), np.eye(4)[:, :2], np.ones(2), 3.0)
    HypercolumnPCA((tap,) * 3, {"images": 3}).save(path)


def _write_flow(path: pathlib.Path) -> None:
    from anchornet_tf.matchers.flow import Flow

    Flow(np.zeros((5, 6, 2), np.float32), (7, 8)).save(path)


def _write_hog(path: pathlib.Path) -> None:
    from anchornet_tf.features import hog_background

    shutil.copy(hog_background.SHIPPED_PATH, path)


def _write_checkpoint(path: pathlib.Path) -> None:
    from anchornet_tf.training import checkpoint

    folder = path.parent / "checkpoint"
    folder.mkdir()
    checkpoint.write(folder, 3, {"a/kernel": np.ones((2, 3), np.float32), "b": np.zeros(4)})
    (folder / "checkpoint.npz").rename(path)


def _model_folder(read: Callable):
    def make(folder):
        root = folder / "model"
        root.mkdir()
        options = {"classes": ["bird"], "num_filters": 4, "latent_filters": 2, "dimensions": 8}
        config = {"format": "anchornet_tf.AnchorNet/1", "trunk": "imagenet", "record": {}}
        config["options"] = {**options, "gamma": "whitened", "image_size": 64}
        arrays = {"bank/bird/kernel": np.ones((3, 3, 24, 4)), "code_equalizer/matrix": np.eye(2)}
        np.savez(root / "heads.npz", **arrays)
        heads = (root / "heads.npz").read_bytes()
        strategy = st.tuples(changed([config]), st.one_of(st.just(heads), damaged([heads])))

        def prepare(pair):
            (root / "config.json").write_text(json.dumps(pair[0]))
            (root / "heads.npz").write_bytes(pair[1])
            return lambda: read(root), root.name, repr(pair)

        return strategy, prepare

    return make
