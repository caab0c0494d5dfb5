"""Watches that the maps keep their energy.

L_R sees directions only: maps that fade away, or shrink to a few directions, please it.
"""

from absl import logging

from anchornet_tf.training.stage2.step import JointTraining

_COLLAPSED = 0.1


class EnergyWatch:
    """Takes a step and says once when the maps lose their energy."""

    def __init__(self, training: JointTraining):
        self._training = training
        self._warned = False

    def __call__(self, batch) -> dict:
        parts = self._training.step(batch)
        first, energy = float(self._training.first_energy), float(parts["energy"])
        if energy < _COLLAPSED * first and not self._warned:
            self._warned = True
            logging.warning(
                "The maps' energy has fallen to %.3g, from %.3g at the start: L_R is easiest to "
                "please with maps that say little. A smaller --weight_reconstruction or "
                "--lower_rate helps.",
                energy,
                first,
            )
        return parts
