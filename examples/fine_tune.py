"""Fine-tunes AnchorNet on a classification task of yours, as any other Keras model.

    python examples/fine_tune.py --images=IMAGES --output=tuned      # IMAGES/<class>/photo.jpg

It shows mixed precision, a compiled step (`jit_compile`), learning rates by layer, a model that is
saved and one that is exported.
"""

import argparse

import keras
import tensorflow as tf

import anchornet_tf
from anchornet_tf.optimizers import optimizer_by_path


def make_classifier(network: anchornet_tf.AnchorNet, classes: int, size: int) -> keras.Model:
    """Puts a classifier on the descriptors: where does each of them fire most, and what follows."""
    images = keras.Input((size, size, 3), name="images")  # RGB from 0 to 255
    descriptors = network(images)  # (batch, size / 4, size / 4, depth)
    strongest = keras.layers.GlobalMaxPooling2D(dtype="float32")(descriptors)
    evened = keras.layers.BatchNormalization(dtype="float32")(strongest)
    scores = keras.layers.Dense(classes, dtype="float32", name="scores")(evened)
    return keras.Model(images, scores)


def compile_classifier(model: keras.Model, rate: float) -> None:
    """The network learns at a tenth of the rate of what is new."""
    paths = [variable.path for variable in model.trainable_variables]
    rates = {"anchornet/.*": 0.1, "(?!anchornet/).*": 1.0}
    if not any(path.startswith("anchornet/") for path in paths):
        rates = {".*": 1.0}
    model.compile(
        optimizer_by_path(rates, model.trainable_variables, keras.optimizers.Adam(rate)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=True,
    )


def fine_tune(
    network: anchornet_tf.AnchorNet,
    examples: tf.data.Dataset,
    classes: int,
    size: int,
    output: str,
    epochs: int = 3,
    rate: float = 1e-3,
    train_trunk: bool = False,
) -> tuple[keras.Model, keras.callbacks.History]:
    """Trains on (images, labels), writes `OUTPUT.keras` and the SavedModel `OUTPUT/`."""
    network.backbone.trainable = train_trunk
    model = make_classifier(network, classes, size)
    compile_classifier(model, rate)
    history = model.fit(examples, epochs=epochs, verbose=2)
    model.save(f"{output}.keras")
    model.export(output, verbose=False)
    return model, history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", required=True, help="folder with one sub-folder for each class")
    parser.add_argument("--output", required=True, help="what is written: OUTPUT.keras and OUTPUT/")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--size", type=int, default=224, help="height and width of the images")
    parser.add_argument("--train_trunk", action="store_true", help="train ResNet50 too")
    # On a graphics card "mixed_float16" is faster; "float32" is exact.
    parser.add_argument("--policy", default="mixed_bfloat16")
    given = parser.parse_args()
    keras.config.set_dtype_policy(given.policy)
    examples = keras.utils.image_dataset_from_directory(
        given.images, image_size=(given.size, given.size), batch_size=16
    )
    classes = len(examples.class_names)
    # All batches of one size, so that the step is compiled once.
    examples = examples.unbatch().repeat(given.epochs).batch(16, drop_remainder=True)
    network = anchornet_tf.AnchorNet.from_preset("voc20")
    options = {"epochs": 1, "train_trunk": given.train_trunk}
    fine_tune(network, examples.prefetch(2), classes, given.size, given.output, **options)
    print(f"Written: {given.output}.keras and the SavedModel {given.output}/")


if __name__ == "__main__":
    main()
