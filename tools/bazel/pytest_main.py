"""Runs pytest on one file: the main program of every py_test."""

import sys

import pytest


def main() -> int:
    """Returns pytest's exit code, 0 where all tests of the file were deselected."""
    code = pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]])
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code


if __name__ == "__main__":
    sys.exit(main())
