"""One bank in place of a chain: what follows the filters of a trained model is linear.

The responses of all banks, whitened, centred, encoded and equalized, are an affine function of the
responses, and so of the taps. The whole chain is therefore one bank of filters with another kernel
and bias: for the preset, 256 filters in place of 1,280 with two matrix products behind them.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from anchornet_tf.layers.anchor_bank import AnchorBank, factored_convolution
from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.models.anchornet import AnchorNet

Filters = tuple[tf.Tensor, tf.Tensor]


def features_function(
    model: AnchorNet, fixed: bool, fine_rank: int | None = None
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function of images that equals `model.features` at less than half the cost.

    Args:
        model: The model. One with `gamma="softplus"` is no linear chain and is not folded.
        fixed: bool. Whether the chain is folded now, so that the function keeps the values that
            the model has now. Otherwise it is folded in every call, and follows the model's
            variables and their gradients.
        fine_rank: int. How many channels of the fine tap the filters see: those by which they are
            approximated best. They are found now, whatever `fixed` says. None for all, so that the
            function equals `model.features` up to rounding.

    Raises:
        ValueError: If `fine_rank` is not from 1 to the number of channels, or the model is no
            linear chain.
    """
    if fine_rank is not None:
        _check_rank(fine_rank, model)
        return _of_fewer_channels(model, fine_rank)
    if not is_linear(model) or not fixed:
        return chain_function(model, model.taps)
    kernel, bias = agnostic_filters(model)
    return lambda images: factored_convolution(model.taps(images), kernel, bias)


def _of_fewer_channels(model: AnchorNet, fine_rank: int) -> Callable[[tf.Tensor], tf.Tensor]:
    kernel, bias = agnostic_filters(model)
    channels, reduced = reduced_filters(kernel, model.tap_depths[0], fine_rank)

    def network(images):
        fine, *coarse = model.taps(images)
        return factored_convolution([tf.tensordot(fine, channels, 1), *coarse], reduced, bias)

    return network


def reduced_filters(kernel: tf.Tensor, dimensions: int, rank: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Approximates what filters do to the fine tap by filters on fewer channels of it.

    The 3x3 filters on the fine tap cost most of all that follows the trunk, and the filters of many
    classes look at few directions of it.

    Args:
        kernel: `(3, 3, depth, filters)`; its first `dimensions` channels are those of the fine tap.
        dimensions: int.
        rank: int. How many channels are kept.

    Returns:
        Orthonormal channels `(dimensions, rank)` to project the fine tap on, and a kernel
        `(3, 3, rank + depth - dimensions, filters)` for the taps with the fine one projected.
    """
    fine, coarse = tf.split(kernel, [dimensions, -1], axis=2)
    flat = tf.reshape(tf.transpose(fine, (2, 0, 1, 3)), (dimensions, -1))
    _, directions, _ = tf.linalg.svd(tf.cast(flat, tf.float64))
    channels = tf.cast(directions[:, :rank], kernel.dtype)
    projected = tf.einsum("ijcf,cr->ijrf", fine, channels)
    return channels, tf.concat([projected, coarse], axis=2)


def _check_rank(rank: int, model: AnchorNet) -> None:
    if not is_linear(model):
        raise ValueError(
            "`fine_rank` needs a model with gamma='whitened'. "
            f"Received: fine_rank={rank}, gamma={model.gamma!r}"
        )
    if not 1 <= rank <= model.tap_depths[0]:
        raise ValueError(
            f"`fine_rank` must be from 1 to {model.tap_depths[0]}, the channels of the fine tap. "
            f"Received: fine_rank={rank}"
        )


def chain_function(
    model: AnchorNet, taps_of: Callable[[tf.Tensor], Sequence[tf.Tensor]]
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function of images that equals `model.features` and follows its variables.

    Args:
        model: The model.
        taps_of: What computes the taps of images, such as `model.taps`.
    """
    if is_linear(model):
        return lambda images: factored_convolution(taps_of(images), *agnostic_filters(model))
    return lambda images: model.describe(model.gamma_maps(model.linear_responses(taps_of(images))))


def class_function(
    model: AnchorNet, class_name: str, fixed: bool
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function of images that equals `model.class_responses` of one class.

    Args:
        model: The model.
        class_name: str.
        fixed: As in `features_function`.

    Raises:
        ValueError: If the model does not know the class.
    """
    bank = model.bank(class_name)
    equalizer = model.bank_equalizers[model.classes.index(class_name)]
    if fixed:
        responses = bank_function(bank, equalizer)
        return lambda images: responses(model.taps(images))
    return lambda images: factored_convolution(model.taps(images), *class_filters(bank, equalizer))


def bank_function(
    bank: AnchorBank, equalizer: Equalizer | None
) -> Callable[[Sequence[tf.Tensor]], tf.Tensor]:
    """Returns a function of taps: a bank, whitened and then equalized, with the values of now.

    Args:
        bank: The bank of a class.
        equalizer: What evens out its whitened responses, or None for the identity.
    """
    kernel, bias = class_filters(bank, equalizer)
    return lambda taps: factored_convolution(taps, kernel, bias)


def is_linear(model: AnchorNet) -> bool:
    """Tells whether what the class-agnostic layer compresses is linear in the taps."""
    return model.gamma == "whitened"


def agnostic_filters(model: AnchorNet) -> Filters:
    """Returns the kernel and the bias that equal the whole class-agnostic chain.

    Args:
        model: The model, with `gamma="whitened"`.

    Returns:
        `(3, 3, depth, latent_filters)` and `(latent_filters,)`.
    """
    # (classes * filters, latent): the encoder and what evens out its code.
    encoder = tf.matmul(model.autoencoder.kernel.value[0, 0], model.code_equalizer.matrix.value)
    pieces = tf.split(encoder, len(model.banks), axis=0)
    kernels, biases = zip(
        *(_folded(bank, piece) for bank, piece in zip(model.banks, pieces, strict=True)),
        strict=True,
    )
    centre = tf.linalg.matvec(encoder, model.autoencoder.running_mean.value, transpose_a=True)
    return tf.add_n(kernels), tf.add_n(biases) - centre


def class_filters(bank: AnchorBank, equalizer: Equalizer | None) -> Filters:
    """Returns the kernel and the bias that equal a bank, whitened and then equalized.

    Args:
        bank: The bank of a class.
        equalizer: What evens out its whitened responses, or None for the identity.

    Returns:
        `(3, 3, depth, filters)` and `(filters,)`.
    """
    if equalizer is None:
        return _folded(bank, tf.eye(bank.num_filters))
    return _folded(bank, equalizer.matrix.value)


def _folded(bank: AnchorBank, matrix: tf.Tensor) -> Filters:
    """Folds whitening and a matrix `(filters, outputs)` into the filters of a bank."""
    mean, deviation = bank.statistics()
    matrix = matrix / deviation[:, tf.newaxis]
    kernel = tf.tensordot(bank.kernel.value, matrix, axes=1)
    return kernel, tf.linalg.matvec(matrix, bank.bias.value - mean, transpose_a=True)
