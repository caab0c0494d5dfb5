"""The TFDS builder of *parts_world*: draws every picture, downloads nothing."""

import io
from collections.abc import Callable, Iterator

import numpy as np
import PIL.Image
import tensorflow_datasets as tfds

from anchornet_tf.datasets.parts_world import layout
from anchornet_tf.datasets.parts_world.drawing import IMAGE_SIZE, SPLITS, Example, draw

_JPEG_QUALITY = 92
NO_BOX = (-1, -1, -1, -1)


class PartsWorld(tfds.core.GeneratorBasedBuilder):
    """Articulated figures of the twenty PASCAL VOC classes, with parts and keypoints.

    Pictures are stored as JPEG, as photographs are. `part_map` holds, at every pixel, 0 or the
    position of the visible part in `part_names`, counted from 1. Keypoints are (x, y) in pixels.
    `box` is left, top, right, bottom: the first and last columns and rows of the object, or -1
    for a background.

    Example:

    ```python
    builder = PartsWorld(data_dir="data")
    builder.download_and_prepare()
    source = builder.as_data_source("test")
    ```
    """

    VERSION = tfds.core.Version(layout.VERSION)
    RELEASE_NOTES = {layout.VERSION: "First release."}

    # Called after every picture, for a progress bar.
    on_example: Callable[[], object] | None = None

    def __init__(self, *, file_format="array_record", **options):
        super().__init__(file_format=file_format, **options)

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Drawn figures of the PASCAL VOC classes for weakly supervised learning of"
            " parts; part masks and keypoints are for evaluation.",
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(
                        shape=(IMAGE_SIZE, IMAGE_SIZE, 3), encoding_format="jpeg"
                    ),
                    "label": tfds.features.ClassLabel(names=layout.LABELS),
                    "part_map": tfds.features.Image(
                        shape=(IMAGE_SIZE, IMAGE_SIZE, 1), encoding_format="png"
                    ),
                    "part_names": tfds.features.Sequence(tfds.features.Text()),
                    "keypoint_names": tfds.features.Sequence(tfds.features.Text()),
                    "keypoints": tfds.features.Tensor(shape=(None, 2), dtype=np.float32),
                    "keypoint_visible": tfds.features.Tensor(shape=(None,), dtype=np.bool_),
                    "box": tfds.features.Tensor(shape=(4,), dtype=np.int32),
                }
            ),
            supervised_keys=("image", "label"),
            # Pictures stay in the order of `layout.members`.
            disable_shuffling=True,
        )

    def _log_download_bytes(self) -> None:
        """Stays silent: nothing is downloaded."""

    def _log_download_done(self) -> None:
        """Stays silent: nothing was downloaded."""

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        del dl_manager
        return {split: self._generate_examples(split) for split in SPLITS}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict]]:
        for key, (label, index) in enumerate(layout.members(split)):
            yield key, encode(draw(label, index, split=split))
            if self.on_example is not None:
                self.on_example()


def encode(example: Example) -> dict:
    """Returns an example as the builder's features."""
    points = np.array(list(example.keypoints.values()), np.float64).reshape(-1, 3)
    return {
        "image": _file(example.image, "JPEG", quality=_JPEG_QUALITY, subsampling=0),
        "label": example.label,
        "part_map": _file(example.part_map, "PNG", compress_level=1),
        "part_names": list(example.part_names),
        "keypoint_names": list(example.keypoints),
        "keypoints": points[:, :2].astype(np.float32),
        "keypoint_visible": points[:, 2] > 0,
        "box": np.array(example.box or NO_BOX, np.int32),
    }


def _file(pixels: np.ndarray, kind: str, **options) -> io.BytesIO:
    stream = io.BytesIO()
    PIL.Image.fromarray(pixels).save(stream, kind, **options)
    stream.seek(0)
    return stream
