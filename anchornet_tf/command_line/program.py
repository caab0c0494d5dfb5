"""Runs a program: flags, one line for what the user can mend, a traceback for anything else."""

import contextlib
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from absl import app, flags, logging

from anchornet_tf.command_line import start

# What shells expect of a program that was stopped by a signal: by Ctrl-C (SIGINT), by SIGTERM.
_INTERRUPTED = 130
_TERMINATED = 143


# For `interrupted`, in programs that keep checkpoints.
CONTINUES = "Stopped. The same command continues from the last checkpoint."


def run(
    main: Callable[[list[str]], None],
    *,
    mendable: tuple[type[Exception], ...] = (),
    interrupted: str = "Stopped.",
) -> None:
    """Parses the flags, calls `main` and ends the process.

    What the user can mend ends in one line on the standard error, `Error: ... Received: ...`, and
    exit code 1: wrong flags and arguments, `OSError`, `ValueError`, `ImportError`, weights that
    cannot be had, a loss that is not finite. With `--verbosity=1` these keep their tracebacks too.

    Args:
        main: function of the arguments that are left when the flags are parsed; the first is the
            program's name.
        mendable: further exceptions that the user can mend.
        interrupted: str, what to say after Ctrl-C, or SIGTERM, which clusters send.

    Example:

    ```python
    if __name__ == "__main__":
        program.run(main, interrupted=program.CONTINUES)
    ```
    """
    start.prepare()
    try:
        app.run(lambda argv: _call(main, argv, mendable, interrupted), flags_parser=_parse)
    except BrokenPipeError:
        # Somebody like `head` has read enough. Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def flags_only(argv: list[str]) -> None:
    """Raises where there are arguments besides the flags."""
    if len(argv) > 1:
        raise app.UsageError(
            f"Expected flags only; --help lists them. Received: {' '.join(argv[1:])}"
        )


def message_of(error: Exception) -> str:
    """Returns what an exception says; those of Python's own end in what was received, like ours."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        # Of all files that could not be copied, the first says why.
        source, copy, reason = error.args[0][0]
        return f"Expected that {source} can be copied ({reason}). Received: {copy}"
    if isinstance(error, OSError) and error.strerror:
        # An error of a file that is open already, such as that of a full disk, names no file.
        received = f"error {error.errno}" if error.filename is None else error.filename
        return f"{error.strerror}. Received: {received}"
    return str(error) or type(error).__name__


def _parse(argv: list[str]) -> list[str]:
    try:
        return flags.FLAGS(argv)
    except flags.Error as error:
        _fail(_flag_message(error))
    except SystemExit:
        # --help was answered, which absl counts as a failure.
        sys.exit(0)


def _call(main, argv, mendable, interrupted) -> None:
    # absl shows the notes of all libraries after the flags are parsed, unless told otherwise.
    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)
    stops: list[int] = []
    try:
        with _stops_noted(stops):
            main(argv)
    except KeyboardInterrupt:
        _stop(stops, interrupted)
    except Exception as error:
        if stops:
            # Where it met C++ code, what was raised may have come out as another exception.
            _stop(stops, interrupted)
        if logging.level_debug() or not isinstance(error, (*_mendable(), *mendable)):
            raise
        _fail(message_of(error))


def _stop(stops: list[int], interrupted: str) -> NoReturn:
    print(f"\n{interrupted}", file=sys.stderr)
    sys.exit(_TERMINATED if signal.SIGTERM in stops else _INTERRUPTED)


@contextlib.contextmanager
def _stops_noted(stops: list[int]) -> Iterator[None]:
    """Lets SIGTERM end the block as Ctrl-C does, and notes which of the two came."""

    def stop(number, _):
        stops.append(number)
        # Whatever cleans up after Ctrl-C does so after SIGTERM.
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [signal.SIGTERM]
    # A shell has programs in the background ignore Ctrl-C.
    caught += [signal.SIGINT] * (signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    before = {number: signal.signal(number, stop) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _mendable() -> tuple[type[Exception], ...]:
    # Imported when something went wrong: --help must answer at once.
    from anchornet_tf.training.broken_loss import BrokenLoss
    from anchornet_tf.trunks.pretrained import WeightsUnavailable

    return app.UsageError, OSError, ValueError, ImportError, WeightsUnavailable, BrokenLoss


def _fail(message: str) -> None:
    print(f"Error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(1)


def _flag_message(error: flags.Error) -> str:
    """Says in our words what absl says about a flag."""
    if isinstance(error, flags.UnrecognizedFlagError):
        guess = re.search(r"Did you mean: (.*?) ?\?", str(error))
        hint = f", such as --{guess[1]}" if guess else ""
        return f"Expected a flag that --help lists{hint}. Received: --{error.flagname}"
    missing = re.search(r"Flag --(\w+) must have a value other than None", str(error))
    if missing:
        return f"Expected --{missing[1]}=...; --help says what it takes. Received: nothing"
    valueless = re.search(r"Missing value for flag -+(\w+)", str(error))
    if valueless:
        return (
            f"Expected a value, --{valueless[1]}=...; --help says which. Received: --{valueless[1]}"
        )
    wrong = re.match(r"flag --(\w+)=(.*?): ", str(error), re.DOTALL)
    if wrong:
        fits = _what_fits(wrong[1]) if wrong[1] in flags.FLAGS else "what --help says"
        return f"--{wrong[1]} must be {fits}. Received: {wrong[2]}"
    return f"Expected flags that --help lists ({error}). Received: {' '.join(sys.argv[1:])}"


def _what_fits(name: str) -> str:
    """Describes the values that a flag takes."""
    parser = flags.FLAGS[name].parser
    if isinstance(parser, flags.EnumParser):
        return f"one of {', '.join(parser.enum_values)}"
    if isinstance(parser, flags.BooleanParser):
        return "true or false"
    return parser.syntactic_help or "what --help says"
