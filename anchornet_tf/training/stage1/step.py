"""Stage 1's model and step: the banks of several classes at once, each as if it were alone."""

import zlib
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.losses.discriminability import auxiliary_loss, discriminability_loss
from anchornet_tf.losses.diversity import filter_diversity_loss, response_diversity_loss
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.trunks.pca import DIMENSIONS, TAP_NAMES, StreamingMoments
from anchornet_tf.utils.safe_names import safe_name

# Neighbouring cells say the same: covariances need not see all of them.
_STRIDE = 2


class BankTraining:
    """Banks, optimizer and one step of them.

    Every class sees its own positives and negatives (background images that all share, or its own),
    and no loss joins two classes: training several at once gives what training each alone gives.

    Args:
        config: what to train.
        strategy: where; the variables are made in its scope.
        taps_of: turns one element of the input into projected taps (the identity for cached taps).
        depths: Channels of each tap after the PCA; None for those of the paper.
        own_negatives: bool. Whether a batch holds negatives for each class, as it does where there
            is no background (see `BatchPlan`).
    """

    def __init__(
        self,
        config: Stage1Config,
        strategy: tf.distribute.Strategy,
        taps_of: Callable,
        depths: Sequence[int] | None = None,
        own_negatives: bool = False,
    ):
        self.config = config
        self.strategy = strategy
        self.taps_of = taps_of
        self.depths = tuple(depths or [DIMENSIONS] * len(TAP_NAMES))
        self.own_negatives = own_negatives
        with strategy.scope():
            self.banks = {name: self._new_bank(name) for name in config.classes}
            self.optimizer = keras.optimizers.SGD(config.learning_rate, config.momentum)
            self.optimizer.build(self.trainable_variables)
        self.step = tf.function(self._distributed_step)

    def _new_bank(self, name: str) -> AnchorBank:
        # The start of a bank depends on its class, not on the classes beside it.
        seed = zlib.crc32(f"{self.config.seed}/{name}".encode()) & 0x7FFFFFFF
        initializer = keras.initializers.HeNormal(seed=seed)
        bank = AnchorBank(
            self.config.num_filters,
            kernel_initializer=initializer,
            name=f"bank_{safe_name(name, ascii_only=True)}",
        )
        bank.build([(None, None, None, depth) for depth in self.depths])
        bank.built = True
        return bank

    @property
    def trainable_variables(self) -> list:
        """The filters and biases of all banks."""
        return [variable for bank in self.banks.values() for variable in bank.trainable_variables]

    def state(self) -> dict:
        """Returns everything that a resumed run needs, by name."""
        named = {
            f"{name}/{variable.name}": variable
            for name, bank in self.banks.items()
            for variable in bank.variables
        }
        optimizer = {
            f"optimizer/{i}": variable for i, variable in enumerate(self.optimizer.variables)
        }
        return {**named, **optimizer}

    def class_losses(self, bank: AnchorBank, taps, is_positive) -> dict[str, tf.Tensor]:
        """Returns the weighted parts of one class's loss, on its images and on background."""
        config = self.config
        linear = bank.linear(taps, fast_gradient=True)
        response_maps = tf.nn.softplus(linear)
        # Descriptors are whitened where they are used: on images of objects.
        bank.update_statistics(tf.boolean_mask(linear, is_positive))
        parts = {
            "discr": config.weight_discr * discriminability_loss(response_maps, is_positive),
            "aux": config.weight_aux * auxiliary_loss(linear, is_positive),
            "decay": config.weight_decay * tf.nn.l2_loss(tf.convert_to_tensor(bank.kernel)),
        }
        # An ablation must not pay for what it leaves out.
        if config.weight_div_a:
            parts["div_a"] = config.weight_div_a * filter_diversity_loss(bank.kernel)
        if config.weight_div_b:
            parts["div_b"] = config.weight_div_b * response_diversity_loss(
                response_maps, config.sigma
            )
        return parts

    def response_moments(self, batches) -> dict[str, StreamingMoments]:
        """Returns the moments of each bank's linear responses to images of its class.

        Args:
            batches: elements of the input of one replica that hold positives alone, class by class.
        """
        moments = {name: StreamingMoments(self.config.num_filters) for name in self.banks}
        for element in batches:
            taps = [tf.cast(tap, tf.float32) for tap in self.taps_of(element)]
            slots = len(taps[0]) // len(self.banks)
            for index, (name, bank) in enumerate(self.banks.items()):
                own = [tap[index * slots : (index + 1) * slots] for tap in taps]
                cells = bank.linear(own)[:, ::_STRIDE, ::_STRIDE]
                moments[name].update(cells.numpy().reshape(-1, self.config.num_filters))
        return moments

    def _replica_step(self, element) -> dict[str, tf.Tensor]:
        taps = [tf.cast(tap, tf.float32) for tap in self.taps_of(element)]
        replicas = self.strategy.num_replicas_in_sync
        count = len(self.banks)
        # Positives class by class, then the background, or negatives class by class.
        negatives = count if self.own_negatives else 1
        slots = tf.shape(taps[0])[0] // (count + negatives)
        is_positive = tf.range(2 * slots) < slots
        shown: dict[str, tf.Tensor] = {}
        with tf.GradientTape() as tape:
            total = 0.0
            for index, bank in enumerate(self.banks.values()):
                start = (count + (index if self.own_negatives else 0)) * slots
                own = [
                    tf.concat(
                        [tap[index * slots : (index + 1) * slots], tap[start : start + slots]], 0
                    )
                    for tap in taps
                ]
                for name, value in self.class_losses(bank, own, is_positive).items():
                    total += value / replicas  # The optimizer adds up the replicas' gradients.
                    shown[name] = shown.get(name, 0.0) + value / count
        variables = self.trainable_variables
        gradients = tape.gradient(total, [variable.value for variable in variables])
        self.optimizer.apply(gradients, variables)
        return {"loss": tf.add_n(list(shown.values())) / replicas} | {
            name: value / replicas for name, value in shown.items()
        }

    def _distributed_step(self, element) -> dict[str, tf.Tensor]:
        parts = self.strategy.run(self._replica_step, args=(element,))
        return {
            name: self.strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)
            for name, value in parts.items()
        }
