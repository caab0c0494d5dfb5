"""Programs end in one line for what the user can mend, and in a traceback otherwise."""

import subprocess
import sys

import pytest

from tests.repository.tree import ROOT

_PROGRAM = '''"""Does nothing much."""
import sys
from absl import flags
from anchornet_tf.command_line import program
_COUNT = flags.DEFINE_integer("count", 3, "How many.", 1)
_NAME = flags.DEFINE_string("name", None, "Whose.", required=True)
_COLOR = flags.DEFINE_enum("color", "red", ["red", "blue"], "Which.")

class Refused(Exception): pass

def main(argv):
    program.flags_only(argv)
    assert "tensorflow" not in sys.modules
    {body}

program.run(main, mendable=(Refused,), interrupted="Stopped. Go on.")
'''


def _run(*arguments, body="print('done')"):
    command = [sys.executable, "-c", _PROGRAM.format(body=body), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_program_that_works():
    result = _run("--name=x", "--count=5")
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_help():
    result = _run("--help")
    assert "Does nothing much." in result.stdout and "--count" in result.stdout
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments, line",
    [
        ([], "Expected --name=...; --help says what it takes. Received: nothing"),
        (["--name=x", "--cuont=4"], "--count. Received: --cuont"),
        (["--name=x", "--count=many"], "Error: --count must be a positive integer. Received: many"),
        (["--name=x", "--count=0"], "Error: --count must be a positive integer. Received: 0"),
        (["--name=x", "--color=green"], "Error: --color must be one of red, blue. Received: green"),
        (["--name=x", "a", "b"], "Expected flags only; --help lists them. Received: a b"),
        (["--name"], "Received: --name"),
    ],
)
def test_wrong_flags_are_one_line(arguments, line):
    result = _run(*arguments)
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.startswith("Error: ") and result.stderr.endswith(f"{line}\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "body, line",
    [
        ("raise ValueError('Expected\\n  two. Received: 3')", "Expected two. Received: 3"),
        ("open('/none/x')", "No such file or directory. Received: /none/x"),
        # A file that is open already has no name when the disk is full.
        (
            "raise OSError(28, 'No space left on device')",
            "No space left on device. Received: error 28",
        ),
        (
            "import shutil; raise shutil.Error([('a', 'b', 'No space'), ('c', 'd', 'No space')])",
            "Expected that a can be copied (No space). Received: b",
        ),
        ("raise Refused('Expected yes. Received: no')", "Expected yes. Received: no"),
        ("import no_such_module", "No module named 'no_such_module'"),
        (
            "from anchornet_tf.training.broken_loss import BrokenLoss as Broken;"
            "raise Broken('Expected a loss. Received: nan')",
            "Expected a loss. Received: nan",
        ),
        (
            "from anchornet_tf.trunks.pretrained import WeightsUnavailable as No;"
            "raise No('Expected weights. Received: none')",
            "Expected weights. Received: none",
        ),
    ],
)
def test_what_the_user_can_mend_is_one_line(body, line):
    result = _run("--name=x", body=body)
    assert (result.returncode, result.stderr) == (1, f"Error: {line}\n")
    assert "Traceback" in _run("--name=x", "--verbosity=1", body=body).stderr


def test_anything_else_keeps_its_traceback():
    result = _run("--name=x", body="1 / 0")
    assert result.returncode == 1
    assert "Traceback" in result.stderr and "ZeroDivisionError" in result.stderr


def test_an_interrupted_program_says_how_to_go_on():
    result = _run("--name=x", body="raise KeyboardInterrupt")
    assert (result.returncode, result.stderr.strip()) == (130, "Stopped. Go on.")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("ending", ["", "raise ValueError('lost. Received: 3')"])
def test_a_signal_ends_a_program_whatever_becomes_of_the_exception(name, code, ending):
    # C++ code may swallow what was raised in it, and fail in another way.
    body = f"""
    import os, signal
    try:
        os.kill(os.getpid(), signal.{name})
    except KeyboardInterrupt:
        {ending or "raise"}
"""
    result = _run("--name=x", body=body)
    assert (result.returncode, result.stderr.strip()) == (code, "Stopped. Go on."), result.stderr


def test_a_program_in_the_background_does_not_hear_ctrl_c():
    body = """
    import os, signal
    os.kill(os.getpid(), signal.SIGINT)
    print("done")
"""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + _PROGRAM.replace(
        '"""Does nothing much."""', ""
    ).format(body=body)
    result = subprocess.run(
        [sys.executable, "-c", code, "--name=x"], cwd=ROOT, capture_output=True, text=True
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
