"""Files of all kinds decode as in Pillow, bad ones are refused, large ones take little memory."""

import io
import resource
import subprocess
import sys
import zlib

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from anchornet_tf.utils.image_io import read_image
from export import image_bytes

SIZE = (64, 96)
INVALID = tf.errors.InvalidArgumentError


@pytest.fixture(scope="module")
def decode():
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
    def run(contents):
        return image_bytes.decode_batch(contents, SIZE)

    return lambda *files: [value.numpy() for value in run(tf.constant(files))]


def _expected(image):
    return tf.image.resize(read_image(image), SIZE, antialias=True).numpy()


def _with_a_transparent_colour(image):
    image.info["transparency"] = 3
    return image


def test_png_of_all_kinds(decode, encode, image_a, image_b):
    rgba = np.dstack(
        [image_b, np.linspace(0, 255, image_b[..., 0].size).reshape(image_b.shape[:2])]
    )
    images = [
        PIL.Image.fromarray(image_a),
        PIL.Image.fromarray(rgba.astype(np.uint8)),
        PIL.Image.fromarray(image_a).convert("L"),
        PIL.Image.fromarray(image_a).quantize(200),
        PIL.Image.fromarray(image_a).quantize(16),
        PIL.Image.fromarray(image_a).convert("1"),
        _with_a_transparent_colour(PIL.Image.fromarray(image_a).quantize(16)),
    ]
    decoded, sizes = decode(*(encode(image, "PNG") for image in images))
    assert decoded.shape == (7, *SIZE, 3)
    assert sizes.tolist() == [[image.height, image.width] for image in images]
    for result, image in zip(decoded, images, strict=True):
        np.testing.assert_allclose(result, _expected(image), atol=1e-3)


def test_jpeg_grey_and_coloured(decode, encode, image_a, image_b):
    grey = PIL.Image.fromarray(image_b).convert("L")
    files = [
        encode(image_a, "JPEG"),
        encode(grey, "JPEG"),
        encode(image_b, "JPEG", progressive=True),
    ]
    decoded, sizes = decode(*files)
    assert sizes.tolist() == [[71, 90], [120, 83], [120, 83]]
    for result, contents in zip(decoded, files, strict=True):
        # Decoders may differ by one level in the chroma.
        with PIL.Image.open(io.BytesIO(contents)) as image:
            np.testing.assert_allclose(result, _expected(image), atol=1.5)
    assert np.ptp(decoded[1], axis=-1).max() < 1e-3


def test_a_large_jpeg_is_shrunk_while_it_is_decoded(decode, encode, image_a):
    large = PIL.Image.fromarray(image_a).resize((1600, 1200), PIL.Image.Resampling.BICUBIC)
    (decoded,), ((height, width),) = decode(encode(large, "JPEG", quality=95))
    assert (height, width) == (1200, 1600)
    assert np.abs(decoded - _expected(large)).mean() < 1.5


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda jpeg, png: b"", "Expected the bytes of a JPEG or PNG file"),
        (lambda jpeg, png: b"GIF89a and so on", "Expected the bytes of a JPEG or PNG file"),
        (lambda jpeg, png: png[:20], "Expected the bytes of a JPEG or PNG file"),
        (lambda jpeg, png: jpeg[: len(jpeg) // 2], "jpeg|JPEG"),
        (lambda jpeg, png: jpeg[:40], "jpeg|JPEG"),
        (lambda jpeg, png: png[: len(png) // 2], "PNG"),
    ],
)
def test_damaged_files(decode, encode, image_a, damage, message):
    jpeg, png = encode(image_a, "JPEG"), encode(image_a, "PNG")
    with pytest.raises(INVALID, match=message):
        decode(png, damage(jpeg, png))
    decode(png, jpeg)  # The next call still works.


def test_cmyk(decode, encode, image_a):
    cmyk = encode(PIL.Image.fromarray(image_a).convert("CMYK"), "JPEG")
    with pytest.raises(INVALID, match="convert CMYK to RGB first. Received: components"):
        decode(cmyk)


def test_a_png_that_claims_to_be_huge(decode):
    header = b"IHDR" + (60000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    chunk = (13).to_bytes(4, "big") + header + zlib.crc32(header).to_bytes(4, "big")
    with pytest.raises(INVALID, match="must not exceed the limit .*67108864"):
        decode(b"\x89PNG\r\n\x1a\n" + chunk + bytes(100))


_MEMORY_PROGRAM = """
import resource, sys
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
run = loaded.signatures["from_bytes"]
small, large = (tf.io.read_file(path) for path in sys.argv[2:4])
run(image_bytes=small[None])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answer = run(image_bytes=tf.stack([large] * 4))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(answer["image_size"].numpy().tolist()[0], (after - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "getrusage"), reason="needs getrusage")
def test_twenty_megapixels_take_little_memory(exported, encode, image_a, tmp_path):
    paths = [tmp_path / "small.jpg", tmp_path / "large.jpg"]
    paths[0].write_bytes(encode(image_a, "JPEG"))
    paths[1].write_bytes(encode(PIL.Image.fromarray(image_a).resize((5472, 3648)), "JPEG"))
    finished = subprocess.run(
        [sys.executable, "-I", "-c", _MEMORY_PROGRAM, exported, *paths],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr
    size, megabytes = finished.stdout.strip().rsplit("] ", 1)
    assert size == "[3648, 5472"
    # Four at once would take 4 x 60 MB as pixels, 4 x 240 MB as floats.
    assert float(megabytes) < 120, finished.stdout
