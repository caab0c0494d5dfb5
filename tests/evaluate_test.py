"""The command line, in processes of its own: its flags have names that other commands use too."""

import json
import subprocess
import sys

import pytest

from anchornet_tf.datasets.annotated.registry import open_benchmark
from anchornet_tf.runner.evaluation import Evaluation, evaluate
from tests.datasets.annotated import folders
from tests.shared_data import shared_path


def _run(*arguments, cwd):
    command = [sys.executable, "-m", "anchornet_tf.evaluate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_help_needs_no_tensorflow():
    program = (
        "import sys, runpy\n"
        "sys.argv = ['evaluate', '--help']\n"
        "try:\n"
        "    runpy.run_module('anchornet_tf.evaluate', run_name='__main__')\n"
        "finally:\n"
        "    assert 'tensorflow' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "--benchmark" in result.stdout and "<pf_willow|pf_pascal" in result.stdout
    assert "AssertionError" not in result.stderr


def test_a_run_prints_the_table_and_the_next_command(tmp_path):
    folder = folders.flowweb(tmp_path / "data data")
    flags = ["--benchmark=pascal_parts", f"--data_dir={folder}", "--matcher=none", "--output=out"]
    result = _run(*flags, "--limit=6", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    heading = "pascal_parts: 6 pairs, mean over 3 groups, PCK per image, normalised by image"
    assert lines[0].startswith(heading)
    assert lines[1] == "Note: 6 of 10 pairs (limit=6, seed=0)."
    assert lines[-2] == "Tables, plots and pictures are in out"
    next_command = "Next: python -m anchornet_tf.evaluate --benchmark=pascal_parts"
    assert lines[-1].startswith(next_command) and "'--data_dir=" in lines[-1]
    assert "--limit" not in lines[-1]
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["matcher"] for row in stored["rows"]] == ["none"]


def test_mistakes_end_in_one_line(tmp_path):
    result = _run("--benchmark=pf_willow", "--matcher=none", cwd=tmp_path)
    assert result.returncode == 1
    (line,) = [text for text in result.stderr.splitlines() if text.startswith("Error: ")]
    assert "10 sets of 10 images" in line and line.endswith("Received: no data_dir")


@pytest.mark.slow
def test_flowweb_cars_without_a_flow(tmp_path):
    """First 20 images of the set; the published program gets 0.577 and 0.197 on 20 cars."""
    folder = shared_path("data/flowweb-car")
    for number in range(1, 21):
        for suffix in ("jpg", "mat"):
            name = f"{number:03d}.{suffix}"
            (tmp_path / "car").mkdir(exist_ok=True)
            (tmp_path / "car" / name).symlink_to(folder / name)
    found = evaluate(
        Evaluation(
            "pascal_parts",
            tmp_path,
            ("sift",),
            ("none",),
            tmp_path / "out",
            num_resamples=0,
            with_pictures=False,
        ),
        progress=False,
    )
    figures = found.rows[0].figures
    assert len(found.benchmark.pairs) == 380
    assert figures["IoU"].value == pytest.approx(_plain_iou(found.benchmark), abs=1e-12)
    assert figures["IoU"].value == pytest.approx(0.577, abs=0.06)
    assert figures["PCK@0.05"].value == pytest.approx(0.197, abs=0.06)


def _plain_iou(benchmark) -> float:
    """The protocol written out for the flow that is zero."""
    total = 0.0
    for pair in benchmark.pairs:
        source, target = pair.source.read_masks().parts, pair.target.read_masks().parts
        names = set(source) & set(target)
        inter = sum((source[name] & target[name]).sum() for name in names)
        union = sum((source[name] | target[name]).sum() for name in names)
        total += inter / union if union else 0.0
    return total / len(benchmark.pairs)


@pytest.mark.slow
def test_willow_regions_with_whitened_hog(tmp_path):
    """A few pairs: the local matcher beats appearance alone, both far above chance."""
    folder = shared_path("data/pf-willow")
    assert len(open_benchmark("pf_willow", folder).pairs) == 900
    found = evaluate(
        Evaluation(
            "pf_willow",
            folder,
            ("hog",),
            ("nam", "lom"),
            tmp_path,
            limit=10,
            num_boxes=300,
            measures=("regions",),
            with_pictures=False,
        ),
        progress=False,
    )
    appearance, local = (row.figures["AuC PCR"].value for row in found.rows)
    assert 0.15 < appearance < local < 0.6
