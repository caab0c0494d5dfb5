"""The repository's root, for tests that look at the repository itself."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
