"""The documents, taken apart: their commands, their code spans, and what programs say of flags."""

import functools
import pathlib
import re
import shlex
import subprocess
import sys

from tests.repository.tree import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") + tuple(
    sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
)

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    """Returns the text of a page, by its path in the repository."""
    return (ROOT / page).read_text()


def blocks(text: str, language: str = "") -> list[str]:
    """Returns the fenced blocks of a language; those of commands have none."""
    return [body for found, body in _FENCED.findall(text) if found == language]


def steps(text: str) -> list[list[str]]:
    """Returns what to give Python, in order: the code of snippets, and the modules of commands."""
    found = []
    for language, body in _FENCED.findall(text):
        if language == "python":
            found.append(["-c", body])
        elif not language:
            lines = body.replace("\\\n", " ").splitlines()
            found += [shlex.split(line)[1:] for line in lines if line.startswith("python -m ")]
    return found


def prose(text: str) -> str:
    """Returns a text without its fenced blocks."""
    return _FENCED.sub("", text)


def spans(text: str) -> list[str]:
    """Returns what stands in backticks outside the fenced blocks, on one line each."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text))]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Returns the module and the flags of every `python -m` in blocks of commands and in spans."""
    lines = "\n".join([*blocks(text), *spans(text)]).replace("\\\n", " ")
    # A command that several lines share is written once, as W="...".
    shared = re.search(r'^W="(.*)"$', lines, re.MULTILINE)
    if shared:
        lines = lines.replace("$W", shared[1])
    return [
        (module, re.findall(r"--([a-z_]+)", rest))
        for module, rest in re.findall(r"python -m ([a-z0-9_.]+)([^#\n]*)", lines)
    ]


@functools.cache
def flags_of(module: str) -> frozenset[str]:
    """Returns the flags that a program lists when asked for help."""
    asked = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    listed = set()
    for negated, name in re.findall(r"^ +-(?:\w,)?-(\[no\])?(\w+)[: ]", asked.stdout, re.MULTILINE):
        listed |= {name, f"no{name}"} if negated else {name}
    return frozenset(listed | {"help"})


def resolved(path: str, page: str) -> pathlib.Path | None:
    """Returns the file or folder that a page means by a path, or None if there is none."""
    for base in (ROOT, ROOT / "anchornet_tf", (ROOT / page).parent):
        if (base / path).exists():
            return base / path
    return None
