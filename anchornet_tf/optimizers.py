"""Learning rates per layer, as `tfa.optimizers.MultiOptimizer` gives them.

Keras' own `MultiOptimizer` does the work. What is added is that nothing is left to a default: Keras
sends every variable that no rule matches to a default optimizer without a word, so that a misspelt
rule trains a layer at the wrong rate. Here that is an error.
"""

import math
import numbers
import re
from collections.abc import Mapping, Sequence

import keras

_PACKAGE = "anchornet_tf"


def optimizer_by_path(
    rates: Mapping[str, keras.optimizers.Optimizer | float],
    variables: Sequence[keras.Variable],
    base_optimizer: keras.optimizers.Optimizer | None = None,
    name: str | None = None,
) -> "LayerwiseOptimizer":
    """Makes one optimizer that updates each variable by the rule that its path matches.

    Each rule has an optimizer of its own: with `global_clipnorm`, gradients are clipped by their
    norm over the variables of one rule, not over all.

    Args:
        rates: Mapping of a regular expression to an optimizer, or to a number that multiplies the
            learning rate of `base_optimizer`. An expression must match the whole of a variable's
            `path`, such as `"anchornet/backbone/conv1/kernel"`: write `".*/backbone/.*"`. How Keras
            spells a path depends on how the model was built: look at it before.
        variables: The variables to be trained, `model.trainable_variables`. Each must match exactly
            one rule, and each rule at least one variable.
        base_optimizer: Optimizer that is copied for each number in `rates`. It stays untouched.
            Its learning rate is a float or a `LearningRateSchedule`.
        name: Optional name of the optimizer.

    Returns:
        A `keras.optimizers.MultiOptimizer` for these variables only, whose `optimizers` are in the
        order of `rates`. It can be saved and loaded with its model.

    Raises:
        ValueError: If a variable matches no rule or several, a rule matches no variable, or a rule
            is not as above.

    Example:

    ```python
    import keras
    from anchornet_tf.optimizers import optimizer_by_path

    body, head = keras.layers.Dense(8, name="body"), keras.layers.Dense(2, name="head")
    model = keras.Sequential([keras.Input((4,)), body, head])
    optimizer = optimizer_by_path(
        {".*body/.*": 0.1, ".*head/.*": 1.0},
        model.trainable_variables,
        base_optimizer=keras.optimizers.SGD(0.01, momentum=0.9),
    )
    model.compile(optimizer=optimizer)
    ```
    """
    if not rates:
        raise ValueError(f"`rates` must hold at least one rule. Received: rates={rates}")
    paths = [variable.path for variable in variables]
    rules = [_matching_rule(rates, path) for path in paths]
    unused = [rule for rule in rates if rule not in rules]
    if unused:
        raise ValueError(
            "Each rule must match the whole path of at least one variable, such as "
            f"{_shortened(paths)}. Received: rules that match none: {unused}"
        )

    optimizers = []
    for index, (rule, rate) in enumerate(rates.items()):
        if isinstance(rate, numbers.Real):
            optimizers.append(_with_scaled_rate(base_optimizer, float(rate), index))
        else:
            _check_optimizer(rate, f"rates[{rule!r}]")
            if rate.built:
                raise ValueError(
                    "An optimizer in `rates` must not have been used before. "
                    f"Received: rates[{rule!r}]={rate!r}"
                )
            optimizers.append(rate)
    if len({id(optimizer) for optimizer in optimizers}) < len(optimizers):
        # Saved and loaded, a shared one would come back as two, and its state would not fit.
        raise ValueError(f"Each rule must have an optimizer of its own. Received: rates={rates}")
    order = list(rates)
    return LayerwiseOptimizer(optimizers, [order.index(rule) for rule in rules], paths, name=name)


@keras.saving.register_keras_serializable(package=_PACKAGE)
class LayerwiseOptimizer(keras.optimizers.MultiOptimizer):
    """Optimizer that hands each variable to one of several optimizers, by its place in the list.

    Made by `optimizer_by_path`. Keras gives the variables of a loaded model other paths (a nested
    model's name goes missing) but keeps their order, so the order is what is saved.

    Args:
        optimizers: Sequence of Keras optimizers.
        assignment: Sequence of ints, for each trained variable the index of its optimizer.
        paths: Optional sequence of the variables' paths, which those given to `build` must have.
        loss_scale_factor: Optional float, as in `keras.optimizers.MultiOptimizer`.
        name: Optional name of the optimizer.
    """

    def __init__(
        self,
        optimizers: Sequence[keras.optimizers.Optimizer],
        assignment: Sequence[int],
        paths: Sequence[str] | None = None,
        loss_scale_factor: float | None = None,
        name: str | None = None,
    ):
        table = _OptimizerTable(optimizers, assignment, paths)
        super().__init__(table, loss_scale_factor=loss_scale_factor, name=name)
        self._table = table
        # `tf.train.Checkpoint` finds optimizers that are attributes, not those in Keras' list, and
        # would leave out their momentum without a word.
        for index, optimizer in enumerate(self.optimizers):
            setattr(self, f"optimizer_{index}", optimizer)

    def build(self, var_list: Sequence[keras.Variable]) -> None:
        if not self.built:
            self._table.bind(var_list)
        super().build(var_list)

    def get_config(self) -> dict:
        return {
            "optimizers": [keras.saving.serialize_keras_object(o) for o in self.optimizers],
            "assignment": self._table.assignment,
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: dict, custom_objects: dict | None = None) -> "LayerwiseOptimizer":
        optimizers = [
            keras.saving.deserialize_keras_object(o, custom_objects=custom_objects)
            for o in config["optimizers"]
        ]
        return cls(**{**config, "optimizers": optimizers})


class _OptimizerTable:
    """What `keras.optimizers.MultiOptimizer` asks for the optimizer of a variable."""

    def __init__(self, optimizers, assignment, paths):
        self.optimizers = list(optimizers)
        self.assignment = list(assignment)
        self.paths = None if paths is None else list(paths)
        self._optimizer_of = {}

    def values(self) -> list[keras.optimizers.Optimizer]:
        return self.optimizers

    def bind(self, variables: Sequence[keras.Variable]) -> None:
        paths = [variable.path for variable in variables]
        if len(paths) != len(self.assignment) or self.paths not in (None, paths):
            raise ValueError(
                f"The optimizer must be given the {len(self.assignment)} variables that it was "
                f"made for, in their order. Received: {len(paths)} variables, {_shortened(paths)}"
            )
        for variable, index in zip(variables, self.assignment, strict=True):
            self._optimizer_of[id(variable)] = self.optimizers[index]

    def __call__(self, variable: keras.Variable) -> keras.optimizers.Optimizer:
        return self._optimizer_of[id(variable)]


@keras.saving.register_keras_serializable(package=_PACKAGE)
class ScaledSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate schedule that is `multiplier` times another.

    Args:
        schedule: The `keras.optimizers.schedules.LearningRateSchedule` to follow.
        multiplier: float.
    """

    def __init__(
        self, schedule: keras.optimizers.schedules.LearningRateSchedule, multiplier: float
    ):
        self.schedule = schedule
        self.multiplier = multiplier

    def __call__(self, step):
        return self.multiplier * self.schedule(step)

    def get_config(self) -> dict:
        return {
            "schedule": keras.optimizers.schedules.serialize(self.schedule),
            "multiplier": self.multiplier,
        }

    @classmethod
    def from_config(cls, config: dict) -> "ScaledSchedule":
        return cls(keras.optimizers.schedules.deserialize(config["schedule"]), config["multiplier"])


def _matching_rule(rules: Mapping[str, object], path: str) -> str:
    matching = [rule for rule in rules if re.fullmatch(rule, path)]
    if len(matching) != 1:
        raise ValueError(
            f"The path of each variable must match, whole, exactly one rule of {list(rules)}. "
            f"Received: path={path!r}, which matches {matching or 'none'}"
        )
    return matching[0]


def _with_scaled_rate(
    base: keras.optimizers.Optimizer | None, multiplier: float, index: int
) -> keras.optimizers.Optimizer:
    if base is None:
        raise ValueError(
            "`base_optimizer` must be given when `rates` holds a number. Received: None"
        )
    _check_optimizer(base, "base_optimizer")
    if not 0 <= multiplier < math.inf:
        raise ValueError(
            f"A rate must be a non-negative finite number. Received: rate={multiplier}"
        )
    config = base.get_config()
    # The logs of Keras' callbacks tell the optimizers apart by name only.
    config["name"] = f"{base.name}_{index}"
    learning_rate = config["learning_rate"]
    if isinstance(learning_rate, numbers.Real):
        config["learning_rate"] = multiplier * learning_rate
    else:
        schedule = keras.saving.deserialize_keras_object(learning_rate)
        if not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
            raise ValueError(
                "The learning rate of `base_optimizer` must be a float or a LearningRateSchedule. "
                f"Received: {schedule}"
            )
        config["learning_rate"] = ScaledSchedule(schedule, multiplier)
    return type(base).from_config(config)


def _check_optimizer(optimizer: keras.optimizers.Optimizer, argument: str) -> None:
    wrappers = (keras.optimizers.MultiOptimizer, keras.optimizers.LossScaleOptimizer)
    if not isinstance(optimizer, keras.optimizers.Optimizer) or isinstance(optimizer, wrappers):
        raise ValueError(
            f"`{argument}` must be a number or a Keras optimizer that wraps no other. "
            f"Received: {optimizer!r}"
        )


def _shortened(paths: Sequence[str], shown: int = 5) -> str:
    listed = ", ".join(repr(path) for path in paths[:shown])
    return f"{listed} (and {len(paths) - shown} more)" if len(paths) > shown else listed or "none"
