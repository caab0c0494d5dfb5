"""What trunks cost beside ResNet50, all with random weights: time, operations, memory, size."""

import functools

import tensorflow as tf

from anchornet_tf.trunks import registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.trunks.description import TrunkDescription
from benchmarks import models
from benchmarks.memory import MEGABYTE, peak_growth
from benchmarks.operations import count_operations
from benchmarks.results import Results, Row
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_USUAL = registry.DEFAULT
_MEASURED = (
    "resnet101",
    "resnet152",
    "convnext_tiny",
    "convnext_small",
    "convnext_base",
    "efficientnetv2_s",
    "dinov2_small",
    "dinov2_base",
    "dinov3_small",
    "dinov3_base",
)
_QUICK = ("convnext_tiny",)


def trunk_costs(settings: Settings) -> Results:
    """One pass over a batch of square images, of each trunk in turn."""
    size, count = settings.choose((224, 8), (64, 1))
    images = models.random_images(count, size)
    made = {name: Backbone(name, weights=None) for name in settings.choose(_MEASURED, _QUICK)}
    made = {_USUAL: models.backbone(), **made}
    compiled = {name: models.compiled(trunk) for name, trunk in made.items()}
    for function in compiled.values():
        function(images)
    timed = in_turn(
        {name: functools.partial(function, images) for name, function in compiled.items()},
        settings.repeats,
    )
    rows = []
    for name, trunk in made.items():
        what = f"{name}, {count} images of {size}x{size}"
        rows.append(timed.row(name, f"{what}: time", per=_USUAL))
        operations = 2 * multiplications(trunk, size) / 1e9
        rows.append(Row(f"{name}, one image: operations", "G", (operations,)))
        grown = peak_growth(functools.partial(compiled[name], images)) / MEGABYTE
        rows.append(Row(f"{what}: memory of a pass", "MB", (grown,)))
        held = sum(4 * variable.numpy().size for variable in trunk.variables) / MEGABYTE
        rows.append(Row(f"{name}: weights in float32", "MB", (held,)))
    return Results(tuple(rows))


def multiplications(backbone: Backbone, size: int) -> float:
    """Returns the multiplications, each with an addition, of a pass over one square image."""
    trunk = backbone.trunk
    if trunk.family in ("dinov2", "dinov3"):
        return _of_transformer(trunk, size)
    return count_operations(backbone, tf.zeros((1, size, size, 3))) / 2


def _of_transformer(trunk: TrunkDescription, size: int) -> float:
    # TensorFlow's profiler does not count the products of attention.
    architecture, (rows, columns) = trunk.architecture, trunk.grids(size, size)[0]
    wide, inner = architecture["hidden_dim"], architecture["intermediate_dim"]
    tokens = rows * columns + 1 + architecture["num_register_tokens"]
    blocks = max(int(tap.layer.removeprefix("block")) for tap in trunk.taps)
    block = tokens * (4 * wide * wide + 2 * wide * inner) + 2 * tokens * tokens * wide
    return blocks * block + rows * columns * 3 * architecture["patch_size"] ** 2 * wide
