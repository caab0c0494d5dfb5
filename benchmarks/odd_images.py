r"""Runs every descriptor with every matcher on images that nobody expects.

    python -m benchmarks.odd_images --constellation=parts.npz --litert=features.tflite
    python -m benchmarks.odd_images --features=sift,hog --matcher=hough,dsp

The images are drawn: two of 500x375, one with itself, constant ones, objects of one pixel, 32x32,
700x33, 6000x4000, and arrays with NaN or infinity. Flows must be finite and end inside the target,
arrays that are no numbers must be refused, and mutual neighbours must not depend on which image
comes first. Prints a table and writes it as `odd_images.md`, with all figures in `odd_images.json`;
the exit code is 1 where something was found. Each descriptor has a process of its own, so that its
memory is not that of others.
"""

import concurrent.futures
import dataclasses
import json
import multiprocessing
import pathlib
import sys

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from benchmarks import odd_pictures

# Without a file of their own; the others are given one.
_PLAIN = ("anchornet", "anchornet-class", "hc", "res2c", "res4c", "res5c")
_TAPS = "taps:resnet50/res4c"
_OWN_FILE = {"constellation-hc": "constellation", "constellation-bp": "constellation"}
# A cell per pixel is too many for comparing all with all; docs/performance.md says so.
_GRIDS = {"sift": 112, "constellation-bp": 56}


def _define_flags() -> None:
    flags.DEFINE_list("features", [], "Descriptors; all by default.")
    flags.DEFINE_list("matcher", [], "Matchers; all by default.")
    flags.DEFINE_list("pairs", [], "Of " + "; ".join(odd_pictures.NAMES) + "; all by default.")
    flags.DEFINE_string("constellation", "", "File for constellation-*, left out without one.")
    flags.DEFINE_string("litert", "", "features.tflite for litert, left out without one.")
    flags.DEFINE_string("output", "runs/odd_images", "Folder of the results.")


def _descriptors(constellation: str, litert: str) -> dict[str, dict]:
    """Returns the options of each descriptor, by name."""
    found: dict[str, dict] = {name: {} for name in (*_PLAIN, _TAPS)}
    found["anchornet-class"] = {"class_name": "bird"}
    if constellation:
        found |= {name: {option: constellation} for name, option in _OWN_FILE.items()}
    if litert:
        found["litert"] = {"file": litert}
    return found | {"sift": {}, "hog": {}}


def _chosen(names: list[str], known: list[str], what: str) -> list[str]:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"Expected {what} of {', '.join(known)}. Received: {', '.join(unknown)}")
    return [name for name in known if not names or name in names]


def _matchers(features: str, names: list[str]) -> dict[str, dict]:
    found: dict[str, dict] = {name: {} for name in names}
    if features in _GRIDS and "nearest" in found:
        found["nearest"] = {"grid_size": _GRIDS[features]}
    return found


def main(argv):
    program.flags_only(argv)
    given = flags.FLAGS
    descriptors = _descriptors(given.constellation, given.litert)
    features = _chosen(given.features, list(descriptors), "descriptors")
    matchers = _chosen(given.matcher, list(MATCHERS.names), "matchers")
    pairs = _chosen(given.pairs, list(odd_pictures.NAMES), "pairs")
    # Others import TensorFlow, each in a process of its own.
    from benchmarks import machine, odd_measures

    description = machine.describe()
    print(f"{machine.summary(description)}\n", flush=True)
    print("descriptor       matcher     500x375: s, peak    6000x4000: s, peak    slowest other")
    measures: list[odd_measures.Measure] = []
    for name in features:
        with concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn")
        ) as alone:
            work = alone.submit(
                odd_measures.measure, name, descriptors[name], _matchers(name, matchers), pairs
            )
            measures += work.result()
        _write(pathlib.Path(given.output), machine.summary(description), measures)
    wrong = [f"{one.features}, {one.matcher}: {text}" for one in measures for text in one.wrong]
    absent = sorted(
        {name for name in DESCRIPTORS.names if not name.endswith(":")} - set(descriptors)
    )
    print(f"\n{len(measures)} combinations, {len(pairs)} pairs each.", end=" ")
    print(f"Left out: {', '.join(absent)}." if absent else "", flush=True)
    if wrong:
        print(f"Found {len(wrong)}:\n" + "\n".join(f"- {text}" for text in wrong))
        sys.exit(1)
    print("Found nothing.")


def _write(folder: pathlib.Path, summary: str, measures: list) -> None:
    from anchornet_tf.utils import files

    folder.mkdir(parents=True, exist_ok=True)
    with files.atomic_file(folder / "odd_images.json") as temporary:
        contents = {"machine": summary, "measures": list(map(dataclasses.asdict, measures))}
        temporary.write_text(json.dumps(contents, indent=1) + "\n")
    with files.atomic_file(folder / "odd_images.md") as temporary:
        temporary.write_text(table(measures))


def table(measures: list) -> str:
    """Returns the figures as Markdown: a row per descriptor, a column per matcher."""
    matchers = list(dict.fromkeys(one.matcher for one in measures))
    parts = []
    for pair in (odd_pictures.USUAL, odd_pictures.LARGE):
        rows = [f"| {pair} | " + " | ".join(matchers) + " |", "|---" * (len(matchers) + 1) + "|"]
        for name in dict.fromkeys(one.features for one in measures):
            cells = {one.matcher: _cell(one, pair) for one in measures if one.features == name}
            rows.append(f"| `{name}` | " + " | ".join(cells[each] for each in matchers) + " |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _cell(one, pair: str) -> str:
    if pair not in one.seconds:
        return ""
    return f"{one.seconds[pair]:.2g} s, {one.megabytes[pair]:,.0f} MB"


if __name__ == "__main__":
    _define_flags()
    program.run(main)
