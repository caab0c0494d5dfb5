"""A descriptor that runs an exported LiteRT file, to measure what its precision costs."""

import os
import pathlib

import tensorflow as tf

from anchornet_tf.features.deep import DeepDescriptor


def exported_features(
    file: str | os.PathLike | None = None, blur: float = 0.0, num_threads: int | None = None
) -> DeepDescriptor:
    """Makes the descriptor `"litert"`: the `features.tflite` that `export.litert` wrote.

    Images are resized to the size that the file takes.

    Args:
        file: The file.
        blur: As in `DeepDescriptor`.
        num_threads: int. How many threads compute; None for one per core.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If ai-edge-litert is not installed.
        ValueError: If no file is given, or it is another kind of file.
    """
    if file is None:
        raise ValueError(
            "Expected `file`, a features.tflite that `python -m export.litert` wrote. "
            "Received: none"
        )
    if not pathlib.Path(file).is_file():
        raise FileNotFoundError(f"Expected a LiteRT file. Received: {file}")
    run, size, depth = _runner(str(file), num_threads or os.cpu_count())

    def network(images):
        # The file takes one image at a time.
        maps = tf.map_fn(
            lambda image: tf.numpy_function(run, [image], tf.float32, stateful=False),
            images,
            parallel_iterations=1,
            fn_output_signature=tf.float32,
        )
        return tf.ensure_shape(maps, (None, None, None, depth))

    return DeepDescriptor(network, image_size=size, blur=blur)


def _runner(file: str, num_threads: int):
    """Returns a function from an image to its map, the size of images and the depth of maps."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise ImportError(
            f"Expected ai-edge-litert: pip install 'anchornet_tf[litert]'. Received: {error}"
        ) from error
    try:
        runner = Interpreter(file, num_threads=num_threads).get_signature_runner()
        image = runner.get_input_details()["image"]
        maps = runner.get_output_details()["features"]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"Expected a features.tflite that `python -m export.litert` wrote. Received: {file}"
        ) from error
    size = tuple(int(side) for side in image["shape"][1:3])
    return lambda pixels: runner(image=pixels[None])["features"][0], size, int(maps["shape"][-1])
