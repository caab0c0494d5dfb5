"""The whole recipe: which runs it makes of which settings, and that it goes on where it stopped."""

import concurrent.futures
import json
import threading

import pytest

from anchornet_tf.training.recipe import reproduce
from anchornet_tf.training.recipe_config import RecipeConfig
from anchornet_tf.training.stage1 import run as stage1_run
from anchornet_tf.training.stage2 import run as stage2_run
from tests.trainers.running import run
from tests.training import synthetic_joint


def test_help_reads():
    result = run("--help", program="reproduce")
    for part in ("--data", "--setting", "<short|paper>", "--[no]ablation"):
        assert part in result.stdout


@pytest.fixture
def calls(monkeypatch):
    made = []

    def train_stage1(config, workdir, strategy):
        made.append((workdir.name, config))

    def train_stage2(config, workdir, strategy):
        made.append((workdir.name, config))
        if not (workdir / "model").exists():
            model = synthetic_joint.small_model(synthetic_joint.small_config())
            model.save_to_preset(workdir / "model")

    monkeypatch.setattr(stage1_run, "train", train_stage1)
    monkeypatch.setattr(stage2_run, "train", train_stage2)
    return made


def test_two_at_once_make_one_model(calls, tmp_path, monkeypatch):
    train, both = stage2_run.train, threading.Barrier(2, timeout=60)
    one_trains = threading.Lock()

    def train_together(*arguments, **options):
        with one_trains:
            train(*arguments, **options)
        both.wait()

    monkeypatch.setattr(stage2_run, "train", train_together)
    recipe = RecipeConfig(workdir=str(tmp_path))
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        made = list(threads.map(reproduce, [recipe] * 2))
    assert made == [tmp_path / "model"] * 2


@pytest.mark.parametrize("setting", ["short", "paper"])
def test_runs_of_the_recipe(setting, calls, tmp_path):
    recipe = RecipeConfig(setting=setting, seed=4, workdir=str(tmp_path))
    for _ in range(2):
        assert reproduce(recipe) == tmp_path / "model"
    names, configurations = zip(*calls, strict=True)
    assert names == ("stage1", "without_diversity", "stage2") * 2, "the trainers know what is done"
    whole, ablation, joint = configurations[:3]
    assert whole.classes == ("all",) and whole.weight_div_b == 100
    assert set(ablation.classes) == {"bird", "bottle", "car", "motorbike"}
    assert ablation.weight_div_a == ablation.weight_div_b == 0
    assert ablation.steps == whole.steps and ablation.seed == whole.seed == joint.seed == 4
    assert joint.banks == (str(tmp_path / "stage1"),)
    if setting == "paper":
        assert (whole.steps * whole.batch_size, joint.steps * joint.batch_size) == (40_000, 12_000)
        assert not joint.freeze_trunk
    record = json.loads((tmp_path / "model" / "config.json").read_text())["record"]
    assert record["setting"] == setting and record["stage2"]["steps"] == joint.steps
