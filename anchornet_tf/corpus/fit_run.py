"""PCA, equalizers and calibrations by Beam, as the one-machine versions fit them."""

import functools
import io
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence

import apache_beam as beam
import numpy as np

from anchornet_tf.corpus import beam_options, storage
from anchornet_tf.corpus.combiners import LogisticFn, MomentsFn
from anchornet_tf.corpus.config import EqualizersConfig
from anchornet_tf.corpus.pipeline_run import finish, reporting
from anchornet_tf.datasets import sources
from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training.confidence.logistic import LogisticSums, most_likely
from anchornet_tf.training.fit_pca import TapsOfImages
from anchornet_tf.training.pca_config import PCAConfig
from anchornet_tf.trunks import pca
from anchornet_tf.utils.array_archive import open_archive

Path = str | os.PathLike
_SUFFIX = ".npz"
EXAMPLES = ("inputs", "answers", "weights")


class TapVectors(beam.DoFn):
    """From numbers of images to the vectors of each tap that count; the trunk is made once.

    Args:
        config: Which images, and how much of them.
    """

    def __init__(self, config: PCAConfig):
        self._config = config

    def setup(self):
        with reporting():
            self._images = _taps_of(self._config)

    def process(self, numbers: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
        chunk = np.array(numbers)
        with reporting():
            taps = self._images.taps(chunk)
        for depth, tap in enumerate(taps):
            cells = pca.sampled_cells(chunk, tap, depth, self._config.positions, self._config.seed)
            yield depth, cells


class EqualizedVectors(beam.DoFn):
    """From labelled images to what a model's equalizers are fitted to; the model is loaded once.

    Args:
        config: Which images, and which model.
    """

    def __init__(self, config: EqualizersConfig):
        self._config = config

    def setup(self):
        with reporting():
            self._model = _model(self._config.model)
            self._source = _source(self._config.data)

    def process(self, chunk: Sequence[tuple[int, int]]) -> Iterator[tuple[int, np.ndarray]]:
        with reporting():
            responses = linear_responses(self._model, self._source, chunk, self._config)
        yield from self._model.equalized_vectors(responses, np.array([index for _, index in chunk]))


class StoredExamples(beam.DoFn):
    """From the names of archives to the examples in them: `inputs`, `answers` and `weights`."""

    def process(self, path: str) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
        with reporting(), open_archive(io.BytesIO(storage.read_bytes(path))) as arrays:
            examples = tuple(arrays[name] for name in EXAMPLES)
        yield 0, examples


def fit_pca(
    config: PCAConfig,
    output: Path,
    arguments: Sequence[str] = (),
    workers: int | None = None,
) -> pca.HypercolumnPCA:
    """Fits the hypercolumn's PCA; equal to `anchornet_tf.training.fit_pca.fit_pca`.

    Args:
        config: Which images, and how much of them.
        output: The file that will be written; moments are kept beside it meanwhile.
        arguments: Beam's own options.
        workers: int. As in `beam_options.pipeline_options`.

    Raises:
        ValueError: If there are too few images.
    """
    images = TapsOfImages(config)
    chunks = [tuple(chunk.tolist()) for chunk in images.chunks()]
    moments = _combined(chunks, TapVectors(config), output, arguments, workers)
    in_order = (moments[depth] for depth in sorted(moments))
    taps = tuple(moment.fit(min(config.dimensions, moment.channels)) for moment in in_order)
    return images.projections(taps)


def fit_equalizers(
    config: EqualizersConfig, arguments: Sequence[str] = (), workers: int | None = None
) -> AnchorNet:
    """Returns the model with equalizers that fit a corpus, as `AnchorNet.fit_equalizers` does.

    Args:
        config: Which images, and which model.
        arguments: Beam's own options.
        workers: int. As in `beam_options.pipeline_options`.

    Raises:
        ValueError: If a class of the model does not occur.
    """
    model = AnchorNet.from_preset(config.model)
    chunks = labelled_chunks(model, _source(config.data), config)
    moments = _combined(chunks, EqualizedVectors(config), config.output, arguments, workers)
    model.set_equalizers(moments)
    # What it was fitted to is no longer what the descriptors are.
    model.confidence = None
    return model


def fit_logistic(
    examples: Sequence[str],
    count: int,
    penalty: float,
    output: Path,
    arguments: Sequence[str] = (),
    workers: int | None = None,
) -> tuple[np.ndarray, float]:
    """Fits a logistic function, as `anchornet_tf.training.confidence.fit` does on one machine.

    Args:
        examples: Archives of some examples each: `inputs` `(n, count)`, `answers` and `weights`.
        count: int. Length of the inputs.
        penalty: float. As in `logistic_regression` there.
        output: Where the result will go; sums are kept beside it meanwhile.
        arguments: Beam's own options.
        workers: int. As in `beam_options.pipeline_options`.

    Returns:
        Coefficients and bias. All examples are read once for each of about ten steps.

    Raises:
        ValueError: If there are no examples.
    """
    if not examples:
        raise ValueError("Expected archives of examples. Received: none")

    def sums_at(parameters):
        combine = LogisticFn(parameters)
        return _combined(
            list(examples), StoredExamples(), output, arguments, workers, combine, LogisticSums
        )[0]

    return most_likely(sums_at, count, penalty)


def labelled_chunks(model: AnchorNet, source, config: EqualizersConfig) -> list[tuple]:
    """Returns batches of (image, class): each image once for every class of the model it shows."""
    pairs = []
    for index, name in enumerate(model.classes):
        if name in source.class_names:
            column = source.labels[:, source.class_names.index(name)]
            pairs += [(int(number), index) for number in np.flatnonzero(column)[: config.limit]]
    size = config.batch_size
    return [tuple(pairs[start : start + size]) for start in range(0, len(pairs), size)]


def linear_responses(model, source, chunk, config: EqualizersConfig) -> np.ndarray:
    """Returns the linear responses of all banks at some cells of images."""
    import tensorflow as tf

    size = (config.image_size, config.image_size)
    images = [tf.image.resize(source.read(number), size, antialias=True) for number, _ in chunk]
    linear = model.linear_responses(model.taps(tf.stack(images)))
    return linear[:, :: config.stride, :: config.stride].numpy()


def _combined(
    chunks: list,
    vectors: beam.DoFn,
    output: Path,
    arguments: Sequence[str],
    workers: int | None,
    combine: beam.CombineFn | None = None,
    kind=pca.StreamingMoments,
) -> dict:
    """Returns the moments, or other sums, of vectors by their numbers, wherever they were computed.

    They come back through a folder beside the output, since workers share no memory with us.
    """
    options = beam_options.pipeline_options(arguments, workers)
    folder = f"{os.fspath(output)}.moments"
    # A run that was stopped may have left sums of something else.
    if storage.is_remote(folder):
        folder += f"-{uuid.uuid4().hex[:8]}"
    else:
        shutil.rmtree(folder, ignore_errors=True)
    pipeline = beam.Pipeline(options=options)
    _ = (
        pipeline
        | "Images" >> beam.Create(chunks)
        | "Spread" >> beam.Reshuffle()
        | "Vectors" >> beam.ParDo(vectors)
        | "Moments" >> beam.CombinePerKey(combine or MomentsFn())
        | "Keep" >> beam.Map(_keep, folder)
    )
    finish(pipeline)
    moments = {}
    for name in storage.names(folder, _SUFFIX):
        contents = io.BytesIO(storage.read_bytes(storage.join(folder, name)))
        with open_archive(contents) as arrays:
            moments[int(name.removesuffix(_SUFFIX))] = kind.from_arrays(arrays)
    if not storage.is_remote(folder):
        shutil.rmtree(folder)
    return moments


def _keep(element: tuple[int, pca.StreamingMoments | LogisticSums], folder: str) -> None:
    number, moments = element
    contents = io.BytesIO()
    np.savez(contents, **moments.arrays())
    with reporting():
        storage.write_bytes(storage.join(folder, f"{number}{_SUFFIX}"), contents.getvalue())


@functools.cache
def _taps_of(config: PCAConfig) -> TapsOfImages:
    # Threads of a worker and bundles of a run share one trunk.
    return TapsOfImages(config)


@functools.cache
def _model(model: Path) -> AnchorNet:
    return AnchorNet.from_preset(model)


@functools.cache
def _source(data: str) -> ImageSource:
    return sources.open_source(data, "train", heldout_fraction=0.0)
