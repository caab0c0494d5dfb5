"""Options reach those that take them, and no option is lost."""

import pytest

from anchornet_tf.utils.named_options import parse_option, split_options

_FEATURES = {"sift": ("step", "reference"), "hc": ("blur",)}
_MATCHERS = {"dsp": ("reference", "grid_size"), "hough": ("grid_size",), "none": ()}


def test_each_option_reaches_all_that_take_it():
    split = split_options({"step": 4, "grid_size": 30}, _FEATURES, _MATCHERS)
    assert split == {
        "sift": {"step": 4},
        "hc": {},
        "dsp": {"grid_size": 30},
        "hough": {"grid_size": 30},
        "none": {},
    }


@pytest.mark.parametrize("order", [1, -1])
def test_a_prefix_reaches_one_and_wins(order):
    options = dict([("grid_size", 30), ("hough.grid_size", 9)][::order])
    split = split_options(options, _FEATURES, _MATCHERS)
    assert split["hough"] == {"grid_size": 9} and split["dsp"] == {"grid_size": 30}


def test_what_two_kinds_take_needs_a_prefix():
    with pytest.raises(ValueError, match="sift.reference or dsp.reference. Received: reference"):
        split_options({"reference": True}, _FEATURES, _MATCHERS)
    split = split_options({"dsp.reference": True}, _FEATURES, _MATCHERS)
    assert split["dsp"] == {"reference": True} and split["sift"] == {}


@pytest.mark.parametrize("name", ["colour", "hough.step", "surf.step", "none.grid_size", "."])
def test_what_nobody_takes_is_refused_with_what_there_is(name):
    with pytest.raises(ValueError, match=r"sift \(step, reference\).*none \(none\)\. Received: "):
        split_options({name: 3}, _FEATURES, _MATCHERS)


def test_nothing_is_named():
    assert split_options({}, {}, {}) == {}
    with pytest.raises(ValueError, match="that are named. Received: step"):
        split_options({"step": 3}, {}, {})


def test_values_are_literals_or_text():
    assert parse_option("a=3") == ("a", 3)
    assert parse_option("hough.a=(1, 2)") == ("hough.a", (1, 2))
    assert parse_option("a=True") == ("a", True)
    assert parse_option("a=None") == ("a", None)
    assert [parse_option(f"a={text}")[1] for text in ("false", "No", "TRUE")] == [
        False,
        False,
        True,
    ]
    assert parse_option("bank=runs/x=1.npz") == ("bank", "runs/x=1.npz")


@pytest.mark.parametrize("text", ["mutual", "=3", ""])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match=f"Expected --option=NAME=VALUE. Received: '{text}'"):
        parse_option(text)
