"""Matches two images with an exported LiteRT file, without TensorFlow and without this package.

    python -m export.litert --model=voc20 --output=exported/litert
    python examples/litert_match.py exported/litert/1/match.tflite a.jpg b.jpg 120,80 64,200

Prints where points (x, y) of the first image are in the second, and how sure that is. It needs
ai-edge-litert, NumPy and Pillow.
"""

import sys

import numpy as np
import PIL.Image
from ai_edge_litert.interpreter import Interpreter


def read(path, size):
    """Returns an image as the file takes it, (1, height, width, 3), and its own (width, height)."""
    image = PIL.Image.open(path).convert("RGB")
    resized = image.resize(size, PIL.Image.Resampling.BILINEAR)
    return np.asarray(resized, np.float32)[np.newaxis], np.array(image.size)


def main(file, source, target, *points):
    match = Interpreter(file, num_threads=2).get_signature_runner()
    _, height, width, _ = match.get_input_details()["source"]["shape"]
    network_size = np.array([width, height])
    source, source_size = read(source, tuple(map(int, network_size)))
    target, target_size = read(target, tuple(map(int, network_size)))
    found = match(source=source, target=target)
    flow, confidence = found["flow"][0], found["confidence"][0]  # (height, width, 2), (dy, dx)
    for point in points:
        place = np.array([float(number) for number in point.split(",")])  # (x, y)
        # Pixel centres are at whole numbers: half a pixel is added before sizes are compared.
        small = (place + 0.5) * network_size / source_size - 0.5
        x, y = np.clip(np.rint(small).astype(int), 0, network_size - 1)
        moved = small + flow[y, x, ::-1]
        moved = (moved + 0.5) * target_size / network_size - 0.5
        print(f"{point} -> {moved[0]:.1f},{moved[1]:.1f} ({confidence[y, x]:.2f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
