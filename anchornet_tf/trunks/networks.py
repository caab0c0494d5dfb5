"""From the description of a trunk to a Keras network that gives its taps."""

import difflib
import json
from collections.abc import Sequence

import keras

from anchornet_tf.trunks.description import Tap, TrunkDescription

_INPUT, _OUTPUT = ":input", "output"
# Any side that all strides divide: what comes out of it tells the stride.
_MEASURED_SIDE = 256


def make(trunk: TrunkDescription):
    """Returns the network of a trunk with random weights.

    Returns:
        A Keras model or layer, called as `network(images, training=False)`, that returns a list of
        maps, one per tap.

    Raises:
        ImportError: If the network needs a package that is not installed.
        ValueError: If it has no such layer.
    """
    if trunk.family in ("dinov2", "dinov3"):
        from anchornet_tf.trunks import vision_transformer

        return vision_transformer.make(trunk)
    return tapped(whole(trunk), [tap.layer for tap in trunk.taps], trunk.name)


def whole(trunk: TrunkDescription) -> keras.Model:
    """Returns the Keras model that the taps of a trunk are layers of, with random weights."""
    if trunk.family == "keras_applications":
        function = getattr(keras.applications, trunk.architecture["function"])
        return function(include_top=False, weights=None)
    return keras.models.model_from_json(json.dumps(trunk.architecture["model"]))


def tapped(model: keras.Model, layers: Sequence[str], name: str) -> keras.Model:
    """Returns a model from the images to the activations of layers.

    Args:
        model: A functional Keras model.
        layers: Names as in `Tap.layer`.
        name: str. Of the returned model.

    Raises:
        ValueError: If the model has no such layer.
    """
    return keras.Model(model.inputs, [_activations(model, layer) for layer in layers], name=name)


def measure(trunk: TrunkDescription, layers: Sequence[str]) -> tuple[Tap, ...]:
    """Returns layers of a trunk's network as taps.

    Raises:
        ValueError: If it has no such layer, or what a layer gives is no map.
    """
    return taps_of(whole(trunk), layers, trunk.input_size)


def taps_of(
    model: keras.Model, layers: Sequence[str], input_size: tuple[int, int] | None = None
) -> tuple[Tap, ...]:
    """Returns layers of a Keras model as taps, whose strides and channels are found.

    Args:
        model: A functional Keras model.
        layers: Names as in `Tap.layer`.
        input_size: The only size that the model takes, or None.

    Raises:
        ValueError: If the model has no such layer, or what a layer gives is no map.
    """
    height, width = input_size or (_MEASURED_SIDE, _MEASURED_SIDE)
    shapes = tapped(model, layers, "measured").compute_output_shape((1, height, width, 3))
    shapes = shapes if isinstance(shapes, list) else [shapes]
    taps = []
    for layer, shape in zip(layers, shapes, strict=True):
        if len(shape) != 4 or None in shape[1:]:
            raise ValueError(
                "Expected a layer that gives maps (batch, rows, columns, channels). "
                f"Received: {layer!r} of shape {tuple(shape)}"
            )
        taps.append(Tap(layer, layer, -(-height // shape[1]), shape[3]))
    return tuple(taps)


def describe(
    model: keras.Model, layers: Sequence[str], preprocessing: str, name: str, multiple: int
) -> TrunkDescription:
    """Returns the description of a user's own Keras model.

    Raises:
        ValueError: If the model is not functional or cannot be saved, or has no such layer.
    """
    if not getattr(model, "inputs", None) or len(model.inputs) != 1:
        raise ValueError(
            "Expected a functional Keras model with one input, such as keras.Model(inputs, "
            f"outputs). Received: {type(model).__name__}"
        )
    batch, *size, channels = model.inputs[0].shape
    del batch
    if len(size) != 2 or channels != 3:
        raise ValueError(
            "Expected a model of RGB images (batch, height, width, 3). "
            f"Received: a model of {tuple(model.inputs[0].shape)}"
        )
    input_size = tuple(size) if None not in size else None
    try:
        architecture = json.loads(model.to_json())
        keras.models.model_from_json(json.dumps(architecture))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Expected a model that Keras can save: register own layers with "
            f"`keras.saving.register_keras_serializable`. Received: {error}"
        ) from error
    taps = taps_of(model, layers, input_size)
    return TrunkDescription(
        name=name,
        family="keras_model",
        architecture={"model": architecture},
        taps=taps,
        preprocessing=preprocessing,
        multiple=multiple,
        input_size=input_size,
    )


def _activations(model: keras.Model, layer: str):
    if layer == _OUTPUT:
        return model.outputs[0]
    name = layer.removesuffix(_INPUT)
    known = [each.name for each in model.layers]
    if name not in known:
        close = difflib.get_close_matches(name, known, 3, 0.4) or known[-3:]
        raise ValueError(
            f"Expected one of the {len(known)} layers of {model.name}, such as "
            f"{', '.join(close)}. Received: {layer!r}"
        )
    found = model.get_layer(name)
    return found.input if layer.endswith(_INPUT) else found.output
