"""The descriptors of an evaluation: made when they are needed, and the bank of each class where there are banks."""

import functools
import hashlib
import os
import pathlib
from collections.abc import Iterable, Mapping

from anchornet_tf.features.registry import DESCRIPTORS, Descriptor
from anchornet_tf.models import presets
from anchornet_tf.utils import files

_AGNOSTIC, _OF_CLASS = "anchornet", "anchornet-class"


class Descriptors:
    """Makes descriptors by name.

    Args:
        model: folder of an AnchorNet or name of a preset, for `"anchornet"` and `"anchornet-class"`. The default preset
            where neither model nor banks are named.
        banks: folder of `<class>.npz` banks as `trainers.stage1` writes them, for `"anchornet-class"` where there
            is no model. The `pca.npz` beside the folder is the one that they were trained on.
        image_size: int or None. What a network resizes images to, see `DeepDescriptor`.
        options: further options; each goes to the descriptors that know it.
    """

    def __init__(
        self,
        model: str | os.PathLike | None = None,
        banks: str | os.PathLike | None = None,
        image_size: int | None = 224,
        options: Mapping | None = None,
    ):
        if not (model or banks) and presets.DEFAULT in presets.preset_names():
            model = presets.DEFAULT
        self._model_folder = presets.find(model) if model else None
        self._banks_folder = pathlib.Path(banks) if banks else None
        self._image_size = image_size
        self._options = dict(options or {})

    def check(self, feature: str, classes: Iterable[str]) -> None:
        """Finds what is missing before any work is done.

        Args:
            feature: name of a descriptor.
            classes: the classes of the images it will describe.

        Raises:
            FileNotFoundError, ValueError: If the descriptor needs a model or a bank that is not there.
        """
        if feature == _AGNOSTIC and self._model_folder is None:
            raise ValueError(f"{_AGNOSTIC} needs a model. Received: no folder of one")
        if feature != _OF_CLASS or self._model_folder is not None:
            return
        if self._banks_folder is None:
            raise ValueError(f"{_OF_CLASS} needs banks or a model. Received: no folder of either")
        missing = [name for name in sorted(set(classes)) if not self._bank_file(name).is_file()]
        if missing:
            raise FileNotFoundError(
                f"Expected a bank <class>.npz for each class of the benchmark. Received: {self._banks_folder} "
                f"without {', '.join(missing)}"
            )

    def depends_on_class(self, feature: str) -> bool:
        """Tells whether images of different classes get different descriptors."""
        return feature == _OF_CLASS

    def describe(self, feature: str, class_name: str | None) -> Descriptor:
        """Returns a descriptor, the same one for the same arguments.

        Args:
            feature: name of a descriptor.
            class_name: the class of the images, for those that depend on it.
        """
        return self._made(feature, class_name if self.depends_on_class(feature) else None)

    @functools.cache  # noqa: B019 - lives as long as the evaluation
    def _made(self, feature, class_name):
        known = set(DESCRIPTORS.options(feature))
        options = {name: value for name, value in self._options.items() if name in known}
        if "image_size" in known:
            options.setdefault("image_size", self._image_size)
        if feature in (_AGNOSTIC, _OF_CLASS) and self._model_folder is not None:
            options["model"] = self._model
            if feature == _OF_CLASS:
                options["class_name"] = class_name
        elif feature == _OF_CLASS:
            options |= {"bank": self._bank_file(class_name), "extractor": self._extractor}
        return DESCRIPTORS.create(feature, **options)

    def identity(self, feature: str) -> dict:
        """Returns what makes the features what they are: options, and digests of trained weights."""
        known = set(DESCRIPTORS.options(feature))
        identity = {name: repr(v) for name, v in self._options.items() if name in known}
        if "image_size" in known:
            identity.setdefault("image_size", repr(self._image_size))
        if feature in (_AGNOSTIC, _OF_CLASS):
            folder = self._model_folder or self._banks_folder
            identity["weights"] = _digest(sorted(folder.glob("*.npz")))
        return identity

    def _bank_file(self, class_name: str) -> pathlib.Path:
        return self._banks_folder / f"{class_name}.npz"

    @functools.cached_property
    def _model(self):
        from anchornet_tf.models.anchornet import AnchorNet

        return AnchorNet.from_preset(self._model_folder)

    @functools.cached_property
    def _extractor(self):
        from anchornet_tf.models.tap_extractor import TapExtractor
        from anchornet_tf.trunks import pca

        projections = self._banks_folder.resolve().parent / "pca.npz"
        return TapExtractor(
            projections=pca.HypercolumnPCA.load(projections) if projections.is_file() else None
        )


def _digest(paths: list[pathlib.Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name} {files.sha256_of(path)}\n".encode())
    return total.hexdigest()[:16]


def unknown_options(options: Mapping, features: Iterable[str], matchers: Iterable[str]) -> set[str]:
    """Returns the options that none of the descriptors and matchers takes."""
    from anchornet_tf.matchers.registry import MATCHERS

    known = {name for feature in features for name in DESCRIPTORS.options(feature)}
    known |= {name for matcher in matchers for name in MATCHERS.options(matcher)}
    return set(options) - known
