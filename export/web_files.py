"""A folder of files that any web server can serve: the hover page with a network behind it."""

import json
import os
import pathlib
import re
import shutil
from collections.abc import Sequence

import PIL.Image

import anchornet_tf
from anchornet_tf.datasets import parts_world
from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.utils import files
from anchornet_tf.utils.image_io import read_scaled
from export import onnx_files, web_models, web_runtime

_PAGE = pathlib.Path(__file__).with_name("page")
_STUDIO = pathlib.Path(anchornet_tf.__file__).parent / "studio" / "page"
_IMPORT = re.compile(r'from "\./([\w.]+)"')
_LINK = re.compile(r'(?:href|src)="((?:css/)?[\w.]+\.(?:css|svg))"')
_START = ("js/main.js", "js/worker.js")
# More than this no window shows.
_SHOWN_SIDE = 1024


def save(
    model: AnchorNet,
    output: str | os.PathLike,
    *,
    matcher: str = "hough",
    precision: str = "float16",
    images: Sequence[str | os.PathLike] = (),
    runtime: str | os.PathLike | None = None,
    name: str = "",
) -> pathlib.Path:
    """Writes the folder, whole or not at all.

    Args:
        model: `AnchorNet`.
        output: A folder that does not exist yet.
        matcher: `"nearest"` or `"hough"`.
        precision: How weights are stored, of `web_models.PRECISIONS`.
        images: Files that the page shows at first; none for drawn ones.
        runtime: As `source` in `web_runtime.load`.
        name: What the model is called on the page.

    Returns:
        `output` as a path.

    Raises:
        FileExistsError: If `output` exists.
        ImportError: If a package of the extra `onnx` is missing.
        OSError: If onnxruntime-web cannot be had, or an image cannot be read.
        ValueError: If the matcher or the precision is unknown, or a file is not what it should be.
    """
    output = pathlib.Path(output)
    check_free(output)
    contents = {f"runtime/{file}": data for file, data in web_runtime.load(runtime).items()}
    converted = web_models.convert(model, matcher=matcher, precision=precision, name=name)
    contents |= {f"models/{file}": data for file, data in converted.files.items()}
    about = {
        "model": name,
        "anchornet_tf": anchornet_tf.__version__,
        "onnxruntime_web": web_runtime.VERSION,
        "matcher": matcher,
        "precision": precision,
        "has_probabilities": converted.has_probabilities,
    }
    with files.atomic_folder(output) as folder:
        about["images"] = _write_images(folder, images)
        contents["about.json"] = (json.dumps(about, indent=2) + "\n").encode()
        for path, data in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        for path, source in page_files().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / path)
    return output


def export_folder(model: str, output: str, trunk: str = "imagenet", **options) -> pathlib.Path:
    """Exports the model of a folder or a preset.

    Args:
        model: Folder or preset, as in `AnchorNet.from_preset`.
        output: A folder that does not exist yet.
        trunk: The `weights` of `AnchorNet.from_preset`.
        **options: Those of `save`.

    Returns:
        `output` as a path.
    """
    # Nobody should wait for the weights to read that something is missing or in the way.
    onnx_files.libraries()
    check_free(pathlib.Path(output))
    network = AnchorNet.from_preset(presets.find(model), weights=trunk)
    return save(network, output, name=pathlib.Path(model).name, **options)


def check_free(output: pathlib.Path) -> None:
    """Raises FileExistsError where the folder holds something already."""
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(f"Expected a folder that does not exist yet. Received: {output}")


def page_files() -> dict[str, pathlib.Path]:
    """Returns the files of the page: where each goes, and where it is now.

    Modules and styles that the page does not have itself are the studio's. Those that are needed
    are found by following the imports.
    """
    found = {"index.html": _PAGE / "index.html"}
    waiting = [*_START, *_LINK.findall(found["index.html"].read_text())]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        own = _PAGE / path
        found[path] = own if own.is_file() else _STUDIO / path
        if path.startswith("js/"):
            waiting += [f"js/{other}" for other in _IMPORT.findall(found[path].read_text())]
    return found


def _write_images(folder: pathlib.Path, images) -> list[dict]:
    """Writes the images that the page starts with, and returns what it has to know of them."""
    (folder / "images").mkdir()
    described = []
    for index, (name, image) in enumerate(_pictures(images)):
        path = f"images/{index + 1}.png" if not images else f"images/{index + 1}.jpg"
        image.save(folder / path, quality=92)
        size = {"width": image.width, "height": image.height}
        described.append({"name": name, "file": path, **size})
    return described


def _pictures(images):
    if not images:
        for number, name in [(3, "bird"), (8, "bird"), (0, "cow"), (1, "cow"), (1, "bicycle")]:
            yield f"{name}-{number}.png", PIL.Image.fromarray(parts_world.draw(name, number).image)
    for path in images:
        pixels = read_scaled(path, max_side=_SHOWN_SIDE).pixels
        yield pathlib.Path(path).name, PIL.Image.fromarray(pixels)
