"""What users pay: one pair by names, many pairs of a set, the first call in a new process."""

import itertools
import pathlib
import tempfile

import numpy as np
import PIL.Image

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.matchers import api
from anchornet_tf.matchers.hough import HoughMatcher
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.models import folding
from benchmarks import models
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.start_up import run_python
from benchmarks.timing import in_turn

_SIZE = (375, 500)
_TWO_PASSES = "two trunk passes"
# The least that a process has to do that describes two images.
_LEAST_PROGRAM = """
import tensorflow as tf
from anchornet_tf.trunks.backbone import Backbone
trunk = tf.function(Backbone())
trunk(tf.zeros((2, 224, 224, 3)))
"""


def one_pair(settings: Settings) -> Results:
    """`match_pair` by names in a process that has called it before."""
    network = models.network(*settings.choose((20, 64), (2, 8)))
    size = settings.choose(224, 64)
    images = [drawn_image(index, settings.choose(_SIZE, (64, 64))) for index in range(2)]
    trunk, inputs = models.compiled(models.trunk), models.random_images(2, size)
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model"
        network.save_to_preset(model, include_trunk=True)
        options = {"model": str(model), "image_size": size}
        matcher = Matcher("anchornet", "hough", **options)
        works = {
            _TWO_PASSES: lambda: trunk(inputs),
            "by names": lambda: api.match_pair(*images, **options).displacement,
            "object": lambda: matcher(*images).displacement,
            "describing": lambda: matcher.describe(images),
        }
        timed = in_turn(works, settings.repeats)
    title = f"match_pair, two images of {images[0].shape[1]}x{images[0].shape[0]}"
    return Results(
        (
            timed.row("by names", f"{title}, by names", per=_TWO_PASSES, goal=Goal(2.2)),
            timed.row("object", f"{title}, on a Matcher", per=_TWO_PASSES),
            timed.row("describing", "of which describing both", per=_TWO_PASSES),
            timed.row("by names", f"{title}, by names", per="object", goal=Goal(1.1)),
        )
    )


def thousand_pairs(settings: Settings) -> Results:
    """`match_many` against its parts: every image described once, every pair matched once."""
    num_images, num_pairs, size = settings.choose((100, 1000, 224), (6, 20, 64))
    network = models.network(*settings.choose((20, 64), (2, 8)))
    describe = DeepDescriptor(folding.features_function(network, fixed=True), size)
    match = HoughMatcher()
    images = [drawn_image(index, (size, size)) for index in range(num_images)]
    every = list(itertools.permutations(range(num_images), 2))
    chosen = np.random.default_rng(0).choice(len(every), num_pairs, replace=False)
    pairs = [every[index] for index in chosen]
    matcher, maps = Matcher(describe, match), describe(images)
    works = {
        "described": lambda: describe(images),
        "matched": lambda: [match(maps[source], maps[target]) for source, target in pairs],
        "match_many": lambda: list(matcher.match_many(pairs, images, progress=False)),
    }
    timed = in_turn(works, max(1, settings.repeats // 3), warmups=0)
    both = f"{num_images} images described + {num_pairs} pairs matched"
    parts = zip(timed.seconds["described"], timed.seconds["matched"], strict=True)
    timed.seconds[both] = tuple(map(sum, parts))
    name = f"match_many, {num_pairs} pairs of {num_images} images"
    return Results(
        (
            timed.row("match_many", name, per=both, goal=Goal(1.3)),
            timed.row("described", "of which describing", per="match_many"),
        )
    )


def first_call(settings: Settings) -> Results:
    """`python -m anchornet_tf.match` in a new process, the weights in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / f"{index}.png") for index in range(2)]
        for index, path in enumerate(paths):
            PIL.Image.fromarray(drawn_image(index, settings.choose(_SIZE, (64, 64)))).save(path)
        features = settings.choose("anchornet", "sift")
        command = ("-m", "anchornet_tf.match", *paths, f"--features={features}", "--output=")
        least = settings.choose(_LEAST_PROGRAM, "import tensorflow")
        unit = "TensorFlow's import and two trunk passes"
        works = {unit: lambda: run_python("-c", least), "match": lambda: run_python(*command)}
        timed = in_turn(works, settings.repeats)
    name = "python -m anchornet_tf.match A B --output="
    return Results((timed.row("match", name, per=unit, goal=Goal(1.5)),))
