"""The trunk of a LiteRT file in bytes: eight bits for weights and for what flows between layers."""

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import PIL.Image

from anchornet_tf.datasets import parts_world

# The trunk is nearly all of the work. What follows it tells descriptors apart by small differences,
# and the matcher raises similarities to powers: both need floats.
_TRUNK = ".*backbone.*"
_OPERATIONS = ("CONV_2D", "ADD", "PAD", "MAX_POOL_2D", "AVERAGE_POOL_2D")
_BITS = 8


def library():
    """Returns ai-edge-quantizer.

    Raises:
        ImportError: If it is not installed.
    """
    try:
        from ai_edge_quantizer import quantizer
    except ImportError as error:
        raise ImportError(
            f"Expected ai-edge-quantizer: pip install 'anchornet_tf[litert]'. Received: {error}"
        ) from error
    return quantizer


def with_bytes(content: bytes, inputs: Sequence[str], images: Iterator[np.ndarray]) -> bytes:
    """Returns a LiteRT file whose trunk computes with bytes.

    Args:
        content: The file with float weights.
        inputs: Names of the images that it takes.
        images: float32 `(1, height, width, 3)` images that tell the range of values.
    """
    quantizer = library()
    from ai_edge_quantizer import qtyping

    work = quantizer.Quantizer(content)
    for operation in _OPERATIONS:
        work.add_static_config(
            regex=_TRUNK,
            operation_name=qtyping.TFLOperationName(operation),
            activation_num_bits=_BITS,
            weight_num_bits=_BITS,
        )
    # As many images at a time as the function takes.
    groups = zip(*[images] * len(inputs), strict=False)
    examples = [dict(zip(inputs, group, strict=True)) for group in groups]
    # It reports every step, and warns that it keeps all values, which is what it is for.
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        ranges = work.calibrate({"serving_default": examples}, num_threads=2)
        return bytes(work.quantize(ranges, enable_progress_report=False).quantized_model)


def drawn_images(classes: Sequence[str], count: int, size: tuple[int, int]) -> Iterator[np.ndarray]:
    """Yields drawn images of all classes in turn, as float32 `(1, height, width, 3)`.

    Args:
        classes: Classes of the model; those that nothing draws are left out.
        count: int. How many images.
        size: (height, width).

    Raises:
        ValueError: If `count` is not positive.
    """
    if count < 2:
        raise ValueError(f"Expected two images or more for calibration. Received: {count}")
    known = [name for name in classes if name in parts_world.CLASSES] or parts_world.CLASSES
    for index in range(count):
        image = parts_world.draw(known[index % len(known)], 10_000 + index).image
        resized = PIL.Image.fromarray(image).resize(size[::-1], PIL.Image.Resampling.BILINEAR)
        yield np.asarray(resized, np.float32)[np.newaxis]
