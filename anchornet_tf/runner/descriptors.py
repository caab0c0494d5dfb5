"""The descriptors of an evaluation, each made once, or once per class if each class has a bank."""

import functools
import hashlib
import os
import pathlib
from collections.abc import Iterable, Mapping

from anchornet_tf.features.registry import DESCRIPTORS, Descriptor
from anchornet_tf.models import presets
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.utils import files
from anchornet_tf.utils.safe_names import safe_name

_AGNOSTIC, _OF_CLASS = "anchornet", "anchornet-class"
# The option of the descriptors that need parts found by `trainers.constellation`.
_PARTS = "constellation"
# The option of the descriptor that runs an exported file.
_EXPORTED = "file"
# Descriptors of parts that were found in one trunk and are of no use in another.
_CONSTELLATION = ("constellation-hc", "constellation-bp")


class Descriptors:
    """Makes descriptors by name.

    Args:
        options: The options of each descriptor, by its name. They take precedence over the
            arguments below. The option `constellation` may be a folder of `<class>.npz` files as
            `trainers.constellation` writes them: each class then has its own parts.
        model: Folder of an AnchorNet or name of a preset, for `"anchornet"` and
            `"anchornet-class"`. The default preset is used if neither a model nor banks are given.
        banks: Folder of `<class>.npz` banks as `trainers.stage1` writes them, for
            `"anchornet-class"` without a model.
        image_size: int or None. The size that networks resize images to, see `DeepDescriptor`.
        trunk: The trunk of descriptors that take one, see `Backbone`; None for their own.
        weights: The weights of the trunk of descriptors that take a trunk's weights, or None.

    Raises:
        ValueError: If there is no such model, or an option names a model other than `model`.
    """

    def __init__(
        self,
        options: Mapping[str, Mapping] | None = None,
        model: str | os.PathLike | None = None,
        banks: str | os.PathLike | None = None,
        image_size: int | None = 224,
        trunk: str | None = None,
        weights: str | os.PathLike | None = None,
    ):
        self._given = {name: dict(own) for name, own in (options or {}).items()}
        for own in self._given.values():
            if model is not None and own.get("model", model) != model:
                raise ValueError(
                    "Expected one model, either as an argument or as an option. "
                    f"Received: {model} and {own['model']}"
                )
        if not (model or banks) and presets.DEFAULT in presets.preset_names():
            model = presets.DEFAULT
        self._model = presets.find(model) if model else None
        self._banks = pathlib.Path(banks) if banks else None
        self._image_size = image_size
        self._of_trunk = {
            name: str(value)
            for name, value in (("trunk", trunk), ("weights", weights))
            if value is not None
        }

    def check(self, feature: str, classes: Iterable[str]) -> None:
        """Finds what is missing before any work is done.

        Args:
            feature: Name of a descriptor.
            classes: The classes of the images that it will describe.

        Raises:
            FileNotFoundError: If the banks or the parts of some classes are missing.
            ValueError: If the descriptor needs a model, banks or parts and none are given.
        """
        if _PARTS in DESCRIPTORS.options(feature):
            self._check_parts(feature, classes)
            return
        if not self._is_trained(feature) or "bank" in self._options(feature):
            return
        if "model" in self._options(feature):
            self._weight_files(feature)
        elif feature == _AGNOSTIC:
            raise ValueError(f"Expected a model for {_AGNOSTIC}. Received: no folder of one")
        elif self._banks is None:
            raise ValueError(
                f"Expected banks or a model for {_OF_CLASS}. Received: no folder of either"
            )
        else:
            missing = [name for name in sorted(set(classes)) if not self._bank(name).is_file()]
            if missing:
                raise FileNotFoundError(
                    "Expected a bank <class>.npz for each class of the benchmark. "
                    f"Received: {self._banks} without {', '.join(missing)}"
                )

    def depends_on_class(self, feature: str) -> bool:
        """Returns whether images of different classes get different descriptors."""
        if feature == _OF_CLASS:
            return not {"bank", "class_name"} & self._options(feature).keys()
        return self._parts_folder(feature) is not None

    def _parts_folder(self, feature: str) -> pathlib.Path | None:
        """Returns the folder of the parts of all classes; None if there is one file for all."""
        given = self._given.get(feature, {}).get(_PARTS)
        if isinstance(given, str | os.PathLike) and pathlib.Path(given).is_dir():
            return pathlib.Path(given)
        return None

    def _check_parts(self, feature: str, classes: Iterable[str]) -> None:
        given, folder = self._given.get(feature, {}).get(_PARTS), self._parts_folder(feature)
        if given is None:
            raise ValueError(
                f"Expected parts that `python -m trainers.constellation` wrote for {feature}: "
                f"--option={_PARTS}=FILE, or the folder of several. Received: neither"
            )
        if folder is None:
            ConstellationFile.load(given)
            return
        missing = [name for name in sorted(set(classes)) if not _file(folder, name).is_file()]
        if missing:
            raise FileNotFoundError(
                "Expected parts <class>.npz for each class of the benchmark. "
                f"Received: {folder} without {', '.join(missing)}"
            )

    def describe(self, feature: str, class_name: str | None) -> Descriptor:
        """Returns a descriptor, the same one for the same arguments.

        Args:
            feature: Name of a descriptor.
            class_name: The class of the images, for descriptors that depend on it.
        """
        return self._made(feature, class_name if self.depends_on_class(feature) else None)

    @functools.cache  # noqa: B019 - lives as long as the evaluation
    def _made(self, feature, class_name):
        options = self._options(feature)
        if isinstance(options.get("model"), str | os.PathLike):
            # The model is loaded here, once for all classes.
            options["model"] = self._loaded(options["model"], options.pop("equalization", None))
        if class_name is not None:
            if _PARTS in options:
                options[_PARTS] = _file(options[_PARTS], class_name)
            elif "model" in options:
                options["class_name"] = class_name
            else:
                options["bank"] = self._bank(class_name)
        return DESCRIPTORS.create(feature, **options)

    @functools.cache  # noqa: B019 - lives as long as the evaluation
    def _loaded(self, model, equalization):
        from anchornet_tf.models.anchornet import AnchorNet

        return AnchorNet.from_preset(model, equalization=equalization)

    def identity(self, feature: str) -> dict:
        """Returns what the features depend on: the options, and a digest of the weights."""
        identity = {name: repr(value) for name, value in self._given.get(feature, {}).items()}
        if "image_size" in DESCRIPTORS.options(feature):
            identity.setdefault("image_size", repr(self._image_size))
        identity |= self._identity_of_trunk(feature)
        if self._is_trained(feature):
            identity["weights"] = _digest(self._weight_files(feature))
        given = self._given.get(feature, {}).get(_PARTS)
        if isinstance(given, str | os.PathLike):
            folder = self._parts_folder(feature)
            paths = sorted(folder.glob("*.npz")) if folder else [pathlib.Path(given)]
            identity[_PARTS] = _digest(paths)
        exported = self._given.get(feature, {}).get(_EXPORTED)
        if exported is not None and pathlib.Path(exported).is_file():
            identity[_EXPORTED] = _digest([pathlib.Path(exported)])
        return identity

    def _options(self, feature: str) -> dict:
        """Returns the options of a descriptor, except for the bank or the name of a class."""
        options = dict(self._given.get(feature, {}))
        if "image_size" in DESCRIPTORS.options(feature):
            options.setdefault("image_size", self._image_size)
        if self._is_trained(feature) and self._model is not None and "bank" not in options:
            options.setdefault("model", self._model)
        takes = () if feature in _CONSTELLATION else DESCRIPTORS.options(feature)
        of_trunk = {name: value for name, value in self._of_trunk.items() if name in takes}
        return options if "model" in options else of_trunk | options

    def _identity_of_trunk(self, feature: str) -> dict:
        """Returns which trunk features depend on, and a digest of its file if it was given."""
        options = self._options(feature)
        found = {name: repr(options[name]) for name in ("trunk", "weights") if name in options}
        place = pathlib.Path(str(options.get("weights", "")))
        if "weights" in options and place.exists():
            found["trunk_weights"] = _digest(
                [place] if place.is_file() else sorted(place.glob("*.safetensors"))
            )
        return found

    def _weight_files(self, feature: str) -> list[pathlib.Path]:
        options = self._options(feature)
        if "bank" in options:
            return [pathlib.Path(options["bank"])]
        folder = presets.find(options["model"]) if "model" in options else self._banks
        return sorted(folder.glob("*.npz"))

    def _is_trained(self, feature: str) -> bool:
        return feature in (_AGNOSTIC, _OF_CLASS)

    def _bank(self, class_name: str) -> pathlib.Path:
        return _file(self._banks, class_name)


def _file(folder: str | os.PathLike, class_name: str) -> pathlib.Path:
    return pathlib.Path(folder) / f"{safe_name(class_name)}.npz"


def _digest(paths: list[pathlib.Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name} {files.sha256_of(path)}\n".encode())
    return total.hexdigest()[:16]
