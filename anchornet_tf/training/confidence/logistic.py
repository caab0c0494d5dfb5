"""Logistic regression by Newton's method, from sums that may come from anywhere."""

import dataclasses
from collections.abc import Callable

import numpy as np

_MOST_STEPS, _MOST_HALVINGS = 60, 30
# Of the loss: what a further step would still gain.
_ENOUGH = 1e-14
# Keeps the step finite where answers do not depend on a direction, as a share of the curvature.
_RIDGE = 1e-12


@dataclasses.dataclass
class LogisticSums:
    """What examples say of a logistic function; sums of pieces are those of all examples.

    Attributes:
        weight: float. Of all examples.
        loss: float. The negative logarithm of their likelihood.
        gradient: `(k + 1,)`, of the loss by the coefficients and the bias.
        curvature: `(k + 1, k + 1)`, its second derivatives.
    """

    weight: float
    loss: float
    gradient: np.ndarray
    curvature: np.ndarray

    @classmethod
    def of_examples(cls, inputs, answers, weights, parameters: np.ndarray) -> "LogisticSums":
        """Sums over examples.

        Args:
            inputs: `(n, k)`.
            answers: `(n,)` bool.
            weights: `(n,)`, how much each example counts.
            parameters: `(k + 1,)`, coefficients and bias of the function.
        """
        inputs, answers, weights = (
            np.asarray(each, np.float64) for each in (inputs, answers, weights)
        )
        inputs = np.column_stack([inputs, np.ones(len(inputs))])
        logits = inputs @ parameters
        promised = np.exp(-np.logaddexp(0, -logits))
        bent = weights * promised * (1 - promised)
        return cls(
            float(weights.sum()),
            float(weights @ (np.logaddexp(0, logits) - answers * logits)),
            inputs.T @ (weights * (promised - answers)),
            inputs.T @ (inputs * bent[:, np.newaxis]),
        )

    def merge(self, other: "LogisticSums") -> None:
        """Adds the sums of other examples for the same parameters."""
        self.weight += other.weight
        self.loss += other.loss
        self.gradient = self.gradient + other.gradient
        self.curvature = self.curvature + other.curvature

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns what it knows as arrays, for a file; `from_arrays` takes them back."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays) -> "LogisticSums":
        """Returns what gave these arrays."""
        weight, loss = (float(arrays[name]) for name in ("weight", "loss"))
        return cls(weight, loss, arrays["gradient"], arrays["curvature"])


def most_likely(
    sums_at: Callable[[np.ndarray], LogisticSums], count: int, penalty: float
) -> tuple[np.ndarray, float]:
    """Returns the coefficients `(count,)` and the bias of the most likely logistic function.

    Args:
        sums_at: From parameters `(count + 1,)` to the sums over all examples; called about ten
            times.
        count: int. How many coefficients there are.
        penalty: float, on half the squared length of the coefficients; the weights of all examples
            count one together.

    Raises:
        ValueError: If no example has a weight.
    """
    penalties = np.append(np.full(count, float(penalty)), 0.0)

    def at(parameters):
        sums = sums_at(parameters)
        if not sums.weight > 0:
            raise ValueError(f"Expected examples with weights. Received: {sums.weight} in all")
        loss = sums.loss / sums.weight + penalties @ parameters**2 / 2
        gradient = sums.gradient / sums.weight + penalties * parameters
        return loss, gradient, sums.curvature / sums.weight + np.diag(penalties)

    parameters = np.zeros(count + 1)
    loss, gradient, curvature = at(parameters)
    for _ in range(_MOST_STEPS):
        ridge = _RIDGE * np.trace(curvature) * np.eye(count + 1)
        step = np.linalg.solve(curvature + ridge, gradient)
        if gradient @ step < _ENOUGH * (1 + loss):
            break
        for halving in range(_MOST_HALVINGS):
            tried = parameters - step / 2**halving
            found = at(tried)
            if found[0] <= loss:
                break
        else:
            break
        parameters, (loss, gradient, curvature) = tried, found
    return parameters[:-1], float(parameters[-1])
