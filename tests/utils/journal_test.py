"""Journals survive an interruption at any byte and do not mix configurations."""

import json

import pytest

from anchornet_tf.utils.journal import Journal


def test_notes_are_kept_and_added_to(tmp_path):
    journal = Journal(tmp_path / "cells" / "a.jsonl", {"matcher": "dsp", "size": (1, 2)})
    journal.add("x>y", {"errors": [1.5, None]})
    journal.add("y>x", {"errors": []})
    journal.add("x>y", {"object_iou": 0.5})
    again = Journal(tmp_path / "cells" / "a.jsonl", {"matcher": "dsp", "size": (1, 2)})
    assert again.records == {
        "x>y": {"errors": [1.5, None], "object_iou": 0.5},
        "y>x": {"errors": []},
    }
    assert again.has("x>y", ["errors", "object_iou"])
    assert not again.has("y>x", ["object_iou"]) and not again.has("z>x", ["errors"])


def test_every_cut_loses_one_line_at_most(tmp_path):
    path = tmp_path / "a.jsonl"
    journal = Journal(path, {"a": 1})
    for index in range(3):
        journal.add(f"p{index}", {"errors": [index]})
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        found = Journal(path, {"a": 1})
        lines = whole[:length].count(b"\n")
        assert list(found.records) == [f"p{index}" for index in range(max(lines - 1, 0))]
        found.add("new", {"errors": [9]})
        assert Journal(path, {"a": 1}).records["new"] == {"errors": [9]}


def test_other_configurations_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    Journal(path, {"matcher": "dsp", "boxes": 500}).add("p", {"errors": []})
    with pytest.raises(ValueError, match="same configuration.*boxes=500 instead of 1000"):
        Journal(path, {"matcher": "dsp", "boxes": 1000})
    path.write_text("hello\n")
    with pytest.raises(ValueError, match="Expected a journal"):
        Journal(path, {})


def test_numbers_that_json_does_not_know_are_refused(tmp_path):
    journal = Journal(tmp_path / "a.jsonl", {})
    with pytest.raises(ValueError, match="JSON"):
        journal.add("p", {"errors": [float("nan")]})
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {}


def test_a_first_line_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1\n")
    with pytest.raises(ValueError, match=r"Expected a journal .*no object.*Received: .*a.jsonl"):
        Journal(path, {"version": 1})
