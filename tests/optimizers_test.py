"""Tests that each variable is trained at the rate of the one rule that its path matches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import optimizers

_RULES = {
    ".*/backbone/.*": 0.1,
    ".*/bank/.*": 1.0,
    "anchornet/head/kernel": 2.0,
    "anchornet/head/bias": 0.0,
}


def _model():
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(5, name="backbone", bias_initializer="ones"),
            keras.layers.Dense(3, name="bank", bias_initializer="ones"),
            keras.layers.Dense(2, name="head", bias_initializer="ones"),
        ],
        name="anchornet",
    )


def _variables(model):
    return {variable.path: variable for variable in model.trainable_variables}


def _values(model):
    return {path: variable.numpy() for path, variable in _variables(model).items()}


def _apply_ones(optimizer, model):
    """Applies a gradient of one everywhere, and returns by how much each variable went down."""
    before = _values(model)
    variables = model.trainable_variables
    optimizer.apply([tf.ones_like(v.value) for v in variables], variables)
    after = _values(model)
    return {path: before[path] - after[path] for path in before}


def _fit(model, **arguments):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(8, 4)), random.normal(size=(8, 2))
    return model.fit(x, y, batch_size=4, verbose=0, shuffle=False, **arguments)


def _expected_multiplier(path):
    return {"backbone": 0.1, "bank": 1.0, "head": 2.0 if "kernel" in path else 0.0}[
        path.split("/")[1]
    ]


def test_each_variable_has_the_rate_of_its_rule():
    model = _model()
    optimizer = optimizers.optimizer_by_path(
        _RULES, model.trainable_variables, keras.optimizers.SGD(0.5)
    )
    steps = _apply_ones(optimizer, model)
    assert len(steps) == 6
    for path, step in steps.items():
        np.testing.assert_allclose(step, 0.5 * _expected_multiplier(path), atol=1e-6, err_msg=path)


def test_rules_may_hold_optimizers():
    model = _model()
    rules = {
        ".*/backbone/.*": keras.optimizers.Adam(0.25),
        ".*/(bank|head)/.*": keras.optimizers.SGD(0.5),
    }
    optimizer = optimizers.optimizer_by_path(rules, model.trainable_variables)
    assert optimizer.optimizers == list(rules.values())
    for path, step in _apply_ones(optimizer, model).items():
        # The first step of Adam is its learning rate, whatever the size of the gradient.
        np.testing.assert_allclose(step, 0.25 if "backbone" in path else 0.5, atol=1e-5)


def test_a_schedule_is_followed_at_each_rate():
    model = _model()
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0, 1], [1.0, 0.5, 0.25])
    base = keras.optimizers.SGD(schedule)
    optimizer = optimizers.optimizer_by_path(_RULES, model.trainable_variables, base)
    for rate in (1.0, 0.5, 0.25):
        for path, step in _apply_ones(optimizer, model).items():
            np.testing.assert_allclose(step, rate * _expected_multiplier(path), atol=1e-6)
    assert int(base.iterations) == 0


def test_settings_of_the_base_optimizer_are_kept():
    model = _model()
    base = keras.optimizers.SGD(0.5, momentum=0.9, nesterov=True, clipvalue=0.1)
    optimizer = optimizers.optimizer_by_path(_RULES, model.trainable_variables, base)
    assert len({inner.name for inner in optimizer.optimizers}) == len(_RULES)
    for inner in optimizer.optimizers:
        assert isinstance(inner, keras.optimizers.SGD) and inner is not base
        assert (inner.momentum, inner.nesterov, inner.clipvalue) == (0.9, True, 0.1)


def test_fit_in_a_graph_gives_the_rates():
    # Same start and same data at ten times the rate: the first step is ten times as long.
    steps = []
    for rate in (0.01, 0.1):
        model = _model()
        before = _values(model)
        optimizer = optimizers.optimizer_by_path(
            {".*/backbone/.*": rate, ".*/(bank|head)/.*": 0.05},
            model.trainable_variables,
            keras.optimizers.SGD(1.0),
        )
        model.compile(optimizer, "mse")
        _fit(model, steps_per_epoch=1, epochs=1)
        after = _values(model)
        steps.append({path: after[path] - before[path] for path in before})
    for path in steps[0]:
        ratio = 10 if "backbone" in path else 1
        assert np.abs(steps[0][path]).max() > 0
        np.testing.assert_allclose(steps[1][path], ratio * steps[0][path], atol=1e-5)


@pytest.mark.parametrize("scheduled", [False, True])
def test_a_saved_model_goes_on_where_it_stopped(tmp_path, scheduled):
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 3, 0.5) if scheduled else 0.01
    model = _model()
    model.compile(
        optimizers.optimizer_by_path(
            _RULES, model.trainable_variables, keras.optimizers.SGD(rate, momentum=0.5)
        ),
        "mse",
    )
    _fit(model, epochs=2)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert len(loaded.optimizer.optimizers) == len(_RULES)
    before = _values(model)
    _fit(model, epochs=2)
    _fit(loaded, epochs=2)
    after = _values(model)
    assert (
        np.abs(after["anchornet/backbone/kernel"] - before["anchornet/backbone/kernel"]).max()
        > 1e-4
    )
    # Loaded variables have other paths, in the same order.
    for resumed, value in zip(loaded.trainable_variables, after.values(), strict=True):
        np.testing.assert_allclose(resumed, value, atol=1e-7)


def test_a_checkpoint_restores_the_momentum(tmp_path):
    def trained(epochs, path=None):
        model = _model()
        optimizer = optimizers.optimizer_by_path(
            _RULES, model.trainable_variables, keras.optimizers.SGD(0.01, momentum=0.5)
        )
        model.compile(optimizer, "mse")
        optimizer.build(model.trainable_variables)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
        if path:
            checkpoint.restore(path).assert_existing_objects_matched()
        _fit(model, epochs=epochs)
        return model, checkpoint

    straight, _ = trained(4)
    _, checkpoint = trained(2)
    resumed, _ = trained(2, checkpoint.save(tmp_path / "checkpoint"))
    for path, value in _values(straight).items():
        np.testing.assert_allclose(_values(resumed)[path], value, atol=1e-7)


def test_callbacks_of_keras_log_each_rate():
    model = _model()
    model.compile(
        optimizers.optimizer_by_path(
            _RULES, model.trainable_variables, keras.optimizers.SGD(0.5, name="sgd")
        ),
        "mse",
    )
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    history = _fit(model, epochs=2, callbacks=[halve]).history
    np.testing.assert_allclose(history["learning_rate_sgd_0"], [0.025, 0.0125])
    np.testing.assert_allclose(history["learning_rate_sgd_2"], [0.5, 0.25])


@pytest.mark.parametrize(
    "rules,match",
    [
        ({}, "at least one rule. Received"),
        ({".*/backbone/.*": 0.1, ".*/bank/.*": 1.0}, "net/head/kernel', which matches none"),
        # Keras matches the whole path, so without the leading wildcard a rule would never apply.
        ({"backbone/.*": 0.1, ".*": 1.0}, r"match none: \['backbone/\.\*'\]"),
        ({".*/backbone/.*": 0.1, ".*": 1.0}, r"/backbone/kernel', which matches \['"),
        ({".*": -1.0}, "non-negative finite number. Received: rate=-1.0"),
        ({".*": float("nan")}, "Received: rate=nan"),
        ({".*": "sgd"}, "must be a number or a Keras optimizer .* Received: 'sgd'"),
        ({".*": None}, "must be a number or a Keras optimizer"),
    ],
)
def test_bad_rules_are_refused(rules, match):
    with pytest.raises(ValueError, match=match):
        optimizers.optimizer_by_path(rules, _model().trainable_variables, keras.optimizers.SGD(0.5))


def test_bad_optimizers_are_refused():
    variables = _model().trainable_variables
    with pytest.raises(ValueError, match="`base_optimizer` must be given"):
        optimizers.optimizer_by_path({".*": 1.0}, variables)
    with pytest.raises(ValueError, match="wraps no other"):
        optimizers.optimizer_by_path(
            {".*": 1.0}, variables, keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
        )
    shared = keras.optimizers.SGD()
    with pytest.raises(ValueError, match="an optimizer of its own"):
        optimizers.optimizer_by_path({".*/ba.*": shared, ".*/head/.*": shared}, variables)
    shared.build(variables)
    with pytest.raises(ValueError, match="must not have been used before"):
        optimizers.optimizer_by_path({".*": shared}, variables)


def test_other_variables_are_refused():
    model = _model()
    optimizer = optimizers.optimizer_by_path(
        _RULES, model.trainable_variables, keras.optimizers.SGD(0.5)
    )
    stranger = keras.Variable(np.zeros(3), name="stranger")
    for variables in (
        [*model.trainable_variables, stranger],
        [*model.trainable_variables[:-1], stranger],
        model.trainable_variables[::-1],
    ):
        with pytest.raises(ValueError, match="the 6 variables that it was made for.* Received: "):
            optimizer.build(variables)
