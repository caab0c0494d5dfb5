"""A bundle for TensorFlow Serving: a version with warm-up requests, server files, manifests."""

import json
import os
import pathlib
import shutil
import string

from anchornet_tf.utils import files
from export import model_card, warmup
from export.archive import versions

_TEMPLATES = pathlib.Path(__file__).with_name("deploy")
_SUFFIX = ".template"


def make_bundle(
    base: str | os.PathLike,
    output: str | os.PathLike,
    name: str = "anchornet",
    serving_version: str = "2.21.0",
) -> pathlib.Path:
    """Writes a bundle. Its folder appears only when it is complete.

    Args:
        base: Folder of versions, as `export.saved_model` writes it; the newest version is used.
        output: Folder that does not exist yet.
        name: Name of the model for clients and for Kubernetes: lower-case letters, digits and inner
            dashes.
        serving_version: Tag of the `tensorflow/serving` image.

    Returns:
        `output` as a path.

    Raises:
        FileExistsError: If `output` exists.
        ImportError: If the protos of TensorFlow Serving are not installed.
        ValueError: If there is no version, or the name has other characters.
    """
    allowed = set(string.ascii_lowercase + string.digits + "-")
    if not name or not set(name) <= allowed or "-" in (name[0], name[-1]):
        raise ValueError(
            f"Expected a name of lower-case letters, digits and inner dashes. Received: {name!r}"
        )
    found = versions(base)
    source = pathlib.Path(base) / str(found[-1]) if found else pathlib.Path(base)
    class_names = source / "assets" / model_card.CLASS_NAMES
    if not found or not class_names.is_file():
        raise ValueError(
            f"Expected a folder of versions that `export.saved_model` wrote. Received: {source}"
        )
    inputs = warmup.example_inputs(class_names.read_text().splitlines()[0])
    settings = json.loads((source / "assets" / model_card.CONFIGURATION).read_text())
    values = {
        "name": name,
        "version": str(found[-1]),
        "serving_version": serving_version,
        "matcher": settings["matcher"],
        # Versions that were exported before this setting existed look once.
        "looks": model_card.looks(settings.get("look_twice", 0)),
    }
    with files.atomic_folder(output) as temporary:
        model = temporary / "models" / name / str(found[-1])
        shutil.copytree(source, model)
        warmup.write(model, name, inputs)
        for template in sorted(_TEMPLATES.glob(f"*{_SUFFIX}")):
            text = string.Template(template.read_text()).substitute(values)
            (temporary / template.name.removesuffix(_SUFFIX)).write_text(text)
    return pathlib.Path(output)
