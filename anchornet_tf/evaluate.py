r"""Runs the published protocols: every descriptor with every matcher on a benchmark.

    python -m anchornet_tf.evaluate --features=hc --matcher=none,nearest --limit=40
    python -m anchornet_tf.evaluate --benchmark=pf_willow --data_dir=PF-WILLOW \
        --features=hog --matcher=nam,lom
    python -m anchornet_tf.evaluate --benchmark=pascal_parts --data_dir=FLOWWEB \
        --features=hc,sift --matcher=none,dsp
    python -m anchornet_tf.evaluate --benchmark=pf_willow --data_dir=PF-WILLOW \
        --features=hc,anchornet-class --banks=runs/stage1-all/banks --matcher=nearest,hough

Benchmarks are read from the folders that their makers publish (docs/protocols.md); parts_world is
embedded. Finished pairs are kept in --output: the same command goes on where it was stopped. The
folder also gets the tables (table.md, table.csv, results.json with the values of every pair),
plots, and pictures of the best, median and worst pairs.
"""

import shlex
import sys

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.runner.config import Evaluation
from anchornet_tf.utils.named_options import parse_option

_EVALUATION = config_flags.define(Evaluation)
_OPTION = flags.DEFINE_multi_string(
    "option",
    [],
    "NAME=VALUE, an option of the descriptors or matchers that take it, e.g. "
    "--option=lom_variant=published; --option=hough.grid_size=40 reaches hough alone. May be "
    "repeated.",
)


def main(argv):
    program.flags_only(argv)
    evaluation = _EVALUATION.config(options=dict(parse_option(text) for text in _OPTION.value))
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.runner import report
    from anchornet_tf.runner.evaluation import evaluate

    print(report.terminal(evaluate(evaluation)))
    print(f"Tables, plots and pictures are in {evaluation.output_folder}")
    print(f"Next: {shlex.join(_next_command(evaluation))}")


def _command(**changes) -> list[str]:
    """Returns this command, with some flags changed or, by None, left out."""
    given = {
        flag.name: flag.value
        for flag in flags.FLAGS.get_flags_for_module(sys.modules[__name__])
        if flag.present
    }
    command = ["python", "-m", "anchornet_tf.evaluate"]
    for name, value in (given | changes).items():
        if name == "option" and value:
            command += [f"--option={text}" for text in value]
        elif isinstance(value, bool):
            command.append(f"--{name}" if value else f"--no{name}")
        elif value is not None:
            command.append(f"--{name}={','.join(value) if isinstance(value, list) else value}")
    return command


def _next_command(evaluation: Evaluation) -> list[str]:
    """Suggests all pairs after a quick look, the other half after tuning, else another matcher."""
    if evaluation.limit:
        return _command(limit=None)
    if evaluation.subset == "tune":
        return _command(subset="report", output=None)
    matchers = list(evaluation.matchers)
    tried = [name for name in ("nearest", "hough", "dsp", "lom") if name not in matchers]
    return _command(matcher=[*matchers, *tried[:1]], limit=None if tried else 40)


if __name__ == "__main__":
    program.run(main, interrupted="Stopped. Finished pairs are kept: the same command goes on.")
