"""What the page can choose from: descriptors and matchers, with what they are and cost."""

import dataclasses
import hashlib
import importlib.util
import pathlib
from collections.abc import Callable

import anchornet_tf
from anchornet_tf.models import presets
from anchornet_tf.studio.config import OFFERED_DESCRIPTORS, OFFERED_MATCHERS, StudioConfig
from anchornet_tf.studio.directions import COUNT
from anchornet_tf.utils.files import cache_folder, sha256_of

# Costs until they are measured here: one image of 224 x 224 pixels, on two cores of a processor, in
# units of the trunk's pass over it; matchers with AnchorNet's features, the confidence included.
_DESCRIPTORS = {
    "anchornet": ("AnchorNet's class-agnostic anchors", "1.6 trunk passes per image"),
    "hc": ("the residual hypercolumn that AnchorNet looks at", "1.1 trunk passes per image"),
    "res2c": ("its finest layer alone: edges and textures", "0.3 trunk passes per image"),
    "res4c": ("its middle layer alone: parts", "0.7 trunk passes per image"),
    "res5c": ("its coarsest layer alone: objects", "1.1 trunk passes per image"),
    "sift": (
        "SIFT at every fourth pixel: no learning, the same scene only",
        "0.1 trunk passes per image",
    ),
    "hog": ("HOG cells: shapes without learning", "0.1 trunk passes per image"),
}
_MATCHERS = {
    "nearest": ("the most similar cell, each by itself", "1.6 trunk passes per pair"),
    "hough": ("cells vote on where the object went", "1.8 trunk passes per pair"),
    "dsp": ("deformable spatial pyramid: smooth", "6.5 trunk passes per pair"),
    "nam": ("Proposal Flow, boxes by themselves", "11 trunk passes per pair"),
    "phm": ("Proposal Flow, boxes that vote", "9 trunk passes per pair"),
    "lom": ("Proposal Flow, boxes that vote with their neighbours", "12 trunk passes per pair"),
}
# Every pixel, as is usual for SIFT, would take most of a minute for each pair.
_OPTIONS = {"sift": {"step": 4}}
_BOXES = ("nam", "phm", "lom")


@dataclasses.dataclass(frozen=True)
class Offer:
    """A descriptor or a matcher that the page can choose.

    Attributes:
        make: Makes it when it is first used. Of a descriptor: a function without arguments. Of a
            matcher: a function from the descriptor to what matches, such as a `Matcher`.
        summary: str, what it is in a few words.
        cost: str, what it costs as long as it was not measured here.
        digest: str that differs for models that differ; None for what may change.
    """

    make: Callable
    summary: str
    cost: str
    digest: str | None = None

    def directions_path(self) -> pathlib.Path | None:
        """Returns where the directions of a descriptor are kept, or None for nowhere."""
        if self.digest is None:
            return None
        return cache_folder() / "studio" / f"directions-{COUNT}-{self.digest}.npz"


def descriptor_offers(config: StudioConfig) -> dict[str, Offer]:
    """Returns the descriptors of this machine, the chosen one first."""
    names = sorted(OFFERED_DESCRIPTORS, key=lambda name: name != config.features)
    return {name: _descriptor_offer(name, config) for name in names}


def _descriptor_offer(name: str, config: StudioConfig) -> Offer:
    options = dict(_OPTIONS.get(name, {}))
    if name == "anchornet" and config.model is not None:
        options["model"] = config.model

    def make():
        from anchornet_tf.features.registry import get_descriptor

        return get_descriptor(name, **options)

    return Offer(make, *_DESCRIPTORS[name], _digest(name, options.get("model", presets.DEFAULT)))


def _digest(name: str, model) -> str:
    digest = hashlib.sha256(f"{name} {anchornet_tf.__version__}".encode())
    if name == "anchornet":
        for path in sorted(presets.find(model).iterdir()):
            if path.is_file():
                digest.update(f"{path.name} {sha256_of(path)}".encode())
    return f"{name}-{digest.hexdigest()[:16]}"


def matcher_offers(config: StudioConfig) -> dict[str, Offer]:
    """Returns the matchers of this machine, the chosen one first."""
    has_boxes = importlib.util.find_spec("cv2") is not None
    names = [name for name in OFFERED_MATCHERS if has_boxes or name not in _BOXES]
    names = sorted(names, key=lambda name: name != config.matcher)
    return {name: Offer(_maker(name, config), *_MATCHERS[name]) for name in names}


def _maker(name: str, config: StudioConfig) -> Callable:
    def make(descriptor):
        from anchornet_tf.matchers.matcher import Matcher

        return Matcher(descriptor, name, max_pixels=config.max_pixels)

    return make
