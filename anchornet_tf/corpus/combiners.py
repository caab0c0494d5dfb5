"""Statistics of a corpus as Beam combiners: pieces from any worker, merged in any order.

They add the very sums that the one-machine versions add, in float64, so that their results agree up
to the rounding of float64.
"""

from collections.abc import Iterable

import apache_beam as beam
import numpy as np

from anchornet_tf.training.confidence.logistic import LogisticSums
from anchornet_tf.trunks.pca import StreamingMoments


class MomentsFn(beam.CombineFn):
    """Mean and covariance of vectors: what PCA and equalizers are fitted to.

    Takes `(n, channels)` arrays and gives a `StreamingMoments`, or None without any.
    """

    def create_accumulator(self):
        return None

    def add_input(self, accumulator, element):
        moments = accumulator or StreamingMoments(np.shape(element)[-1])
        moments.update(element)
        return moments

    def merge_accumulators(self, accumulators: Iterable):
        merged = None
        for each in accumulators:
            if each is None:
                continue
            merged = merged or StreamingMoments(each.channels)
            merged.merge(each)
        return merged

    def extract_output(self, accumulator):
        return accumulator


class ReliabilityFn(beam.CombineFn):
    """Promise and truth of confidences: `anchornet_tf.metrics.calibration.reliability`.

    Takes pairs of arrays, confidences and whether the matches were right, and gives `(bins, 3)`:
    mean confidence and share of right matches of each bin, NaN where it is empty, and its size.

    Args:
        bins: int.
    """

    def __init__(self, bins: int = 10):
        self._bins = bins

    def create_accumulator(self):
        return np.zeros((self._bins, 3))

    def add_input(self, accumulator, element):
        confidence, correct = (np.asarray(each, np.float64) for each in element)
        place = np.clip((confidence * self._bins).astype(int), 0, self._bins - 1)
        sums = [np.bincount(place, each, self._bins) for each in (confidence, correct)]
        return accumulator + np.stack([*sums, np.bincount(place, minlength=self._bins)], axis=-1)

    def merge_accumulators(self, accumulators: Iterable):
        return np.sum(list(accumulators), axis=0)

    def extract_output(self, accumulator):
        promised, held, counts = accumulator.T
        with np.errstate(invalid="ignore"):
            return np.stack([promised / counts, held / counts, counts], axis=-1)


class LogisticFn(beam.CombineFn):
    """Sums that one step of a logistic regression needs, such as the calibration of confidences.

    Takes triples of arrays, inputs `(n, k)`, answers and weights, and gives a `LogisticSums`, or
    None without any. `anchornet_tf.corpus.fit_run.fit_logistic` takes all steps.

    Args:
        parameters: `(k + 1,)`, the coefficients and the bias that the step starts from.
    """

    def __init__(self, parameters: np.ndarray):
        self._parameters = np.asarray(parameters, np.float64)

    def create_accumulator(self):
        return None

    def add_input(self, accumulator, element):
        sums = LogisticSums.of_examples(*element, self._parameters)
        return self.merge_accumulators([accumulator, sums])

    def merge_accumulators(self, accumulators: Iterable):
        found = [each for each in accumulators if each is not None]
        if not found:
            return None
        merged = LogisticSums.from_arrays(found[0].arrays())
        for each in found[1:]:
            merged.merge(each)
        return merged

    def extract_output(self, accumulator):
        return accumulator
