"""A trained model as one TensorFlow object, for TF-Hub, Keras and TensorFlow Serving alike."""

import tensorflow as tf

from anchornet_tf.features.look_twice import probe_of
from anchornet_tf.layers.anchor_bank import factored_convolution
from anchornet_tf.losses.diversity import filter_diversity_loss
from anchornet_tf.matchers.confidence import confidence_of
from anchornet_tf.models import folding
from anchornet_tf.models.anchor_peaks import anchor_peaks
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.preprocessing import MINIMUM_SIZE
from anchornet_tf.utils.image_io import MAXIMUM_SIDE, pixel_limit
from export import graph_closer_look, graph_flow, graph_matching
from export.image_bytes import decode_batch

FUNCTIONS = ("features", "class_responses", "anchors", "from_bytes", "match", "match_points")
_DTYPES = (tf.float32, tf.uint8)
# Images that are described as they are need memory in proportion: 20 megapixels, sent by anyone,
# would take several gigabytes of a server.
_DESCRIBED_PIXELS = MAXIMUM_SIDE**2


class Servable(tf.train.Checkpoint):
    """What `tf.saved_model.save` writes: functions, variables and losses, as loaders name them.

    It is a TF-Hub Reusable SavedModel, a `keras.layers.TFSMLayer` and a servable of TensorFlow
    Serving. The first dimension of every input and output is the batch, along which TensorFlow
    Serving joins requests. Images are RGB from 0 to 255, float32 or uint8. Batch normalisation
    keeps its statistics, whatever the value of `training`.

    Where the chain behind the taps is linear (`gamma="whitened"`), it is kept as one bank of
    filters as well (see `anchornet_tf.models.folding`). `features`, `anchors`, `from_bytes`,
    `match` and `match_points` use that one. The call itself and `serve`, which may be trained, fold
    the chain anew each time; after training, `refold` brings the other functions up to date.

    Args:
        model: `AnchorNet`.
        weight_div_a: float. Weight of the mean L_DivA of the banks, as in the training of the whole
            network.
        weight_div_encoder: float. Weight of L_DivA of the class-agnostic layer.
        matcher: `"nearest"` or `"hough"`, for `match` and `match_points`.
        look_twice: int. Size in pixels at which `match` and `match_points` look at the object of
            each image again, as `Matcher(look_twice=...)` does; 0 to look once.

    Attributes:
        variables: All `tf.Variable`s.
        trainable_variables: The variables that training changes.
        regularization_losses: Functions without arguments, each a term of the loss: one per bank,
            then one for the class-agnostic layer.
        encoder: The variable of the class-agnostic layer.
        equalizer: The variable that evens out its descriptors.

    Raises:
        ValueError: If the matcher is unknown, `look_twice` is too small for the trunk, or the model
            cannot tell objects from background, which looking twice needs.
    """

    # Not a tf.Module: there, the attributes that TF-Hub asks for are properties, which are not
    # saved.
    def __init__(
        self,
        model: AnchorNet,
        weight_div_a: float = 100.0,
        weight_div_encoder: float = 100.0,
        matcher: str = "hough",
        look_twice: int = 0,
    ):
        super().__init__()
        size = model.image_size
        self._size = (size, size) if isinstance(size, int) else tuple(size)
        self._matcher = graph_matching.check_matcher(matcher)
        self._confidence = confidence_of(model, "auto")
        self._look_twice = _checked_look_twice(look_twice, model)
        self._names = model.classes
        self.variables = [variable.value for variable in model.variables]
        self.trainable_variables = [variable.value for variable in model.trainable_variables]
        share = weight_div_a / len(model.banks)
        self.regularization_losses = [_diversity(bank.kernel, share) for bank in model.banks]
        self.regularization_losses += [_diversity(model.autoencoder.kernel, weight_div_encoder)]

        self.encoder = model.autoencoder.kernel.value
        self.equalizer = model.code_equalizer.matrix.value

        # The trunk is traced once and called by every other function. The model itself is not an
        # attribute: it would be saved with everything that Keras attaches to it.
        images = tf.TensorSpec((None, None, None, 3), tf.float32)
        self._taps = tf.function(model.taps, input_signature=[images], autograph=False)
        self._describe_live = tf.function(
            folding.chain_function(model, self._taps), input_signature=[images], autograph=False
        )
        self._describe = self._describe_live
        # Of taps that are there already.
        self._describe_taps = folding.chain_function(model, lambda taps: taps)
        self._peaks = lambda taps: anchor_peaks(model, model.linear_responses(taps))
        if folding.is_linear(model):
            self._fold(model, images)
        self._class_maps = _class_maps_function(model)
        self._match_images = self._looking_twice() if self._look_twice else self._looking_once
        self._trace()

    def _fold(self, model, images) -> None:
        """Keeps the class-agnostic chain as one bank, for the functions that only serve."""
        kernel, bias = (
            tf.Variable(part, trainable=False) for part in folding.agnostic_filters(model)
        )
        self._folded = [kernel, bias]
        self._describe_taps = lambda taps: factored_convolution(taps, kernel, bias)
        self._describe = tf.function(
            lambda images: self._describe_taps(self._taps(images)),
            input_signature=[images],
            autograph=False,
        )

        def refold():
            for variable, value in zip(self._folded, folding.agnostic_filters(model), strict=True):
                variable.assign(value)

        self.refold = tf.function(refold, input_signature=[], autograph=False)

    @tf.function(autograph=False)
    def __call__(self, image, training=False):
        """Returns descriptors, `(batch, height / 4, width / 4, latent_filters)`.

        Args:
            image: `(batch, height, width, 3)`.
            training: Has no effect; TF-Hub and Keras pass it.
        """
        return self._describe_live(_checked(image))

    @tf.function(autograph=False)
    def serve(self, image):
        """Returns descriptors; `keras.layers.TFSMLayer` looks for this name first."""
        return self._describe_live(_checked(image))

    @tf.function(autograph=False)
    def features(self, image):
        """Returns the descriptors under the name "features"."""
        return {"features": self._describe(_checked(image))}

    @tf.function(autograph=False)
    def class_responses(self, inputs):
        """Returns the descriptor of a class: the responses of its bank, whitened and evened out.

        Args:
            inputs: dict of `image`, `(batch, height, width, 3)`, and `class_name`, `(batch,)`, one
                class per image.

        Returns:
            dict of `responses`, `(batch, height / 4, width / 4, num_filters)`, and `class_names`,
            `(batch, classes)`, all classes of the model.
        """
        image, class_name = inputs["image"], inputs["class_name"]
        names = tf.constant(self._names)
        is_class = tf.equal(class_name[:, tf.newaxis], names)  # (batch, classes)
        check = tf.debugging.Assert(
            tf.reduce_all(tf.reduce_any(is_class, axis=1)),
            [
                f"The class must be one of {', '.join(self._names)}. Received: class_name =",
                class_name,
            ],
            summarize=10,
        )
        with tf.control_dependencies([check]):
            index = tf.argmax(is_class, axis=1, output_type=tf.int32)
        responses = self._class_maps(self._taps(_checked(image)), index)
        return {
            "responses": responses,
            "class_names": tf.tile(names[tf.newaxis], (tf.shape(image)[0], 1)),
        }

    @tf.function(autograph=False)
    def anchors(self, image):
        """Finds where each anchor of all classes fires strongest.

        Args:
            image: `(batch, height, width, 3)`.

        Returns:
            dict of `strengths`, how strong each peak is, in deviations from the filter's mean, and
            `cells`, its cell of the grid, rows first, both `(batch, classes * num_filters)`, class
            after class; and `features`, `(batch, height / 4, width / 4, latent_filters)`.
        """
        taps = self._taps(_checked(image))
        strengths, cells = self._peaks(taps)
        return {"strengths": strengths, "cells": cells, "features": self._describe_taps(taps)}

    @tf.function(autograph=False)
    def from_bytes(self, image_bytes):
        """Returns the descriptors of JPEG or PNG files, resized to the image size of the model.

        Args:
            image_bytes: `(batch,)` contents of files, with images of any size.

        Returns:
            dict of `features` and `image_size`, `(batch, 2)`, (height, width) of each file.
        """
        images, sizes = decode_batch(image_bytes, self._size)
        return {"features": self._describe(images), "image_size": sizes}

    @tf.function(autograph=False)
    def match(self, inputs):
        """Matches every pixel of `source` to `target`.

        Args:
            inputs: dict of `source` and `target`, both `(batch, height, width, 3)`. Their sizes may
                differ.

        Returns:
            dict of `flow`, `(batch, height, width, 2)`, (dy, dx) in pixels, and `confidence`,
            `(batch, height, width)`, the probability that a match is right.
        """
        flow, confidence = graph_flow.spread(self._matched(inputs))
        return {"flow": flow, "confidence": confidence}

    @tf.function(autograph=False)
    def match_points(self, inputs):
        """Finds the matches of points.

        Args:
            inputs: dict of `source` and `target`, as in `match`, and `points`, `(batch, n, 2)`,
                (x, y) pixels of the source.

        Returns:
            dict of `points`, `(batch, n, 2)`, (x, y) pixels of the target, and `confidence`,
            `(batch, n)`.
        """
        points, confidence = graph_flow.transfer_points(self._matched(inputs), inputs["points"])
        return {"points": points, "confidence": confidence}

    def _matched(self, inputs):
        # Two pixels are enough, as in `anchornet_tf.utils.image_io`: images are resized first.
        source, target = (
            _checked(inputs[name], 2, pixel_limit(), keep_bytes=True)
            for name in ("source", "target")
        )
        return self._match_images(source, target)

    def _looking_once(self, source, target):
        return graph_matching.match_images(
            self._describe, source, target, self._size, self._matcher, self._confidence
        )

    def _looking_twice(self):
        """Returns a function, which is traced once for both `match` and `match_points`."""
        return tf.function(
            lambda source, target: graph_closer_look.match_images(
                self._describe,
                source,
                target,
                self._size,
                (self._look_twice, self._look_twice),
                self._confidence.probe,
                self._matcher,
                self._confidence,
            ),
            autograph=False,
        )

    def signatures(self) -> dict:
        """Returns the functions that a server offers, by name.

        An input of a signature has a single dtype: `serving_default` takes float images, and all
        others take uint8, which needs a quarter of the bytes.
        """
        return {
            "serving_default": self.features.get_concrete_function(_image(tf.float32)),
            "features": self.features.get_concrete_function(_image(tf.uint8)),
            "class_responses": self.class_responses.get_concrete_function(_of_class(tf.uint8)),
            "from_bytes": self.from_bytes.get_concrete_function(_BYTES),
            "match": self.match.get_concrete_function(_pair(tf.uint8)),
            "match_points": self.match_points.get_concrete_function(_pair(tf.uint8) | _POINTS),
        }

    def _trace(self) -> None:
        """Traces all variants of the functions: a loaded object cannot trace others."""
        for dtype in _DTYPES:
            for training in (False, True):
                self.__call__.get_concrete_function(_image(dtype), training=training)
            self.serve.get_concrete_function(_image(dtype))
            self.features.get_concrete_function(_image(dtype))
            self.anchors.get_concrete_function(_image(dtype))
            self.class_responses.get_concrete_function(_of_class(dtype))
            self.match.get_concrete_function(_pair(dtype))
            self.match_points.get_concrete_function(_pair(dtype) | _POINTS)


def _image(dtype, name="image"):
    return tf.TensorSpec((None, None, None, 3), dtype, name)


def _of_class(dtype):
    return {"image": _image(dtype), "class_name": tf.TensorSpec((None,), tf.string, "class_name")}


def _pair(dtype):
    return {name: _image(dtype, name) for name in ("source", "target")}


_BYTES = tf.TensorSpec((None,), tf.string, "image_bytes")
_POINTS = {"points": tf.TensorSpec((None, None, 2), tf.float32, "points")}


def _checked_look_twice(look_twice: int, model: AnchorNet) -> int:
    if look_twice and look_twice < MINIMUM_SIZE:
        raise ValueError(
            f"Expected a `look_twice` of 0 or at least {MINIMUM_SIZE} pixels. "
            f"Received: {look_twice}"
        )
    if look_twice:
        probe_of(model.confidence)
    return look_twice


def _checked(image, minimum=MINIMUM_SIZE, limit=_DESCRIBED_PIXELS, keep_bytes=False):
    """Returns images as float32; the call fails if they are too small, too large or not finite.

    With `keep_bytes`, uint8 images stay as they are: resizing makes floats of them, with the same
    values and without a copy of four times the size.
    """
    size = tf.shape(image)[1:3]
    check = tf.debugging.Assert(
        tf.reduce_all(size >= minimum),
        [
            f"Expected images of at least {minimum} pixels per side. Received: (height, width) =",
            size,
        ],
    )
    small_enough = tf.debugging.Assert(
        tf.cast(size[0], tf.int64) * tf.cast(size[1], tf.int64) <= limit,
        [f"Expected images of at most {limit} pixels. Received: (height, width) =", size],
    )
    with tf.control_dependencies([check, small_enough]):
        # Casting floats to floats makes no operation: what follows would not wait for the checks.
        image = tf.identity(image)
    if keep_bytes and image.dtype == tf.uint8:
        return image
    image = tf.cast(image, tf.float32)
    return tf.debugging.check_numerics(image, "Expected finite pixel values. Received: image")


def _diversity(kernel, weight):
    return tf.function(lambda: weight * filter_diversity_loss(kernel), input_signature=[])


def _class_maps_function(model):
    """Returns a function from taps, and one class index per image, to descriptors of the class."""

    def class_maps(taps, index):
        biases = tf.stack([tf.convert_to_tensor(bank.bias) for bank in model.banks])
        statistics = zip(*(bank.statistics() for bank in model.banks), strict=True)
        means, deviations = (tf.stack(parts) for parts in statistics)  # (classes, filters)
        # (classes, filters, filters)
        equalizers = tf.stack([tf.convert_to_tensor(e.matrix) for e in model.bank_equalizers])

        def one_image(values):
            row, *of_image = values
            # Chosen, not gathered: the kernels of all classes together are large to copy.
            kernel = tf.switch_case(
                row, [lambda bank=bank: tf.convert_to_tensor(bank.kernel) for bank in model.banks]
            )
            linear = factored_convolution(
                [tap[tf.newaxis] for tap in of_image], kernel, biases[row]
            )
            return tf.matmul((linear[0] - means[row]) / deviations[row], equalizers[row])

        return tf.map_fn(
            one_image,
            (index, *taps),
            fn_output_signature=tf.TensorSpec((None, None, model.num_filters), tf.float32),
        )

    return class_maps
