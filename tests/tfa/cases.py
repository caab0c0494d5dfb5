"""What is compared with tensorflow-addons: read by both environments, so it needs NumPy only."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Blur:
    """One call of `gaussian_filter2d`."""

    shape: tuple
    filter_shape: object = (3, 3)
    sigma: object = 1.0
    padding: str = "REFLECT"
    constant_values: float = 0.0

    def inputs(self):
        return {"image": _uniform(self, self.shape)}


@dataclasses.dataclass(frozen=True)
class Interpolation:
    """One call of `interpolate_bilinear`, at points in and around the grid, or on its pixels."""

    shape: tuple
    points: int
    indexing: str = "ij"
    whole: bool = False

    def inputs(self):
        batch, height, width, _ = self.shape
        sizes = np.array([height, width] if self.indexing == "ij" else [width, height])
        points = _uniform(self, (batch, self.points, 2), seed=1) * (sizes + 3) - 2
        points = np.floor(points) if self.whole else points
        return {"grid": _uniform(self, self.shape), "query_points": points.astype(np.float32)}


@dataclasses.dataclass(frozen=True)
class Warp:
    """One call of `dense_image_warp`; `reach` is the longest displacement."""

    shape: tuple
    reach: float = 2.0
    whole: bool = False

    def inputs(self):
        flow = (_uniform(self, (*self.shape[:3], 2), seed=1) * 2 - 1) * self.reach
        flow = np.round(flow) if self.whole else flow
        return {"image": _uniform(self, self.shape), "flow": flow.astype(np.float32)}


@dataclasses.dataclass(frozen=True)
class Training:
    """Steps of a network of three dense layers, each with an optimizer of its own."""

    name: str
    # Of each layer: the optimizer's class, its learning rate, its other settings.
    optimizers: tuple
    steps: int = 5

    def inputs(self):
        arrays = {"x": _normal(self, (self.steps, 8, 6)), "y": _normal(self, (self.steps, 8, 2))}
        for index, (name, size) in enumerate(zip(LAYERS, LAYER_SIZES, strict=True)):
            arrays[f"{name}/kernel"] = _normal(self, (*size,), seed=index) / 2
            arrays[f"{name}/bias"] = _normal(self, size[1:], seed=10 + index) / 2
        return arrays


LAYERS = ("backbone", "bank", "head")
LAYER_SIZES = ((6, 7), (7, 5), (5, 2))


def _sgd(rate, **settings):
    return ("SGD", rate, settings)


BLURS = [
    Blur((9, 7)),
    Blur((8, 11, 3)),
    Blur((2, 13, 10, 3)),
    Blur((3, 17, 23, 5), 5, 1.5),
    Blur((1, 32, 32, 16), (7, 7), 2.5),
    *(
        Blur((2, 9, 12, 3), filter_shape, sigma, padding, 0.7)
        for padding in ("REFLECT", "CONSTANT", "SYMMETRIC")
        for filter_shape, sigma in (
            ((3, 3), 1.0),
            ((5, 3), (2.0, 0.5)),
            ((4, 2), 0.8),
            ((1, 9), (0.3, 10.0)),
            (8, 1.7),
            (1, 1.0),
        )
    ),
    # As far as an image of 6 x 6 can be reflected.
    Blur((1, 6, 6, 2), 11, 3.0, "REFLECT"),
    Blur((1, 6, 6, 2), 13, 3.0, "SYMMETRIC"),
    Blur((1, 6, 6, 2), 15, 3.0, "CONSTANT"),
]
INTERPOLATIONS = [
    *(
        Interpolation(shape, points, indexing, whole)
        for shape, points in (((1, 2, 2, 1), 20), ((2, 5, 8, 3), 64), ((3, 17, 11, 4), 200))
        for indexing in ("ij", "xy")
        for whole in (False, True)
    ),
    Interpolation((2, 4, 4, 2), 0),
]
WARPS = [
    Warp((1, 2, 2, 1)),
    Warp((1, 7, 9, 3)),
    Warp((2, 16, 13, 5), reach=4.0),
    Warp((3, 25, 31, 3), reach=40.0),
    Warp((2, 8, 8, 2), reach=0.0),
    Warp((2, 8, 9, 2), reach=3.0, whole=True),
    Warp((1, 48, 64, 8), reach=0.3),
]
TRAININGS = [
    Training("sgd", (_sgd(0.001), _sgd(0.01), _sgd(0.1))),
    Training("momentum", tuple(_sgd(rate, momentum=0.9) for rate in (0.001, 0.01, 0.03))),
    Training(
        "nesterov",
        tuple(_sgd(rate, momentum=0.8, nesterov=True) for rate in (0.02, 0.0, 0.002)),
    ),
    Training("mixed", (("Adam", 0.01, {}), _sgd(0.02), _sgd(0.005, momentum=0.5))),
]
CASES = {"blur": BLURS, "interpolation": INTERPOLATIONS, "warp": WARPS, "training": TRAININGS}


def _uniform(case, shape, seed=0):
    return _generator(case, seed).uniform(size=shape).astype(np.float32)


def _normal(case, shape, seed=0):
    return _generator(case, seed).normal(size=shape).astype(np.float32)


def _generator(case, seed):
    # Cases differ in their arrays, and have the same ones in each run.
    return np.random.default_rng([seed, *repr(case).encode()])
