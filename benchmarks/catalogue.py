"""The names of all benchmarks, known without importing what they measure."""

import dataclasses
import importlib
from collections.abc import Sequence

from benchmarks.results import Results
from benchmarks.settings import Settings

# A group is a module of this package, a part one of its functions. Parts of a group share what they
# prepare.
GROUPS = {
    "features": ("all_class_features", "class_features", "one_image", "xla"),
    "matching": ("one_pair", "thousand_pairs", "first_call"),
    "transfer": ("carried_points",),
    "align": ("whole_sets", "growth_images"),
    "studio": ("first_hover", "another_point", "hovering"),
    "stage1": ("one_step", "twenty_classes"),
    "input_pipeline": ("cached_taps", "live_trunk"),
    "dsp": ("dsp_20", "dsp_128", "dsp_256"),
    "proposal_flow": ("region_matching", "dense_flow"),
    "nearest": ("nearest_time", "nearest_memory"),
    "saved_model": ("from_bytes",),
    "onnx_runtime": ("onnx_features", "onnx_match"),
    "litert": ("litert_features", "litert_match"),
    "start_up": ("help_text", "imports"),
    "trunks": ("trunk_costs",),
    "growth": (
        "growth_image_size",
        "growth_filters",
        "growth_classes",
        "growth_boxes",
        "growth_pairs",
    ),
    "workers": ("local_workers",),
    "scale": ("ten_thousand_images", "described_once"),
}


def choose(only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Returns (group, part) of the named groups and parts, or of all, in the catalogue's order.

    Raises:
        ValueError: If a name is unknown.
    """
    every = [(group, part) for group, parts in GROUPS.items() for part in parts]
    known = {name for pair in every for name in pair}
    unknown = sorted(set(only) - known)
    if unknown:
        listing = "; ".join(f"{group}: {', '.join(parts)}" for group, parts in GROUPS.items())
        raise ValueError(
            f"Expected groups or parts of them ({listing}). Received: {', '.join(unknown)}"
        )
    return [pair for pair in every if not only or set(pair) & set(only)]


def measure(group: str, part: str, settings: Settings) -> Results:
    """Measures a part; figures of a quick run are held against no goal."""
    found = getattr(importlib.import_module(f"benchmarks.{group}"), part)(settings)
    if settings.quick:
        rows = tuple(dataclasses.replace(row, goal=None) for row in found.rows)
        found = dataclasses.replace(found, rows=rows)
    return found
