r"""Measures speed and memory against their goals, as ratios inside one run.

    python -m benchmarks
    python -m benchmarks --only=features,dsp_20 --repeats=15
    python -m benchmarks --data_dir=photographs --output=runs/photographs

Prints a table and writes `bench.json` (every sample, and the machine), `bench.md` (the table as
Markdown) and `growth.png` into --output, anew after each part. The unit "mm" is the time of one
2048x2048 float32 NumPy matrix product, measured again beside each row. docs/performance.md says
what the rows mean.
"""

import time

from absl import flags

from anchornet_tf.command_line import program
from benchmarks import catalogue
from benchmarks.settings import Settings, data_of

_DEFAULT = Settings()

_ONLY = flags.DEFINE_list(
    "only",
    [],
    "Groups or parts to measure; all by default. "
    + "; ".join(f"{group}: {', '.join(parts)}" for group, parts in catalogue.GROUPS.items()),
)
_REPEATS = flags.DEFINE_integer("repeats", _DEFAULT.repeats, "Rounds that count.", 1)
_OUTPUT = flags.DEFINE_string("output", "runs/bench", "Folder of the results.")
_DATA_DIR = flags.DEFINE_string(
    "data_dir",
    "",
    "Images for the input pipeline: a folder with one sub-folder per class, or a manifest (.csv). "
    "Default: parts_world.",
)
_QUICK = flags.DEFINE_bool(
    "quick", False, "Tiny sizes, to see that everything runs; the figures say nothing."
)


def main(argv):
    program.flags_only(argv)
    chosen = catalogue.choose(_ONLY.value)
    settings = Settings(_REPEATS.value, _QUICK.value, data_of(_DATA_DIR.value))
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from benchmarks import machine, report
    from benchmarks.results import Results

    description = machine.describe()
    print(f"{machine.summary(description)}\n", flush=True)
    results, written = Results(), []
    for group, part in chosen:
        start = time.monotonic()
        found = catalogue.measure(group, part, settings)
        print(f"{group} / {part}, {time.monotonic() - start:.0f} s")
        print(report.text(found) + "\n", flush=True)
        results = Results(results.rows + found.rows, results.curves + found.curves)
        # After each part, so that a run that is stopped leaves what it has measured.
        written = report.write(results, description, settings, _OUTPUT.value)
    missed = [row.name for row in results.rows if row.verdict == "not met"]
    met = sum(row.verdict == "met" for row in results.rows)
    print(
        f"{met} goals met, {len(missed)} not" + "".join(f"\n  not met: {name}" for name in missed)
    )
    print("Written: " + ", ".join(map(str, written)))


if __name__ == "__main__":
    program.run(main)
