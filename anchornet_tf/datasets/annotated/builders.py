"""TFDS builders of the benchmarks, for those who use tensorflow-datasets.

They read what `open_benchmark` reads, from the folder that TFDS calls the manual folder. An example
is a pair of images. `anchornet_tf.evaluate` does not need them: it reads the published folders as
they are.
"""

import io
import pathlib
from collections.abc import Iterator

import numpy as np
import PIL.Image
import tensorflow_datasets as tfds

from anchornet_tf.datasets.annotated import (
    animal_parts,
    cub,
    pascal_parts,
    pf_pascal,
    pf_willow,
    spair,
)
from anchornet_tf.datasets.annotated.annotation import Annotation

NO_BOX = (-1.0, -1.0, -1.0, -1.0)


class AnnotatedPairs(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Pairs of annotated images.

    An example holds `name`, `group`, and for `source` and `target` each: `image`, `class_name`,
    `points` (x, y) with `point_names` and `visible`, `box` (left, top, right, bottom; -1 without
    one), and where the set has masks `mask` and `part_masks` with `part_names`.

    Example:

    ```python
    config = tfds.download.DownloadConfig(manual_dir="PF-WILLOW")
    builder = PfWillow(data_dir="data")
    builder.download_and_prepare(download_config=config)
    source = builder.as_data_source("test")
    ```
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    # The reader's module: `read`, `NAME` and `CONTENTS`.
    reader = None
    has_masks = False
    encoding = "jpeg"

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=f"Pairs of images with known correspondences, from {self.reader.CONTENTS}.",
            features=tfds.features.FeaturesDict(
                {
                    "name": tfds.features.Text(),
                    "group": tfds.features.Text(),
                    "source": self._side_features(),
                    "target": self._side_features(),
                }
            ),
            disable_shuffling=True,
        )

    def _side_features(self) -> dict:
        features = {
            "image": tfds.features.Image(shape=(None, None, 3), encoding_format=self.encoding),
            "class_name": tfds.features.Text(),
            "points": tfds.features.Tensor(shape=(None, 2), dtype=np.float32),
            "point_names": tfds.features.Sequence(tfds.features.Text()),
            "visible": tfds.features.Tensor(shape=(None,), dtype=np.bool_),
            "box": tfds.features.Tensor(shape=(4,), dtype=np.float32),
        }
        if self.has_masks:
            mask = tfds.features.Image(shape=(None, None, 1), encoding_format="png")
            features["mask"] = mask
            features["part_masks"] = tfds.features.Sequence(mask)
            features["part_names"] = tfds.features.Sequence(tfds.features.Text())
        return features

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        return {"test": self._generate_examples(pathlib.Path(dl_manager.manual_dir))}

    def _generate_examples(self, folder: pathlib.Path) -> Iterator[tuple[int, dict]]:
        for key, pair in enumerate(self.reader.read(folder).pairs):
            yield (
                key,
                {
                    "name": pair.name,
                    "group": pair.group,
                    "source": self._side(pair.source),
                    "target": self._side(pair.target),
                },
            )

    def _side(self, annotation: Annotation) -> dict:
        side = {
            "image": self._image_file(annotation),
            "class_name": annotation.class_name,
            "points": annotation.points.astype(np.float32),
            "point_names": list(annotation.point_names),
            "visible": annotation.visible,
            "box": np.array(annotation.box or NO_BOX, np.float32),
        }
        if self.has_masks:
            masks = annotation.read_masks()
            side["mask"] = _as_image(masks.whole)
            side["part_masks"] = [_as_image(mask) for mask in masks.parts.values()]
            side["part_names"] = list(masks.parts)
        return side

    def _image_file(self, annotation: Annotation) -> io.BytesIO:
        """Returns the file itself where it can be stored as it is, so that no pixel changes."""
        with PIL.Image.open(annotation.path) as image:
            if image.mode == "RGB" and image.format.lower() == self.encoding:
                return io.BytesIO(annotation.path.read_bytes())
        stream = io.BytesIO()
        PIL.Image.fromarray(annotation.read_image()).save(stream, self.encoding, quality=95)
        stream.seek(0)
        return stream


def _as_image(mask: np.ndarray) -> np.ndarray:
    return mask[..., np.newaxis].astype(np.uint8)


class PfWillow(AnnotatedPairs):
    """PF-WILLOW, see `pf_willow.read`."""

    reader = pf_willow
    encoding = "png"
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {pf_willow.CONTENTS}. {pf_willow.INSTRUCTIONS}"


class PfPascal(AnnotatedPairs):
    """PF-PASCAL, see `pf_pascal.read`."""

    reader = pf_pascal
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {pf_pascal.CONTENTS}. {pf_pascal.INSTRUCTIONS}"


class PascalParts(AnnotatedPairs):
    """PASCAL Parts of FlowWeb, see `pascal_parts.read`."""

    reader = pascal_parts
    has_masks = True
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {pascal_parts.CONTENTS}. {pascal_parts.INSTRUCTIONS}"


class AnimalParts(AnnotatedPairs):
    """AnimalParts, see `animal_parts.read`."""

    reader = animal_parts
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {animal_parts.CONTENTS}. {animal_parts.INSTRUCTIONS}"


class Spair(AnnotatedPairs):
    """SPair-71k, see `spair.read`."""

    reader = spair
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {spair.CONTENTS}. {spair.INSTRUCTIONS}"


class Cub(AnnotatedPairs):
    """CUB-200-2011, see `cub.read`."""

    reader = cub
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Expected {cub.CONTENTS}. {cub.INSTRUCTIONS}"
