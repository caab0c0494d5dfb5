"""Runs the default signature of an exported model with OpenVINO: openvino_model.py MODEL.

Reads in.npz in the working folder.
"""

import sys

import numpy as np
import openvino

images = np.load("in.npz")["images"].astype(np.float32)
core = openvino.Core()
compiled = core.compile_model(
    core.read_model(sys.argv[1]), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
)
np.savez("out.npz", features=compiled([images])[0])
