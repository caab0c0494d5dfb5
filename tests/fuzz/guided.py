"""Feeds a reader in Python with inputs that are guided by the code that they reach.

    python -m tests.fuzz.guided --target=journals --inputs=20000

Needs atheris (`pip install atheris`, Python 3.11), which is not among what `make setup` installs.
It starts from what `tests.fuzz` makes, and judges as that does; the exit code is 1 where something
was found.
"""

import argparse
import os
import pathlib
import sys
import tempfile

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.fuzz.judge import Judge
from tests.fuzz.targets import text_targets

TARGETS = ("COCO, by byte", "LabelMe, by byte", "CSV of points", "manifests", "journals")
_FIRST = 200
_LONGEST_INPUT = 4096


def main() -> int:
    """Feeds one target; returns the exit code where that cannot be done."""
    parser = argparse.ArgumentParser("tests.fuzz.guided", description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=TARGETS, default=TARGETS[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    values = parser.parse_args()
    try:
        import atheris
    except ImportError as error:
        print(f"Error: Expected atheris: pip install atheris. Received: {error}", file=sys.stderr)
        return 1
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-guided-"))
    (target,) = (each for each in text_targets() if each.name == values.target)
    judge = Judge(target.name, folder, names_file=target.names_file)
    corpus = folder / "corpus"
    corpus.mkdir()
    # What is imported in here reports which of its branches are taken.
    with atheris.instrument_imports(include=["anchornet_tf"]):
        strategy, prepare = target.make(folder)
        _write_first(strategy, prepare, corpus, values.seed)

    def one(raw: bytes) -> None:
        judge.hear(*prepare(raw))
        if judge.count >= values.inputs:
            print(
                f"{target.name}: {judge.count:,} inputs, {judge.taken:,} read, "
                f"{judge.refused:,} refused, found {len(judge.findings)}",
                flush=True,
            )
            # The loop around this function knows no end.
            os._exit(int(bool(judge.findings)))

    flags = [f"-seed={values.seed}", f"-max_len={_LONGEST_INPUT}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one)
    atheris.Fuzz()
    return 1


def _write_first(strategy, prepare, corpus: pathlib.Path, seed: int) -> None:
    """Writes the first inputs, and reads each, so that everything is imported."""

    @seeded(seed)
    @settings(
        max_examples=_FIRST,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def write(raw):
        (corpus / f"{len(list(corpus.iterdir())):04d}").write_bytes(raw)
        read, _, _ = prepare(raw)
        try:
            read()
        except (ValueError, OSError):
            return

    write()


if __name__ == "__main__":
    sys.exit(main())
