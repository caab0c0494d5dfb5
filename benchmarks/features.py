"""What the descriptors cost beside the bare trunk."""

import tensorflow as tf

from anchornet_tf.layers.anchor_bank import factored_convolution
from anchornet_tf.models import folding
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
        folding.class_function(network, name, fixed=True),
        filters=folding.class_filters(bank, equalizer),
        more={
            "not folded": lambda images: network.class_responses(images, name),
            "folded in every call": folding.class_function(network, name, fixed=False),
            "plain convolution on the hypercolumn": _plain(
                network,
                lambda: (bank.kernel.value, bank.bias.value),
                lambda linear: equalizer(bank.whiten(linear)),
            ),
        },
        goal=Goal(1.1),
        reference="plain 1.3",
    )


def all_class_features(settings: Settings) -> Results:
    """ANet: the 1,280 filters of the shipped preset with their autoencoder."""
    network = models.network(*settings.choose((20, 64), (2, 8)))
    results = _compare(
        settings,
        f"ANet features, {_num_filters(network)} filters + autoencoder (voc20)",
        network,
        folding.features_function(network, fixed=True),
        filters=folding.agnostic_filters(network),
        more={
            "not folded": network.features,
            "folded in every call": folding.features_function(network, fixed=False),
            "plain convolution on the hypercolumn": _plain_chain(network),
        },
        goal=Goal(1.6),
        reference="not folded 2.8 to 3.8",
    )
    return Results(results.rows + _memory_rows(settings, network))


def one_image(settings: Settings) -> Results:
    """The same with a single image, where folding in every call costs most."""
    network = models.network(*settings.choose((20, 64), (2, 8)))
    images = _images(settings)[:1]
    functions = {
        _TRUNK: models.trunk,
        "folded": folding.features_function(network, fixed=True),
        "folded in every call": folding.features_function(network, fixed=False),
        "not folded": network.features,
    }
    works = {name: _work(models.compiled(function), images) for name, function in functions.items()}
    timed = in_turn(works, settings.repeats)
    title = f"ANet features of one image, {_num_filters(network)} filters"
    return Results(
        tuple(
            timed.row(name, f"{title}, {name}", per=_TRUNK) for name in functions if name != _TRUNK
        )
    )


def xla(settings: Settings) -> Results:
    """Whether XLA wins."""
    images = _images(settings)
    one = models.network(1, settings.choose(64, 4))
    every = models.network(*settings.choose((20, 64), (2, 8)))
    functions = {
        "trunk": models.trunk,
        "ANet-class features": folding.class_function(one, one.classes[0], fixed=True),
        "ANet features": folding.features_function(every, fixed=True),
    }
    works = {}
    for name, function in functions.items():
        works[name] = _work(models.compiled(function), images)
        works[f"{name}, XLA"] = _work(tf.function(function, jit_compile=True), images)
    timed = in_turn(works, settings.repeats)
    return Results(
        tuple(timed.row(f"{name}, XLA", f"{name} with XLA", per=name) for name in functions)
    )


def _compare(settings, title, network, features, *, filters, more, goal, reference) -> Results:
    """Measures a descriptor, the same in other ways, and its parts against the trunk."""
    images = _images(settings)
    raw_taps = network.backbone(images)
    taps = network.hypercolumn_layer.project(raw_taps)
    parts = {
        "PCA and normalisation": (network.hypercolumn_layer.project, raw_taps),
        "the filters": (lambda taps: factored_convolution(taps, *filters), taps),
    }
    whole = {"features": features, **more}
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
            *(timed.row(name, f"of which {name}", per=_TRUNK) for name in parts),
            *(timed.row(name, f"{title}, {name}", per=_TRUNK) for name in more),
        )
    )


def _memory_rows(settings, network) -> tuple[Row, ...]:
    images = _images(settings)
    features = folding.features_function(network, fixed=True)
    count = operations.count_stacked_maps(features, 3 * network.dimensions, images)
    rows = [
        Row("hypercolumns in the graph of the ANet features", "maps", (float(count),), Goal(0)),
    ]
    functions = {"ANet features": features, "plain convolution": _plain_chain(network)}
    for name, function in functions.items():
        work = _work(models.compiled(function), images)
        work()
        peak = memory.peak_growth(work) / memory.MEGABYTE
        rows.append(Row(f"peak memory of a pass, {name}", "MB", (peak,)))
    return tuple(rows)


def _plain_chain(network):
    return _plain(
        network,
        lambda: _all_kernels(network),
        lambda linear: network.describe(network.gamma_maps(linear)),
    )


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
