"""Stage 2's step: all banks, the class-agnostic layer and the trunk in one loss."""

import keras
import tensorflow as tf

from anchornet_tf.losses.discriminability import auxiliary_loss, discriminability_loss
from anchornet_tf.losses.diversity import filter_diversity_loss, response_diversity_loss
from anchornet_tf.losses.reconstruction import reconstruction_loss
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.optimizers import optimizer_by_path
from anchornet_tf.training.config import usual_sigma
from anchornet_tf.training.stage2.config import Stage2Config

_ENCODER = "autoencoder/.*"
_BELOW = "(?!autoencoder/).*"


class JointTraining:
    """An AnchorNet, its optimizer and one step of them.

    A positive image trains the bank of the class that it was drawn for, a background image all N
    banks. Positives are drawn uniformly over the classes, so every bank sees N times as many
    negatives as positives; a negative weighs 1/N (paper section 4): its losses are the mean over
    all banks. Where there is no background, an image that does not show a class trains its bank,
    as often as a positive does.

    Args:
        config: what to train.
        model: the network, made in the strategy's scope.
        strategy: where.
    """

    def __init__(self, config: Stage2Config, model: AnchorNet, strategy: tf.distribute.Strategy):
        self.config = config
        self.model = model
        self.strategy = strategy
        self.sigma = config.sigma or usual_sigma(model.backbone.trunk.strides[0])
        self.variables = trained_variables(model, config)
        with strategy.scope():
            self.optimizer = optimizer_by_path(
                {_ENCODER: 1.0, _BELOW: config.lower_rate},
                self.variables,
                keras.optimizers.SGD(config.learning_rate, config.momentum),
            )
            self.optimizer.build(self.variables)
            # What the maps' energy was at the first step: 0 before it.
            self.first_energy = tf.Variable(0.0, trainable=False, name="first_energy")
        self.step = tf.function(self._distributed_step)

    def state(self) -> dict:
        """Returns everything that a resumed run needs, by name."""
        state = {variable.path: variable for variable in self.model.variables}
        if self.config.freeze_trunk:
            trunk = {variable.path for variable in self.model.backbone.variables}
            state = {path: variable for path, variable in state.items() if path not in trunk}
        slots = [variable for inner in self.optimizer.optimizers for variable in inner.variables]
        state |= {f"optimizer/{i}": variable for i, variable in enumerate(slots)}
        return {**state, "first_energy": self.first_energy}

    def losses(
        self, taps, class_index, noise_seed, negative_of=None
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Returns the weighted parts of the loss, and the energy of the positives' centred maps.

        Args:
            taps: of the positives, then as many negatives.
            class_index: `(positives,)`, the class that each positive was drawn for.
            noise_seed: `(positives + negatives, 2)`.
            negative_of: `(negatives,)`, the class that each negative was drawn for; None where all
                are background, which are negatives of all classes.
        """
        config, model = self.config, self.model
        count, filters = len(model.classes), model.num_filters
        slots = tf.shape(class_index)[0]
        linear = model.linear_responses(taps)
        shape = tf.shape(linear)
        # (batch, height, width, classes, filters)
        by_class = tf.reshape(linear, (shape[0], shape[1], shape[2], count, filters))
        own = tf.gather(by_class[:slots], class_index, axis=3, batch_dims=1)
        others = linear[slots:]
        if negative_of is not None:
            others = tf.gather(by_class[slots:], negative_of, axis=3, batch_dims=1)
        own_maps, other_maps = tf.nn.softplus(own), tf.nn.softplus(others)
        yes, no = tf.ones((slots,), tf.bool), tf.zeros((slots,), tf.bool)
        kernels = [tf.convert_to_tensor(bank.kernel) for bank in model.banks]
        encoder = tf.convert_to_tensor(model.autoencoder.kernel)
        squares = tf.add_n([tf.nn.l2_loss(kernel) for kernel in kernels]) / count
        parts = {
            "discr": config.weight_discr
            * (discriminability_loss(own_maps, yes) + discriminability_loss(other_maps, no))
            / 2,
            "aux": config.weight_aux * auxiliary_loss(others, no),
            "decay": config.weight_decay * (squares + tf.nn.l2_loss(encoder)),
        }
        # What weighs nothing must not cost anything.
        if config.weight_div_a:
            values = [filter_diversity_loss(kernel) for kernel in kernels]
            parts["div_a"] = config.weight_div_a * tf.add_n(values) / count
        if config.weight_div_b:
            of_one_bank = other_maps
            if negative_of is None:
                of_one_bank = tf.transpose(
                    tf.reshape(other_maps, (slots, shape[1], shape[2], count, filters)),
                    (0, 3, 1, 2, 4),
                )
                of_one_bank = tf.reshape(of_one_bank, (-1, shape[1], shape[2], filters))
            pairs = response_diversity_loss(own_maps, self.sigma)
            pairs += response_diversity_loss(of_one_bank, self.sigma)
            parts["div_b"] = config.weight_div_b * pairs / 2
        if config.weight_div_encoder:
            parts["div_enc"] = config.weight_div_encoder * filter_diversity_loss(encoder)
        gamma = model.gamma_maps(linear[:slots])
        centred = model.autoencoder.centre(gamma)
        reconstructed = model.autoencoder.reconstruct(
            centred, training=True, seed=noise_seed[:slots]
        )
        parts["recon"] = config.weight_reconstruction * reconstruction_loss(
            centred, reconstructed, yes
        )
        model.autoencoder.update_mean(gamma)
        self._update_statistics(own, class_index)
        return parts, tf.reduce_mean(tf.square(centred))

    def _update_statistics(self, own, class_index) -> None:
        """Moves the whitening of the banks with positives in this batch, on all replicas alike."""
        count = len(self.model.banks)
        chosen = tf.one_hot(class_index, count, axis=0)  # (classes, positives)
        mean = tf.matmul(chosen, tf.reduce_mean(own, axis=(1, 2)))  # (classes, filters)
        square = tf.matmul(chosen, tf.reduce_mean(tf.square(own), axis=(1, 2)))
        context = tf.distribute.get_replica_context()
        images, mean, square = context.all_reduce(
            tf.distribute.ReduceOp.SUM, [tf.reduce_sum(chosen, axis=1), mean, square]
        )
        for index, bank in enumerate(self.model.banks):
            share = (1 - bank.momentum) * tf.cast(images[index] > 0, tf.float32)
            for variable, total in ((bank.running_mean, mean), (bank.running_square, square)):
                old = tf.convert_to_tensor(variable)
                new = tf.math.divide_no_nan(total[index], images[index])
                variable.assign(old + share * (new - old))

    def _replica_step(self, element) -> dict[str, tf.Tensor]:
        replicas = self.strategy.num_replicas_in_sync
        with tf.GradientTape() as tape:
            if "taps" in element:
                taps = [tf.cast(tap, tf.float32) for tap in element["taps"]]
            else:
                taps = self.model.taps(element["images"])
            parts, energy = self.losses(
                taps, element["class_index"], element["noise_seed"], element.get("negative_of")
            )
            # The optimizer adds up the replicas' gradients.
            total = tf.add_n(list(parts.values())) / replicas
        gradients = tape.gradient(total, [variable.value for variable in self.variables])
        self.optimizer.apply(gradients, self.variables)
        shown = {"loss": total, **{name: value / replicas for name, value in parts.items()}}
        return {**shown, "energy": energy / replicas}

    def _distributed_step(self, element) -> dict[str, tf.Tensor]:
        parts = self.strategy.run(self._replica_step, args=(element,))
        parts = {
            name: self.strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)
            for name, value in parts.items()
        }
        first = tf.where(self.first_energy > 0, self.first_energy, parts["energy"])
        self.first_energy.assign(first)
        return parts


def trained_variables(model: AnchorNet, config: Stage2Config) -> list:
    """Returns the variables that stage 2 moves: encoder, banks, and what else is configured."""
    layers = [model.autoencoder, *model.banks]
    if config.train_pca:
        layers.append(model.hypercolumn_layer)
    variables = [variable for layer in layers for variable in layer.trainable_variables]
    if not config.freeze_trunk:
        # Gains and shifts of the batch normalisations are trained, their statistics stay (paper
        # section 4).
        variables += model.backbone.trainable_variables
    return variables
