"""Bootstrap intervals: how far figures would move with other pairs.

The same resamples serve every row of a table, so that rows can be compared pair by pair.
"""

import warnings

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.runner.scores import Score

UNITS = ("pairs", "images")
_SMALLEST_STRATUM = 5  # pairs


class Resampling:
    """The weights of the pairs in resampled benchmarks, drawn once.

    Args:
        benchmark: Benchmark.
        num_samples: int. The number of resamples; 0 for no intervals.
        seed: int.
        unit: What is drawn with replacement, within each group (or among all pairs if a group is
            small). `"pairs"`, or `"images"`: then the weight of a pair is the number of times that
            its source was drawn, times that of its target. Pairs share images, so intervals over
            pairs are too narrow to say what other images would give.
        confidence: float. The share of resamples that an interval contains.

    Attributes:
        groups: The indices of the pairs of each group, by name.

    Raises:
        ValueError: If `unit` is unknown or a number is out of range.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        num_samples: int = 1000,
        seed: int = 0,
        unit: str = "pairs",
        confidence: float = 0.95,
    ):
        if unit not in UNITS:
            raise ValueError(f"`unit` must be one of {UNITS}. Received: unit={unit!r}")
        if num_samples < 0 or not 0 < confidence < 1:
            raise ValueError(
                "`num_samples` must be at least 0 and `confidence` between 0 and 1. "
                f"Received: num_samples={num_samples}, confidence={confidence}"
            )
        self.groups: dict[str, np.ndarray] = {}
        names = np.array([pair.group for pair in benchmark.pairs], object)
        for name in dict.fromkeys(names):
            self.groups[name] = np.flatnonzero(names == name)
        self._average = benchmark.protocol.average
        self._tail = 100 * (1 - confidence) / 2
        rng = np.random.default_rng(seed)
        draw = _pair_weights if unit == "pairs" else _image_weights
        strata = list(self.groups.values())
        # A group of one pair is the same in every resample, as if its score had no error at all.
        if min(map(len, strata)) < _SMALLEST_STRATUM:
            strata = [np.arange(len(benchmark.pairs))]
        self._weights = np.empty((num_samples, len(benchmark.pairs)))
        for members in strata:
            pairs = [benchmark.pairs[index] for index in members]
            self._weights[:, members] = draw(pairs, num_samples, rng)

    def group_values(self, score: Score) -> dict[str, float]:
        """Returns the score of each group."""
        return {
            name: float(self._part(score, members).value(np.ones(len(members))))
            for name, members in self.groups.items()
        }

    def value(self, score: Score) -> float:
        """Returns the score over all groups, averaged as the protocol says."""
        if self._average == "pairs":
            return float(score.value(np.ones(len(score.numerators))))
        return float(_mean(list(self.group_values(score).values()), axis=0))

    def samples(self, score: Score) -> np.ndarray:
        """Returns `(num_samples,)`: the score over all groups in each resampled benchmark."""
        if self._average == "pairs":
            return score.value(self._weights)
        return _mean(list(self.group_samples(score).values()), axis=0)

    def group_samples(self, score: Score) -> dict[str, np.ndarray]:
        """Returns `(num_samples,)` of each group: its score in each resampled benchmark."""
        return {
            name: self._part(score, members).value(self._weights[:, members])
            for name, members in self.groups.items()
        }

    def interval(self, samples: np.ndarray) -> tuple[float, float] | None:
        """Returns the ends of the interval, or None if no resample has a score."""
        samples = samples[np.isfinite(samples)]
        if not len(samples):
            return None
        low, high = np.percentile(samples, [self._tail, 100 - self._tail])
        return float(low), float(high)

    @staticmethod
    def _part(score: Score, members: np.ndarray) -> Score:
        return Score(
            score.name, score.numerators[members], score.denominators[members], score.finish
        )


def _pair_weights(pairs, num_samples, rng) -> np.ndarray:
    count = len(pairs)
    return rng.multinomial(count, np.full(count, 1 / count), num_samples).astype(float)


def _image_weights(pairs, num_samples, rng) -> np.ndarray:
    keys = {
        key: i
        for i, key in enumerate(
            dict.fromkeys(side.image_key for pair in pairs for side in (pair.source, pair.target))
        )
    }
    count = len(keys)
    times = rng.multinomial(count, np.full(count, 1 / count), num_samples).astype(float)
    sources = [keys[pair.source.image_key] for pair in pairs]
    targets = [keys[pair.target.image_key] for pair in pairs]
    return times[:, sources] * times[:, targets]


def _mean(values, axis) -> np.ndarray:
    """Returns the mean over groups that have a score; NaN if none has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis=axis)
