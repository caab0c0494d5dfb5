"""What has to be run for some rows of a set of pairs, and why some of it cannot be."""

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Mapping

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.models import presets
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.paper import methods
from anchornet_tf.runner.paper.config import TABLES_OF, PaperRun
from anchornet_tf.runner.paper.methods import Method
from anchornet_tf.runner.paper.pair_sets import ACROSS, FAMILIES, WITHIN, PairSet
from anchornet_tf.tasks.align import FEWEST_IMAGES
from anchornet_tf.utils.safe_names import safe_name

BOX_MATCHERS = ("nam", "lom")
_OF_FLOWS = {WITHIN: ("parts", "pck"), ACROSS: ("parts",), FAMILIES: ("pck",)}
_REGION_TABLE = 3
_TITLES = {WITHIN: "pairs of one class", ACROSS: "pairs of two classes", FAMILIES: "animals"}


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """One descriptor with all matchers of its rows, so that features are computed once.

    Attributes:
        pairs: PairSet.
        rows: The methods that it fills, all of one descriptor.
        classes: The classes that it can be run on; None for all.
        options: Options of the descriptor.
        folder: Where its journals are kept, relative to those of all steps.
        measures: What is measured of each matcher, by its name.
    """

    pairs: PairSet
    rows: tuple[Method, ...]
    classes: tuple[str, ...] | None
    options: Mapping
    folder: pathlib.PurePath
    measures: Mapping[str, tuple[str, ...]]

    @property
    def features(self) -> str:
        """The name of the descriptor in this package; "" if there is none."""
        return self.rows[0].features

    @property
    def benchmark(self):
        """The pairs to match."""
        if self.classes is None:
            return self.pairs.benchmark
        return self.pairs.of_classes(self.classes)

    @property
    def title(self) -> str:
        """A few words for the terminal."""
        first = self.rows[0]
        name = first.descriptor_label if first.descriptor else first.label
        of = "" if self.classes is None or len(self.classes) > 1 else f", {self.classes[0]}"
        return f"{name}{of}, {_TITLES[self.pairs.name]}"


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The steps of one set of pairs.

    Attributes:
        steps: What to run, in order.
        reasons: Why rows cannot be run on classes: a reason by class, by the key of the method.
    """

    steps: list[Step]
    reasons: dict[str, dict[str, str]]


def make_plan(pairs: PairSet, rows: Iterable[Method], tables: Iterable[int], run: PaperRun) -> Plan:
    """Decides what to run for some rows.

    Args:
        pairs: PairSet.
        rows: The methods of all tables that need these pairs.
        tables: The numbers of those tables.
        run: PaperRun.
    """
    plan = Plan([], {})
    if pairs.benchmark is None:
        return plan
    # Regions cost little beside the flows, and table 3 may be asked for later.
    with_regions = _REGION_TABLE in TABLES_OF[run.data] and pairs.name == WITHIN
    with_flows = any(number != _REGION_TABLE for number in tables)
    by_descriptor: dict[str, list[Method]] = {}
    for method in rows:
        key = method.descriptor or method.key
        by_descriptor.setdefault(key, []).append(method)
    for alike in by_descriptor.values():
        measures = {}
        for method in alike:
            wanted = () if method.matcher == "nam" or not with_flows else _OF_FLOWS[pairs.name]
            if with_regions and method.matcher in BOX_MATCHERS:
                wanted = (*wanted, "regions")
            measures[method.matcher] = wanted
        _add_steps(plan, pairs, tuple(alike), measures, run)
    return plan


def _add_steps(plan: Plan, pairs: PairSet, alike, measures, run: PaperRun) -> None:
    descriptor = alike[0].descriptor
    there = list(dict.fromkeys(item.class_name for item in pairs.benchmark.annotations().values()))
    reasons = _reasons(alike[0], there, pairs, run)
    for method in alike:
        plan.reasons[method.key] = reasons
    able = [name for name in there if name not in reasons]
    folder = pathlib.PurePath(pairs.name)
    if descriptor in methods.OF_FILES:
        # A class on its own: the files of further classes do not make these results others.
        for name in able:
            path = _file(_given(descriptor, run), name)
            options = {"bank": path} if descriptor == methods.WITHOUT_DIVERSITY else {}
            options = options or {"constellation": path}
            place = folder / descriptor / safe_name(name)
            plan.steps.append(
                Step(pairs, alike, (name,), _with_batch(alike, options), place, measures)
            )
    elif able:
        classes = None if len(able) == len(there) else tuple(able)
        plan.steps.append(Step(pairs, alike, classes, _with_batch(alike, {}), folder, measures))


def _with_batch(alike, options: dict) -> dict:
    """Adds a batch of one image, whose numbers do not depend on what a stopped run has done."""
    features = alike[0].features
    if features and "batch_size" in DESCRIPTORS.options(features):
        return options | {"batch_size": 1}
    return options


def _reasons(method: Method, classes, pairs: PairSet, run: PaperRun) -> dict[str, str]:
    """Returns why a descriptor cannot be had, by class; empty if it can."""
    if method.key == methods.FLOW_WEB:
        return _too_small(pairs)
    if method.descriptor in methods.OF_FILES:
        return _without_files(method.descriptor, classes, run)
    if not method.features:
        return {}
    try:
        Descriptors(model=run.model).check(method.features, classes)
    except (FileNotFoundError, ValueError) as error:
        return dict.fromkeys(classes, " ".join(str(error).split()))
    if method.features == "anchornet-class":
        known = _classes_of(run.model or presets.DEFAULT)
        return {name: f"the model has no class {name}" for name in classes if name not in known}
    return {}


def _classes_of(model) -> list[str]:
    return json.loads((presets.find(model) / "config.json").read_text())["options"]["classes"]


def _too_small(pairs: PairSet) -> dict[str, str]:
    return {
        images[0].class_name: f"FlowWeb needs {FEWEST_IMAGES} images of a class"
        for images in pairs.image_sets()
        if len(images) < FEWEST_IMAGES
    }


def _given(descriptor: str, run: PaperRun):
    if descriptor == methods.WITHOUT_DIVERSITY:
        return run.banks_without_diversity
    return run.constellations


def _without_files(descriptor: str, classes, run: PaperRun) -> dict[str, str]:
    folder = _given(descriptor, run)
    if descriptor == methods.WITHOUT_DIVERSITY:
        what, flag, place = "banks without L_Div", "--banks_without_diversity", "banks"
        command = "trainers.stage1 --class=all --weight_div_a=0 --weight_div_b=0"
    else:
        what, flag, place = "files of Constellation", "--constellations", "constellations"
        command = "trainers.constellation --class=all"
    if not folder:
        return dict.fromkeys(
            classes,
            f"no {what}: make them with `python -m {command} --workdir=RUN` and pass "
            f"{flag}=RUN/{place}",
        )
    return {
        name: f"no file for class {name} in {flag}"
        for name in classes
        if not _file(folder, name).is_file()
    }


def _file(folder, class_name: str) -> pathlib.Path:
    return pathlib.Path(folder) / f"{safe_name(class_name)}.npz"
