"""Matchers by name."""

import pytest

from anchornet_tf.matchers.nearest import NearestMatcher
from anchornet_tf.matchers.registry import MATCHERS, get_matcher


def test_a_matcher_by_name_takes_its_options():
    matcher = get_matcher("nearest", mutual=True)
    assert isinstance(matcher, NearestMatcher)
    assert matcher.mutual


def test_every_name_can_be_made():
    for name in MATCHERS.names:
        assert callable(get_matcher(name))


def test_proposal_flow_has_three_names():
    assert [get_matcher(name).algorithm for name in ("nam", "phm", "lom")] == ["nam", "phm", "lom"]


def test_unknown_names_and_options_are_refused():
    with pytest.raises(ValueError, match="matcher must be one of none, .*Received: 'best'"):
        get_matcher("best")
    with pytest.raises(ValueError, match="matcher 'none' takes no options. Received: size"):
        get_matcher("none", size=3)
