"""What the descriptors cost beside the bare trunk."""

import tensorflow as tf

from benchmarks import memory, models, operations
from benchmarks.results import Goal, Results, Row
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_TRUNK = "trunk"


def class_features(settings: Settings) -> Results:
    """ANet-class: the responses of one bank."""
    network = models.network(1, settings.choose(64, 4))
    (name,) = network.classes
    (bank,), (equalizer,) = network.banks, network.bank_equalizers
    return _compare(
        settings,
        f"ANet-class features, K = {network.num_filters}",
        network,
        lambda images: network.class_responses(images, name),
        filters=lambda taps: bank.linear(taps),
        read_out=lambda linear: equalizer(bank.whiten(linear)),
        kernels=lambda: (bank.kernel.value, bank.bias.value),
        goal=Goal(1.15),
        reference="plain 1.3",
    )


def all_class_features(settings: Settings) -> Results:
    """ANet: 640 filters and the autoencoder, and the preset's 1280."""
    network = models.network(*settings.choose((20, 32), (2, 4)))
    larger = models.network(*settings.choose((20, 64), (2, 8)))
    results = _compare(
        settings,
        f"ANet features, {_num_filters(network)} filters + autoencoder",
        network,
        network.features,
        filters=network.linear_responses,
        read_out=lambda linear: network.describe(network.gamma_maps(linear)),
        kernels=lambda: _all_kernels(network),
        goal=Goal(2.3),
        reference="plain 3.7, factored in plain ops 2.6",
        more={f"ANet features, {_num_filters(larger)} filters (voc20)": larger.features},
    )
    return Results(results.rows + _memory_rows(settings, network))


def xla(settings: Settings) -> Results:
    """Whether XLA wins."""
    images = _images(settings)
    one = models.network(1, settings.choose(64, 4))
    every = models.network(*settings.choose((20, 32), (2, 4)))
    functions = {
        "trunk": models.trunk,
        "ANet-class features": lambda images: one.class_responses(images, one.classes[0]),
        "ANet features": every.features,
    }
    works = {}
    for name, function in functions.items():
        works[name] = _work(models.compiled(function), images)
        works[f"{name}, XLA"] = _work(tf.function(function, jit_compile=True), images)
    timed = in_turn(works, settings.repeats)
    return Results(
        tuple(timed.row(f"{name}, XLA", f"{name} with XLA", per=name) for name in functions)
    )


def _compare(
    settings,
    title,
    network,
    features,
    *,
    filters,
    read_out,
    kernels,
    goal,
    reference,
    more=None,
) -> Results:
    """Measures a descriptor, the same with a plain convolution, and its parts against the trunk."""
    images = _images(settings)
    raw_taps = network.backbone(images)
    taps = network.hypercolumn_layer.project(raw_taps)
    linear = filters(taps)

    more = more or {}
    whole = {"features": features, "plain": _plain(network, kernels, read_out), **more}
    parts = {
        "projection": (network.hypercolumn_layer.project, raw_taps),
        "filters": (filters, taps),
        "read-out": (read_out, linear),
    }
    timed = in_turn(
        {_TRUNK: _work(models.compiled(models.trunk), images)}
        | {name: _work(models.compiled(function), images) for name, function in whole.items()}
        | {
            name: _work(tf.function(function), inputs) for name, (function, inputs) in parts.items()
        },
        settings.repeats,
    )
    least = operations.count_operations(features, images)
    least /= operations.count_operations(models.trunk, images)
    return Results(
        (
            timed.row(_TRUNK, "bare trunk, the unit of the next rows"),
            timed.row(
                "features",
                title,
                per=_TRUNK,
                goal=goal,
                reference=reference,
                note=f"{least:.2f} x the trunk's operations",
            ),
            timed.row("plain", f"{title}, plain convolution on the hypercolumn", per=_TRUNK),
            timed.row("projection", "of which PCA and normalisation", per=_TRUNK),
            timed.row("filters", "of which the filters", per=_TRUNK),
            timed.row("read-out", "of which everything after them", per=_TRUNK),
            *(timed.row(name, name, per=_TRUNK) for name in more),
        )
    )


def _memory_rows(settings, network) -> tuple[Row, ...]:
    images = _images(settings)
    channels = 3 * network.dimensions
    plain = _plain(
        network,
        lambda: _all_kernels(network),
        lambda linear: network.describe(network.gamma_maps(linear)),
    )
    count = operations.count_tensors(network.features, channels, images)
    rows = [
        Row("hypercolumns in the graph of the ANet features", "maps", (float(count),), Goal(0)),
    ]
    for name, function in (("ANet features", network.features), ("plain convolution", plain)):
        work = _work(models.compiled(function), images)
        work()
        peak = memory.peak_growth(work) / memory.MEGABYTE
        rows.append(Row(f"peak memory of a pass, {name}", "MB", (peak,)))
    return tuple(rows)


def _plain(network, kernels, read_out):
    """Returns the descriptor as the paper writes it: a convolution on the whole hypercolumn."""

    def features(images):
        kernel, bias = kernels()
        linear = tf.nn.conv2d(network.hypercolumn(images), kernel, 1, "SAME")
        return read_out(tf.nn.bias_add(linear, bias))

    return features


def _all_kernels(network):
    kernels = tf.concat([bank.kernel.value for bank in network.banks], axis=-1)
    return kernels, tf.concat([bank.bias.value for bank in network.banks], axis=0)


def _num_filters(network) -> int:
    return network.num_filters * len(network.classes)


def _images(settings) -> tf.Tensor:
    return models.random_images(settings.choose(8, 1), settings.choose(224, 64))


def _work(function, inputs):
    return lambda: function(inputs)
