r"""Fills the tables of the AnchorNet paper: our figures beside the paper's, in its layout.

    python -m anchornet_tf.reproduce_paper --quick
    python -m anchornet_tf.reproduce_paper --tables=1,2 --pairs=10
    python -m anchornet_tf.reproduce_paper --data=pf_willow --data_dir=PF-WILLOW
    python -m anchornet_tf.reproduce_paper --data=pascal_parts --data_dir=FLOWWEB --rows='dsp+*'
    python -m anchornet_tf.reproduce_paper --banks_without_diversity=runs/no-div/banks \
        --constellations=runs/parts/constellations

With nothing else it fills all five tables on parts_world, the embedded set of drawings: 1, part IoU
of the twenty classes; 2, PCK of the rigid ones; 3, matching of regions; 4, pairs of two classes; 5,
eyes and feet of animals. Each is written as table_N.md, table_N.csv and table_N.png, with
intervals, the order of the rows compared with the paper's, and why figures are missing: one row
needs banks trained without L_Div, four need files of trainers.constellation.

On two cores, a pair of drawings takes about 1.3 s with either matcher. Tables 1 to 3, which share
pairs, features, boxes and flows, take about two hours with 20 pairs per class; FlowWeb's row takes
another, table 4 half an hour, table 5 an hour and a half. --quick takes about ten minutes.
Finished pairs are kept in --output: the same command goes on where it was stopped, and more
--pairs go on from fewer.
"""

import shlex
import sys

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.runner.paper.config import PaperRun

_RUN = config_flags.define(PaperRun)


def main(argv):
    program.flags_only(argv)
    run = _RUN.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.runner.paper.run import reproduce
    from anchornet_tf.runner.paper.writing import terminal

    for table in reproduce(run):
        print(terminal(table))
    names = ", ".join(f"table_{number}" for number in run.numbers)
    print(f"{names} (.md, .csv, .png) are in {run.output_folder}")
    print(f"Next: {shlex.join(_next_command(run))}")


def _next_command(run: PaperRun) -> list[str]:
    """Suggests all of it after a quick look, else twice the pairs."""
    changes = {"quick": None} if run.quick else {"pairs": 2 * run.pairs if run.pairs else None}
    given = {
        flag.name: flag.value
        for flag in flags.FLAGS.get_flags_for_module(sys.modules[__name__])
        if flag.present
    }
    command = ["python", "-m", "anchornet_tf.reproduce_paper"]
    for name, value in (given | changes).items():
        if isinstance(value, bool):
            command.append(f"--{name}" if value else f"--no{name}")
        elif value is not None:
            command.append(f"--{name}={','.join(value) if isinstance(value, list) else value}")
    return command


if __name__ == "__main__":
    program.run(main, interrupted="Stopped. Finished pairs are kept: the same command goes on.")
