"""The exported functions agree with the model for any size, batch and dtype; errors are clear."""

import numpy as np
import pytest
import tensorflow as tf

import anchornet_tf
from anchornet_tf.losses.diversity import filter_diversity_loss
from anchornet_tf.models.anchornet import AnchorNet
from benchmarks import memory
from export.servable import Servable
from tests.export.agreement import assert_flows_agree

INVALID = tf.errors.InvalidArgumentError


def _close(left, right, tolerance=1e-5):
    np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def _images(height, width, batch):
    rng = np.random.default_rng(height)
    return rng.integers(0, 256, (batch, height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("height, width, batch", [(32, 32, 1), (45, 71, 3)])
def test_call_gives_the_features_of_the_model(model, loaded, height, width, batch):
    images = _images(height, width, batch)
    expected = model(images).numpy()
    floats = images.astype(np.float32)
    _close(loaded(images, training=False), expected)
    _close(loaded(floats, training=True), expected)
    _close(loaded.serve(images), expected)
    _close(loaded.signatures["serving_default"](image=floats)["features"], expected)
    _close(loaded.signatures["features"](image=images)["features"], expected)


def test_every_image_of_a_batch_may_ask_for_another_class(model, loaded):
    images = _images(40, 56, 3)
    names = ["cow", "bird", "cow"]
    answer = loaded.signatures["class_responses"](image=images, class_name=tf.constant(names))
    for image, name, responses in zip(images, names, answer["responses"], strict=True):
        _close(responses, model.class_responses(image[None], name)[0])
    assert answer["class_names"].numpy().tolist() == [[b"bird", b"cow", b"car"]] * 3
    floats = {"image": images.astype(np.float32), "class_name": tf.constant(names)}
    _close(loaded.class_responses(floats)["responses"], answer["responses"])


def test_unknown_class(loaded):
    with pytest.raises(INVALID, match=r"class must be one of bird, cow, car.*\[cow dog\]"):
        loaded.signatures["class_responses"](
            image=_images(32, 32, 2), class_name=tf.constant(["cow", "dog"])
        )


def _python_flow(model, image_a, image_b):
    return anchornet_tf.match_pair(
        image_a, image_b, "anchornet", "nearest", model=model, image_size=model.image_size
    )


def test_match_is_match_pair(model, loaded, image_a, image_b):
    flow = _python_flow(model, image_a, image_b)
    answer = loaded.signatures["match"](source=image_a[None], target=image_b[None])
    assert_flows_agree(answer["flow"][0], flow.displacement)
    _close(answer["confidence"][0], flow.confidence)
    assert np.abs(flow.displacement).max() > 5


def test_match_of_a_batch_is_that_of_its_pairs(loaded, image_a, image_b):
    flipped = image_a[:, ::-1]
    match = loaded.signatures["match"]
    both = match(source=np.stack([image_a, flipped]), target=np.stack([image_b, image_b]))
    for row, source in enumerate((image_a, flipped)):
        alone = match(source=source[None].copy(), target=image_b[None])
        # Another batch size may round differently, which moves a match if two cells are alike.
        distance = np.abs(both["flow"][row] - alone["flow"][0]).max(axis=-1)
        assert (distance < 1e-2).mean() > 0.98


def test_points_are_carried_as_by_the_flow(model, loaded, image_a, image_b):
    points = [[0, 0], [-0.4, 3.2], [40.25, 30.75], [89.3, 70.4], [89, 70]]
    expected = _python_flow(model, image_a, image_b).transfer_points(points)
    given = {"source": image_a[None], "target": image_b[None], "points": tf.constant([points])}
    answer = loaded.signatures["match_points"](**given)
    assert_flows_agree(answer["points"][0], expected)
    assert answer["confidence"].shape == (1, 5)


@pytest.mark.parametrize("point", [[90.0, 5.0], [5.0, -0.6], [float("nan"), 5.0]])
def test_points_off_the_image(loaded, image_a, image_b, point):
    given = {"source": image_a[None], "target": image_b[None], "points": tf.constant([[point]])}
    with pytest.raises(INVALID, match="Expected points as .x, y. pixels inside the source"):
        loaded.signatures["match_points"](**given)


def test_unknown_matcher(model):
    with pytest.raises(ValueError, match="Received: 'dsp'"):
        Servable(model, matcher="dsp")


def test_images_that_are_too_large_to_describe(loaded):
    # A strip: the sides say nothing, the number of pixels does.
    image = np.zeros((1, 32, 131_073, 3), np.uint8)
    for name in ("features", "class_responses"):
        more = {"class_name": tf.constant(["cow"])} if name == "class_responses" else {}
        with pytest.raises(INVALID, match="at most 4194304 pixels"):
            loaded.signatures[name](image=image, **more)
    # What a server refuses costs no more than its copies: the network does not see it.
    floats = tf.zeros(image.shape, tf.float32)
    before = memory.resident_bytes()
    with pytest.raises(INVALID, match="at most 4194304 pixels"):
        loaded.signatures["serving_default"](image=floats)
    assert memory.resident_bytes() - before < 500 * memory.MEGABYTE


def test_images_that_are_matched_may_be_larger(loaded):
    strip = np.zeros((1, 32, 131_073, 3), np.uint8)
    points = np.array([[[5.0, 6.0]]], np.float32)
    answer = loaded.signatures["match_points"](source=strip, target=strip, points=points)
    assert np.isfinite(answer["points"]).all()
    larger = tf.zeros((1, 512, 131_073, 3), tf.uint8)
    with pytest.raises(INVALID, match="at most 67108864 pixels"):
        loaded.signatures["match_points"](source=strip, target=larger, points=points)


def test_images_that_are_too_small(loaded):
    with pytest.raises(INVALID, match="at least 32 pixels per side"):
        loaded.signatures["features"](image=_images(31, 60, 1))


def test_images_that_are_not_finite(loaded):
    images = np.full((1, 40, 40, 3), np.nan, np.float32)
    with pytest.raises(INVALID, match="Expected finite pixel values"):
        loaded.signatures["serving_default"](image=images)


def test_regularization_losses_are_the_weighted_diversity_of_each_kernel(model, loaded):
    expected = [7.0 / 3 * float(filter_diversity_loss(bank.kernel)) for bank in model.banks]
    expected.append(5.0 * float(filter_diversity_loss(model.autoencoder.kernel)))
    found = [loss() for loss in loaded.regularization_losses]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_variables_are_those_of_the_model(model, loaded):
    assert len(loaded.variables) == len(model.variables)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    for left, right in zip(loaded.trainable_variables, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(left.numpy(), right.numpy())


def test_training_keeps_the_statistics(loaded):
    before = [variable.numpy() for variable in loaded.variables]
    loaded(_images(32, 32, 2).astype(np.float32), training=True)
    for old, variable in zip(before, loaded.variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())


def test_training_reaches_the_call_at_once_and_the_rest_by_refold(exported):
    loaded, images = tf.saved_model.load(str(exported)), _images(40, 40, 1)
    before = loaded(images).numpy()
    _close(loaded.features(images)["features"], before)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(loaded(images, training=True)))
    # Kernel and bias of each bank, and the encoder's kernel.
    heads = loaded.trainable_variables[-2 * len(loaded.regularization_losses) + 1 :]
    for variable, gradient in zip(heads, tape.gradient(loss, heads), strict=True):
        variable.assign_sub(gradient / tf.norm(gradient))
    after = loaded(images).numpy()
    assert np.abs(after - before).max() > 1e-2 * np.abs(before).max()
    _close(loaded.serve(images), after)
    _close(loaded.features(images)["features"], before)
    loaded.refold()
    _close(loaded.features(images)["features"], after)


def test_a_model_that_is_not_linear_is_served_as_it_is(model):
    options = {"latent_filters": 5, "dimensions": 8, "weights": model.backbone}
    softplus = AnchorNet(("bird", "cow"), 3, gamma="softplus", **options)
    images = _images(40, 40, 1)
    servable = Servable(softplus)
    assert not hasattr(servable, "refold")
    _close(servable.features(tf.constant(images))["features"], softplus(images))
