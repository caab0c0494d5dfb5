"""What new maps say beyond an old code: regression on the code, then principal directions."""

import dataclasses

import numpy as np

from anchornet_tf.trunks import pca

# Of the regression, against the mean variance of the old code. Directions of the code that hardly
# vary on images of the new classes may vary on others, and must not get large factors.
_RIDGE = 1e-2


@dataclasses.dataclass(frozen=True)
class Directions:
    """What the old code does not tell about new maps, and the strongest directions of it.

    Attributes:
        factors: `(new, old)`, A of the regression.
        offset: `(new,)`, b of the regression.
        components: `(new, added)`, V: orthonormal columns, strongest first.
        variance: `(added,)`, the variance along each of them.
        scale: float. Mean variance of the old code.
    """

    factors: np.ndarray
    offset: np.ndarray
    components: np.ndarray
    variance: np.ndarray
    scale: float

    @classmethod
    def of(cls, mean: np.ndarray, covariance: np.ndarray, old: int, added: int) -> "Directions":
        """Fits directions to the moments of vectors `[old code, new maps]`.

        Args:
            mean: `(old + new,)`.
            covariance: `(old + new, old + new)`.
            old: int. Length of the old code.
            added: int. Number of directions.
        """
        scale = np.trace(covariance[:old, :old]) / old
        ridge = _RIDGE * scale * np.eye(old)
        factors = np.linalg.solve(covariance[:old, :old] + ridge, covariance[:old, old:]).T
        variance, vectors = np.linalg.eigh(_residual(factors, covariance))
        strongest = np.argsort(variance)[::-1][:added]
        offset = mean[old:] - factors @ mean[:old]
        return cls(
            factors,
            offset,
            pca.with_fixed_signs(vectors[:, strongest]),
            np.maximum(variance[strongest], 0),
            float(scale),
        )

    def shares(self, covariance: np.ndarray) -> tuple[float, float]:
        """Returns which shares of the new maps' variance the old code tells and the new one adds.

        Args:
            covariance: of `[old code, new maps]`, such as that of held-out images.
        """
        residual = _residual(self.factors, covariance)
        old = self.factors.shape[1]
        total = max(np.trace(covariance[old:, old:]), 1e-30)
        added = np.trace(self.components.T @ residual @ self.components)
        return float(1 - np.trace(residual) / total), float(added / total)


def _residual(factors: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Returns the covariance of g - A c from that of `[c, g]`."""
    # (new, old + new)
    difference = np.concatenate([-factors, np.eye(len(factors))], axis=1)
    return difference @ covariance @ difference.T
