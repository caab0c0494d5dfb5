"""Objects by name, imported when asked for."""

import fractions
import sys

import pytest

from anchornet_tf.utils.lazy_registry import LazyRegistry


def _registry():
    return LazyRegistry(
        "number",
        {
            "fraction": "fractions:Fraction",
            "third": "fractions:Fraction:1",
            "thing": "builtins:object",
        },
    )


def test_create_gives_options_and_fixed_arguments():
    assert _registry().names == ("fraction", "third", "thing")
    assert _registry().create("fraction", numerator=3) == fractions.Fraction(3)
    assert _registry().create("third", denominator=None) == 1
    assert _registry().options("fraction")[:2] == ("numerator", "denominator")
    assert _registry().options("third")[0] == "denominator"


def test_a_class_without_options_says_so():
    with pytest.raises(ValueError, match="number 'thing' takes no options. Received: size"):
        _registry().create("thing", size=3)


def test_unknown_names_are_refused_with_the_list():
    with pytest.raises(ValueError, match="one of fraction, third, thing. Received: 'half'"):
        _registry().create("half")


def test_nothing_is_imported_before_it_is_asked_for():
    sys.modules.pop("this", None)
    registry = LazyRegistry("text", {"zen": "this:d"})
    assert registry.names == ("zen",)
    assert "this" not in sys.modules


def test_options_that_mean_nothing_under_a_name_are_refused():
    registry = LazyRegistry(
        "number", {"half": "fractions:Fraction"}, without={"half": ("denominator",)}
    )
    assert "denominator" not in registry.options("half")
    with pytest.raises(ValueError, match="Received: denominator"):
        registry.create("half", denominator=2)
