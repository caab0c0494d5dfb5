"""Every option of every descriptor and matcher reaches its object, whoever it is given to."""

import collections
import functools
import inspect

import numpy as np
import PIL.Image
import pytest
from absl import flags
from absl.testing import flagsaver

from anchornet_tf import match
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers import api
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.runner import evaluation as runner
from anchornet_tf.runner.config import Evaluation
from anchornet_tf.utils.named_options import parse_option
from tests.runner.made_up import benchmark

# One value of each option that is not its default.
_VALUES = {
    # of networks
    "model": "MODEL",
    "equalization": 0.1,
    "class_name": "cow",
    "bank": "BANK",
    "extractor": "EXTRACTOR",  # An object in Python; here it is enough that it arrives.
    "image_size": 96,
    "batch_size": 3,
    "blur": 0.5,
    "fine_rank": 7,
    "look_twice": 96,
    "constellation": "CONSTELLATION",
    "weights": "WEIGHTS",
    "trunk": "TRUNK",
    "pca_file": "PCA",
    "num_channels": 5,
    "file": "FILE",
    "num_threads": 2,
    # of SIFT and HOG
    "step": 3,
    "bin_size": 5,
    "window": 1.5,
    "padded": True,
    "background": "BACKGROUND",
    # of matchers
    "mutual": True,
    "refine": False,
    "coarse": False,
    "interpolation": "nearest",
    "grid_size": (7, 9),
    "power": 2.5,
    "smoothing": 1.25,
    "scales": (1.0,),
    "neighborhood": 0.2,
    "locality": 0.3,
    "temperature": 0.25,
    "feature_scale": 0.7,
    "reference": True,
    "bottom_up": True,
    "max_side": 33,
    "dimensions": 3,
    "num_proposals": 11,
    "proposal_method": "sliding_window",
    "aspect_filter": False,
    "centered": False,
    "num_cells": 4,
    "lom_variant": "published",
    "smooth": False,
}
# What a descriptor cannot do without.
_NEEDED = {
    name: {"constellation": _VALUES["constellation"]}
    for name in ("constellation-hc", "constellation-bp")
}
_CASES = [
    (registry, name, option)
    for registry in (DESCRIPTORS, MATCHERS)
    for name in registry.names
    for option in registry.options(name)
]


@pytest.fixture
def made(monkeypatch):
    """Records what objects are made with; descriptors are replaced by one that costs nothing."""
    calls: dict[str, list[dict]] = {}
    create = {id(registry): registry.create for registry in (DESCRIPTORS, MATCHERS)}

    def record(registry, name, **options):
        calls.setdefault(name, []).append(options)
        if registry is DESCRIPTORS:
            signature = inspect.signature(registry._find(name)[0])
            assert options.keys() <= signature.parameters.keys()
            return _describe
        return create[id(registry)](name, **options)

    for registry in (DESCRIPTORS, MATCHERS):
        monkeypatch.setattr(registry, "create", functools.partial(record, registry))
    monkeypatch.setattr(api, "_made", collections.OrderedDict())
    return calls


def _describe(images):
    values = np.random.default_rng(0).random((8, 8, 4))
    return [FeatureMap(values, image.shape[:2]) for image in images]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """What options name: the folder of a model, the files of a bank and of parts; two images."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MODEL").mkdir()
    (tmp_path / "MODEL" / "config.json").touch()
    np.savez(tmp_path / "BANK", 0)
    (tmp_path / "BANK.npz").rename(tmp_path / "BANK")
    one = np.ones((1, 1))
    parts = ConstellationFile("bird", [[[0, 1]]], [[[0, 0]]], one, one, one[0], "digest", {})
    parts.save(tmp_path / "parts.npz")
    (tmp_path / "parts.npz").rename(tmp_path / "CONSTELLATION")
    monkeypatch.setattr(AnchorNet, "from_preset", lambda name, equalization: (name, equalization))
    image = PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 80, 3), np.uint8))
    image.save("a.png")
    return ["a.png", "a.png"]


def _partners(registry, name) -> tuple[str, str]:
    """Returns the descriptor and the matcher of a case: a name with a partner that costs little."""
    return (name, "none") if registry is DESCRIPTORS else ("hc", name)


def _ids(case):
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize("prefixed", [False, True], ids=["plain", "prefixed"])
@pytest.mark.parametrize("registry, name, option", _CASES, ids=_ids)
def test_from_python(registry, name, option, prefixed, made, files):
    features, matcher = _partners(registry, name)
    given = {f"{name}.{option}" if prefixed else option: _VALUES[option]}
    Matcher(features, matcher, **given)
    api.match_pair(*files, features, matcher, **given)
    assert made[name] == [{option: _VALUES[option]}] * 2


@pytest.mark.parametrize("registry, name, option", _CASES, ids=_ids)
def test_from_the_program_match(registry, name, option, made, files):
    if not flags.FLAGS.is_parsed():
        flags.FLAGS(["match"])
    features, matcher = _partners(registry, name)
    text = f"{option}={_VALUES[option]}"
    with flagsaver.flagsaver(features=features, matcher=matcher, option=[text], output=""):
        match.main(["match", *files])
    assert made[name] == [{option: _VALUES[option]}]


@pytest.mark.parametrize("registry, name, option", _CASES, ids=_ids)
def test_from_an_evaluation(registry, name, option, made, files, monkeypatch, tmp_path):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(runner, "open_benchmark", lambda *_, **__: benchmark(groups=("one",)))
    features, matcher = _partners(registry, name)
    evaluation = Evaluation(
        features=(features,),
        # The matcher "none" is run without a descriptor.
        matchers=(matcher if registry is MATCHERS else "nearest",),
        output=tmp_path / "out",
        limit=1,
        measures=("pck",),
        num_resamples=0,
        workers=0,
        with_pictures=False,
        options={
            f"{name}.{each}": parse_option(f"{each}={value}")[1]
            for each, value in (_NEEDED.get(name, {}) | {option: _VALUES[option]}).items()
        },
    )
    runner.evaluate(evaluation, progress=False)
    (options,) = made[name]
    if option == "equalization" or option == "model":
        model = options["model"] if isinstance(options["model"], tuple) else (options["model"],)
        assert _VALUES[option] in model
    else:
        assert options[option] == _VALUES[option]
