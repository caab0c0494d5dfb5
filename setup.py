"""Package metadata. Settings of tools: pyproject.toml; tested versions: constraints.txt."""

import pathlib
import re

import setuptools

ROOT = pathlib.Path(__file__).resolve().parent
INIT = (ROOT / "anchornet_tf" / "__init__.py").read_text()

REQUIRED = [
    "tensorflow>=2.21",
    "keras>=3.15",
    "tensorflow-datasets>=4.9.9",
    "numpy>=2",
    # tensorflow-datasets imports it without asking for it.
    "importlib_resources>=6",
    "absl-py>=2",
    "scipy>=1.14",
    "pillow>=11",
    "matplotlib>=3.9",
    "tensorboard>=2.19",
    "tqdm>=4.66",
]
EXTRAS = {
    # tensorflow-hub imports pkg_resources, which setuptools dropped in version 82.
    "hub": ["tensorflow-hub>=0.16.1", "tf-keras>=2.21", "setuptools<82"],
    # DINOv2 and DINOv3 as trunks, and what reads their files. A hyphen: older versions of pip do
    # not find an extra with an underscore.
    "hub-models": ["keras-hub>=0.32", "safetensors>=0.5"],
    "serving": ["tensorflow-serving-api>=2.21", "grpcio>=1.66", "requests>=2.32"],
    # ONNX files, for `python -m export.onnx`, and what runs them.
    "onnx": ["onnx>=1.20", "onnxruntime>=1.20", "tf2onnx>=1.17"],
    # LiteRT files, for `python -m export.litert`, and what runs them.
    "litert": ["ai-edge-litert>=2.1", "ai-edge-quantizer>=0.6"],
    "proposals": ["opencv-contrib-python-headless>=4.10"],
    # Reads videos, for `python -m anchornet_tf.transfer`.
    "video": ["opencv-contrib-python-headless>=4.10"],
    # The page of `python -m anchornet_tf.studio`.
    "studio": ["starlette>=1.0", "uvicorn>=0.34"],
    # Corpora of images, for `python -m anchornet_tf.corpus.describe`.
    "beam": ["apache-beam>=2.70", "pyarrow>=18"],
    # Search in corpora, for `python -m anchornet_tf.corpus.search`.
    "search": ["faiss-cpu>=1.9", "pyarrow>=18"],
    # Runs examples/tour.ipynb.
    "notebook": ["ipykernel>=6.29", "nbclient>=0.10", "nbformat>=5.10"],
    # The documents as a site, for `make docs`.
    "docs": ["mkdocs>=1.6", "mkdocstrings-python>=2.0"],
    "dev": [
        "opencv-contrib-python-headless>=4.10",
        # Independent consumers of what is exported, for the tests.
        "openvino>=2025.0",
        "ovmsclient>=2023.1",
        # What people's tools read annotations with.
        "pycocotools>=2.0.8",
        # Makes the wheel.
        "build>=1.2",
        "setuptools>=77",
        # Makes damaged inputs.
        "hypothesis>=6.150",
        # Drive the studio in its tests.
        "httpx>=0.28",
        "playwright>=1.50",
        "mypy>=1.15",
        "pytest>=8",
        "pytest-timeout>=2.3",
        "pytest-xdist>=3.6",
        "pyyaml>=6",
        "ruff>=0.9",
    ],
}

setuptools.setup(
    name="anchornet_tf",
    version=re.search(r'__version__ = "(.+)"', INIT).group(1),
    description="Dense semantic matching for TensorFlow and Keras, on AnchorNet (CVPR 2017)",
    long_description=(ROOT / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    # Those that TensorFlow 2.21 supports.
    python_requires=">=3.11,<3.14",
    packages=setuptools.find_packages(include=["anchornet_tf*", "trainers*", "export*"]),
    package_data={
        "anchornet_tf": [
            "py.typed",
            "**/*.npz",
            "**/*.json",
            "models/presets/*/*.md",
            "studio/page/**/*",
        ],
        "export": ["deploy/*", "cpp/*", "page/**/*"],
    },
    entry_points={"console_scripts": ["anchornet = anchornet_tf.__main__:command"]},
    install_requires=REQUIRED,
    extras_require=EXTRAS,
    classifiers=[
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Typing :: Typed",
        "Topic :: Scientific/Engineering :: Image Recognition",
    ],
)
