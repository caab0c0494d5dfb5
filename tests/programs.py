"""Programs whose module is a function too, run in the process of a test."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from absl import flags
from absl.testing import flagsaver

from anchornet_tf.command_line import config_flags, program


@contextlib.contextmanager
def in_process(monkeypatch, name: str, config: type) -> Iterator[Callable[..., int]]:
    """Gives a function that takes arguments, runs `python -m name` and returns the exit code.

    Args:
        monkeypatch: pytest's fixture.
        name: The module.
        config: The dataclass that its flags are made from.
    """
    # The module is a function too, so its names are taken from where Python keeps modules.
    __import__(name)
    module = sys.modules[name]
    short = name.rpartition(".")[2]
    values = flags.FlagValues()
    holder = config_flags.define(config, flag_values=values)
    flags.DEFINE_multi_string("option", [], "", flag_values=values)
    values.mark_as_parsed()
    monkeypatch.setattr(module, "_CONFIG", holder, raising=False)
    if not flags.FLAGS.is_parsed():
        flags.FLAGS([short])

    class Flags:
        FLAGS = values

    monkeypatch.setattr(module, "flags", Flags)

    def run(*arguments):
        try:
            left = values([short, *arguments])
            program._call(module.main, left, (), "Stopped.")
        except flags.Error as error:
            program._fail(program._flag_message(error))
        return 0

    with flagsaver.flagsaver():
        yield run
