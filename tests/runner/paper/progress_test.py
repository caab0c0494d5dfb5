"""Time left is scaled by what the steps before took."""

from anchornet_tf.runner.paper import progress


def test_the_rest_goes_by_what_is_done(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    cost = progress.cost_of({"dsp": 1000, "none": 0})
    steps = progress.Progress([cost, 0.0, 2 * cost], is_shown=True)
    with steps.step("first"):
        now[0] += cost / 2  # Twice as fast as thought.
    with steps.step("done already"):
        now[0] += 100.0
    assert steps.left() == f"about {round(cost / 60)} min"
    with steps.step("last"):
        pass
    assert steps.left() == "less than a minute"
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in lines] == ["[1/3] first", "[3/3] last"]
