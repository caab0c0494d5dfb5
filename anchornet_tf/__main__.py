"""The command `anchornet`: all programs under one name.

    anchornet match a.jpg b.jpg        # as python -m anchornet_tf.match a.jpg b.jpg
    anchornet train stage1 --class=bird

It imports nothing before it knows which program is meant, so `anchornet --help` answers at once.
`python -m anchornet_tf` is the same command.
"""

import importlib.util
import os
import pathlib
import runpy
import sys
from typing import NamedTuple


class _Program(NamedTuple):
    """A program: the module that `python -m` runs, and what it does in one line."""

    module: str
    summary: str


# Written here because the docstrings of the modules could only be had by importing them; a test
# compares the modules with those that exist.
PROGRAMS = {
    "match": _Program("anchornet_tf.match", "match two images and draw the correspondences"),
    "transfer": _Program("anchornet_tf.transfer", "carry annotations to a folder of images"),
    "align": _Program("anchornet_tf.align", "make the flows among all images of a set agree"),
    "studio": _Program("anchornet_tf.studio", "look at matches and annotate, on a page"),
    "evaluate": _Program("anchornet_tf.evaluate", "measure methods on a benchmark"),
    "reproduce_paper": _Program("anchornet_tf.reproduce_paper", "fill the tables of the paper"),
    "corpus describe": _Program("anchornet_tf.corpus.describe", "describe many images with Beam"),
    "corpus index": _Program("anchornet_tf.corpus.index", "index a corpus for searching"),
    "corpus search": _Program("anchornet_tf.corpus.search", "find where else a part is"),
    "corpus match": _Program("anchornet_tf.corpus.match", "match pairs of a corpus with Beam"),
    "corpus fit_pca": _Program("anchornet_tf.corpus.fit_pca", "fit_pca with Beam"),
    "corpus fit_equalizers": _Program(
        "anchornet_tf.corpus.fit_equalizers", "even out descriptors over a corpus"
    ),
    "train stage1": _Program("trainers.stage1", "train the anchor banks of classes"),
    "train stage2": _Program("trainers.stage2", "join banks into a class-agnostic model"),
    "train reproduce": _Program("trainers.reproduce", "both stages, the recipe of the preset"),
    "train demo": _Program("trainers.demo", "both stages on embedded data, in ten minutes"),
    "train fit_pca": _Program("trainers.fit_pca", "fit the projections of the hypercolumn"),
    "train fit_confidence": _Program("trainers.fit_confidence", "fit how sure matches are"),
    "train constellation": _Program("trainers.constellation", "find part-like channels"),
    "export saved_model": _Program("export.saved_model", "for TensorFlow, Keras, servers, C++"),
    "export onnx": _Program("export.onnx", "for ONNX Runtime"),
    "export litert": _Program("export.litert", "for telephones and small boards"),
    "export web": _Program("export.web", "a page that matches in the browser, without a server"),
    "export serving": _Program("export.serving", "a bundle for TensorFlow Serving"),
    "export client": _Program("export.client", "ask a server"),
    "measure align": _Program("anchornet_tf.measure_align", "what alignment gains"),
    "measure confidence": _Program("anchornet_tf.measure_confidence", "how far it can be trusted"),
    "measure limits": _Program(
        "anchornet_tf.measure_limits", "what keeps matches from being right"
    ),
    "measure transfer": _Program("anchornet_tf.measure_transfer", "how well marks are carried"),
    "measure search": _Program("anchornet_tf.corpus.measure_search", "how often parts are found"),
    "measure index": _Program("anchornet_tf.corpus.measure_index", "recall and speed at scale"),
    "measure throughput": _Program(
        "anchornet_tf.corpus.measure_throughput", "what Beam costs against a plain loop"
    ),
    "measure recovery": _Program(
        "anchornet_tf.corpus.measure_recovery", "what a corpus loses when its program is killed"
    ),
    "measure quantization": _Program(
        "anchornet_tf.corpus.measure_quantization", "what few bytes cost"
    ),
}
_HELP = ("help", "--help", "-h", "-help")


def main(arguments: list[str] | None = None) -> None:
    """Runs the program that the first one or two arguments name, with those that follow.

    Args:
        arguments: What was written after `anchornet`; None for the arguments of the process.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    for words in (1, 2):
        name = " ".join(arguments[:words])
        if name in PROGRAMS and len(arguments) >= words:
            _run(PROGRAMS[name].module, arguments[words:])
            return
    if not arguments or arguments[0] in _HELP:
        print(_listing(PROGRAMS))
        return
    if arguments[0] == "--version":
        import anchornet_tf

        print(f"anchornet_tf {anchornet_tf.__version__}")
        return
    group = {name: each for name, each in PROGRAMS.items() if name.split()[0] == arguments[0]}
    if group and (len(arguments) == 1 or arguments[1] in _HELP):
        print(_listing(group))
        return
    print(f"Error: {_expected(group, arguments[:2])}", file=sys.stderr)
    sys.exit(1)


def _expected(group: dict[str, _Program], words: list[str]) -> str:
    """Says which programs were meant, perhaps: those of a group, or those with names like it."""
    import difflib

    received = f"Received: {' '.join(words)}"
    if group:
        return f"Expected one of {', '.join(group)}. {received}"
    # `stage1` is enough to find `train stage1`, and `corpus_search` to find `corpus search`.
    forms = {name: (name, name.split()[-1], name.replace(" ", "_")) for name in PROGRAMS}
    close = difflib.get_close_matches(words[0], [form for each in forms.values() for form in each])
    found = [name for form in close for name in PROGRAMS if form in forms[name]]
    hint = f", such as {', '.join(dict.fromkeys(found))}" if found else ""
    return f"Expected a program that `anchornet --help` lists{hint}. {received}"


def _run(module: str, arguments: list[str]) -> None:
    """Does what `python -m module` does."""
    _prefer_ours(module.split(".")[0])
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _prefer_ours(package: str) -> None:
    """Sees to it that a package is the one that was installed with this file.

    `trainers` and `export` are names that others may use too, for packages or for folders.
    """
    home = pathlib.Path(__file__).resolve().parents[1]
    found = importlib.util.find_spec(package)
    origin = None if found is None else found.origin
    if origin is None or pathlib.Path(origin).resolve().parents[1] != home:
        sys.path.insert(0, str(home))


def _listing(programs: dict[str, _Program]) -> str:
    width = max(map(len, programs))
    lines = [f"  anchornet {name:{width}}  {each.summary}" for name, each in programs.items()]
    last = "Each takes --help. `python -m MODULE` runs the same programs."
    return "\n".join(["Dense semantic matching.", "", *lines, "", last])


def command() -> None:
    """What the shell calls: `main`, which ends quietly when `head` has read enough."""
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    command()
