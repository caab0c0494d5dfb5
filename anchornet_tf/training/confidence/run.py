"""Fits the confidence of a descriptor and writes it where `Matcher` finds it."""

import json
import pathlib

from anchornet_tf.datasets.annotated import embedded, pf_willow
from anchornet_tf.matchers.confidence import Confidence
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.models import presets
from anchornet_tf.training.confidence.config import ConfidenceConfig
from anchornet_tf.training.confidence.examples import (
    DescribedPairs,
    cut_out_cells,
    probe_examples,
)
from anchornet_tf.training.confidence.fit import fit_calibration, fit_probe
from anchornet_tf.utils import files

_CUT_OUTS_PER_CLASS = 6


def run(config: ConfidenceConfig) -> tuple[Confidence, pathlib.Path]:
    """Fits the probe and the calibration of each matcher.

    Returns:
        The confidence and the file that it was written to.

    Raises:
        ValueError: If PF-WILLOW is not where `data_dir` says, or there is nowhere to write to.
    """
    output = _output(config)
    options = dict(config.options) | ({} if config.model is None else {"model": config.model})
    describing = Matcher(config.features, "none", confidence=None, **options)
    benchmarks = [
        embedded.read(num_pairs=config.pairs_per_class, seed=config.seed, pictures="train")
    ]
    if config.data_dir is not None:
        willow = pf_willow.read(config.data_dir, "tune")
        benchmarks.append(willow.limited(config.limit, config.seed) if config.limit else willow)
    sets = [DescribedPairs(benchmark, describing) for benchmark in benchmarks]
    kept = _kept(output)
    if kept is not None:
        # The calibrations that stay were fitted with this probe.
        probe = kept.probe
    else:
        cells = [probe_examples(each.object_cells()) for each in sets]
        cells.append(probe_examples(cut_out_cells(describing, _CUT_OUTS_PER_CLASS)))
        probe = fit_probe(cells)
    calibrations = {} if kept is None else dict(kept.calibrations)
    for name in config.matchers:
        matcher = Matcher(describing.descriptor, name, confidence=None)
        calibrations[name] = fit_calibration(
            [each.examples(matcher, probe, config.seed) for each in sets]
        )
    fitted = Confidence(calibrations, probe)
    with files.atomic_file(output) as temporary:
        temporary.write_text(json.dumps(fitted.contents()) + "\n")
    return fitted, output


def _output(config: ConfidenceConfig) -> pathlib.Path:
    if config.output is not None:
        return pathlib.Path(config.output)
    if config.features == "anchornet" and config.model is not None:
        return presets.find(config.model) / "confidence.json"
    raise ValueError(
        "Expected --output=FILE, or --model=FOLDER with --features=anchornet. Received: neither"
    )


def _kept(output: pathlib.Path) -> Confidence | None:
    """Returns what an earlier fit wrote there."""
    if not output.is_file():
        return None
    return Confidence.from_contents(json.loads(output.read_text()))
