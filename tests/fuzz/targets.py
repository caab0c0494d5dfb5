"""What reads files from elsewhere: how each is fed, and which share of the inputs it gets."""

import dataclasses
import json
import pathlib
from collections.abc import Callable

import numpy as np
import PIL.Image
from hypothesis import strategies as st

from tests.fuzz.inputs import changed, damaged, encoded_images

_COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 90, "height": 70}],
    "categories": [{"id": 3, "name": "bird", "keypoints": ["head", "tail"], "skeleton": [[1, 2]]}],
    "annotations": [
        {
            "id": 1,
            "image_id": 1,
            "category_id": 3,
            "keypoints": [10, 20, 2, 30.5, 40, 1],
            "num_keypoints": 2,
            "bbox": [5, 5, 40, 30],
            "area": 1200,
            "iscrowd": 0,
            "segmentation": [[5, 5, 45, 5, 45, 35, 5, 35]],
        },
        {
            "id": 2,
            "image_id": 1,
            "category_id": 3,
            "segmentation": {"size": [70, 90], "counts": [100, 30, 6170]},
            "bbox": [1, 1, 2, 2],
            "iscrowd": 1,
        },
        {
            "id": 3,
            "image_id": 1,
            "category_id": 3,
            "segmentation": {"size": [70, 90], "counts": [6300]},
            "bbox": [1, 1, 2, 2],
            "iscrowd": 0,
        },
    ],
}
_LABELME = {
    "version": "5.0.1",
    "flags": {},
    "imagePath": "a.png",
    "imageData": None,
    "imageHeight": 70,
    "imageWidth": 90,
    "shapes": [
        {"label": "head", "points": [[1, 2]], "shape_type": "point", "group_id": 1, "flags": {}},
        {"label": "body", "points": [[1, 2], [50, 2], [50, 60]], "shape_type": "polygon"},
        {"label": "box", "points": [[1, 2], [50, 60]], "shape_type": "rectangle"},
        {"label": "disc", "points": [[20, 20], [25, 20]], "shape_type": "circle"},
        {"label": "way", "points": [[1, 2], [9, 9]], "shape_type": "linestrip"},
    ],
}
_TABLE = b'image,name,x,y\na.png,head,10,20.5\na.png,tail,30,1e1\nb.png,"left, leg",3,4\n'
_MANIFEST = b"path,labels\na.png,bird;cow\nb.png,background\n"
_JOURNAL = (
    b'{"version": "1", "features": "hc"}\n'
    b'{"pair": "a-b", "notes": {"pck": [1, 0.5], "n": 3}}\n'
    b'{"pair": "b-a", "notes": {"error": "none"}}\n'
)


@dataclasses.dataclass(frozen=True)
class Target:
    """Something that reads files.

    Attributes:
        name: In the table.
        share: float. How many inputs it gets, relative to others.
        make: Given a folder, returns the strategy of inputs and the function that reads one: it
            returns what does the reading, the name of the file, and its bytes.
        names_file: bool. Whether refusals have to name the file.
    """

    name: str
    share: float
    make: Callable
    names_file: bool = True


def _file(name: str, originals: list[bytes], read: Callable[[pathlib.Path], object]):
    """Makes a target that reads one file of damaged bytes."""

    def make(folder):
        path = folder / name

        def prepare(raw):
            path.write_bytes(raw)
            return lambda: read(path), name, raw

        return damaged(originals), prepare

    return make


def _document(name: str, originals: list, read: Callable[[pathlib.Path], object]):
    """Makes a target that reads one file of changed JSON."""

    def make(folder):
        path = folder / name

        def prepare(document):
            raw = json.dumps(document).encode()
            path.write_bytes(raw)
            return lambda: read(path), name, raw

        return changed(originals), prepare

    return make


def _images(folder):
    from anchornet_tf.utils.image_io import read_scaled

    found = encoded_images()
    strategy = st.sampled_from(sorted(found)).flatmap(
        lambda form: st.tuples(st.just(form), damaged(found[form]))
    )

    def prepare(pair):
        # Some decoders are chosen by the name, but most by the content.
        path = folder / f"image.{pair[0].lower()}"
        path.write_bytes(pair[1])
        return lambda: read_scaled(path, 64), path.name, pair[1]

    return strategy, prepare


def _annotations(path):
    from anchornet_tf.annotations.formats import read_annotations

    return read_annotations(path)


def _manifest(folder):
    from anchornet_tf.datasets.file_sources import list_manifest

    for name in ("a.png", "b.png"):
        PIL.Image.fromarray(np.full((4, 4, 3), 9, np.uint8)).save(folder / name)
    return _file("labels.csv", [_MANIFEST], lambda path: list_manifest(str(path)))(folder)


def _label_map(path):
    from anchornet_tf.datasets import label_map

    return label_map.find(str(path)).apply(["cat", "dog"])


def _journal(folder):
    from anchornet_tf.utils.journal import Journal

    header = json.loads(_JOURNAL.splitlines()[0])
    return _file("a.jsonl", [_JOURNAL], lambda path: Journal(path, header))(folder)


def _run_configuration(path):
    from anchornet_tf.training import config_file
    from anchornet_tf.training.stage1.config import Stage1Config

    return config_file.load(Stage1Config, path.parent)


def _configurations() -> list:
    from anchornet_tf.training.stage1.config import Stage1Config

    return [json.loads(json.dumps(dataclasses.asdict(Stage1Config(("bird",)))))]


def text_targets() -> list[Target]:
    """Returns what reads text."""
    coco, shapes = json.dumps(_COCO).encode(), json.dumps(_LABELME).encode()
    return [
        Target("images", 3, _images),
        Target("COCO, by value", 2, _document("a.json", [_COCO], _annotations)),
        Target("COCO, by byte", 1, _file("a.json", [coco], _annotations)),
        Target("LabelMe, by value", 2, _document("a.json", [_LABELME], _annotations)),
        Target("LabelMe, by byte", 1, _file("a.json", [shapes], _annotations)),
        Target("CSV of points", 2, _file("a.csv", [_TABLE], _annotations)),
        Target("manifests", 1.5, _manifest),
        Target("label maps", 1, _document("map.json", [{"cat": "pet", "*": "x"}], _label_map)),
        Target("journals", 1.5, _journal),
        Target(
            "config.json of a run",
            1.5,
            lambda folder: _document("config.json", _configurations(), _run_configuration)(folder),
        ),
    ]
