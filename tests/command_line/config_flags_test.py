"""Flags made from dataclasses: every kind of field, there and back."""

import dataclasses

import pytest
from absl import flags

from anchornet_tf.command_line import config_flags
from anchornet_tf.utils.config_fields import option


@dataclasses.dataclass(frozen=True)
class _Config:
    names: tuple[str, ...] = option(("a", "b"), "Some names.", flag="name")
    title: str = option("none", "A title.")
    folder: str | None = option(None, "A folder.")
    count: int = option(3, "How many.")
    limit: int | None = option(None, "At most this many; 0 for all.", none=0)
    size: int | None = option(224, "Side; 0 for the images' own.", none=0)
    seconds: float | None = option(None, "Time.")
    rate: float = option(0.5, "A rate.")
    fast: bool = option(True, "Whether to hurry.")
    color: str = option("red", "A color.", choices=("red", "blue"))
    parts: tuple[str, ...] | None = option(None, "Some parts.", choices=("x", "y"))
    thresholds: tuple[float, ...] | None = option(None, "Some numbers.")
    made: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if self.count < 1:
            raise ValueError(f"`count` must be positive. Received: {self.count}")


def _parse(*arguments, **defaults):
    values = flags.FlagValues()
    made = config_flags.define(_Config, flag_values=values, **defaults)
    values(["program", *arguments])
    return made


def test_without_flags_it_is_the_default():
    assert _parse().config() == _Config()


def test_every_kind_of_flag():
    given = _parse(
        "--name=c,d",
        "--title=t",
        "--folder=f",
        "--count=4",
        "--limit=9",
        "--size=0",
        "--seconds=1.5",
        "--rate=2",
        "--nofast",
        "--color=blue",
        "--parts=x,y",
        "--thresholds=0.1,0.2",
    )
    assert given.config(made={"k": 1}) == _Config(
        names=("c", "d"),
        title="t",
        folder="f",
        count=4,
        limit=9,
        size=None,
        seconds=1.5,
        rate=2.0,
        fast=False,
        color="blue",
        parts=("x", "y"),
        thresholds=(0.1, 0.2),
        made={"k": 1},
    )


def test_defaults_of_a_program():
    assert _parse(count=7, folder="here").config() == _Config(count=7, folder="here")
    assert _parse("--folder=", folder="here").config().folder is None
    with pytest.raises(ValueError, match="Received: colour"):
        _parse(colour="red")


def test_wrong_values():
    with pytest.raises(ValueError, match="`count` must be positive. Received: 0"):
        _parse("--count=0").config()
    with pytest.raises(ValueError, match="--thresholds must be numbers.* Received: 1,two"):
        _parse("--thresholds=1,two").config()
    with pytest.raises(flags.IllegalFlagValueError, match="red.blue"):
        _parse("--color=green")
