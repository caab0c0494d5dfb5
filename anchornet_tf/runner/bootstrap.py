"""How far figures would move with other pairs: resampling within groups, the same for every row of a table."""

import warnings

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.runner.scores import Score

UNITS = ("pairs", "images")
_SMALLEST_STRATUM = 5  # pairs


class Resampling:
    """Weights of the pairs in resampled benchmarks, drawn once.

    Args:
        benchmark: Benchmark.
        num_samples: int. How many; 0 for no intervals.
        seed: int.
        unit: what is drawn with replacement within each group (from all groups together where they are small):
            `"pairs"`, or `"images"`, of which a pair is there as often as the product of its two. Pairs of a set
            share images, so that intervals over pairs are too narrow where the question is other images.
        confidence: float, the share of resamples that intervals hold.
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
                "`num_samples` must not be negative and `confidence` lie between 0 and 1. "
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
        # A group of one pair is the same in every resample, as if it were known without an error.
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
        """Returns the score over all groups, as the protocol averages."""
        if self._average == "pairs":
            return float(score.value(np.ones(len(score.numerators))))
        return float(_mean(list(self.group_values(score).values()), axis=0))

    def samples(self, score: Score) -> np.ndarray:
        """Returns `(num_samples,)`: the score over all groups in each resampled benchmark."""
        if self._average == "pairs":
            return score.value(self._weights)
        values = [
            self._part(score, members).value(self._weights[:, members])
            for members in self.groups.values()
        ]
        return _mean(values, axis=0)

    def interval(self, samples: np.ndarray) -> tuple[float, float] | None:
        """Returns the ends of the interval, or None without resamples that count."""
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
    """Mean of the groups that count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis=axis)
