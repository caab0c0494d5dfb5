r"""Measures what 64 directions of 8 bits cost: PCK with descriptors as they are and as in shards.

    python -m anchornet_tf.corpus.measure_quantization --benchmark=pf_willow --data_dir=PF-WILLOW
    python -m anchornet_tf.corpus.measure_quantization --benchmark=parts_world --limit=60

Matches the same pairs twice, by the class-agnostic descriptor of 256 float32 numbers and by what
corpus.describe --dense keeps of it, and prints PCK by the protocol of the benchmark.
"""

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.datasets.annotated.registry import BENCHMARKS

_BENCHMARK = flags.DEFINE_enum("benchmark", "parts_world", BENCHMARKS.names, "Which pairs.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
_LIMIT = flags.DEFINE_integer("limit", 200, "So many random pairs; 0 for all.", 0)
_MODEL = flags.DEFINE_string("model", "voc20", "Name of a preset, or folder of an AnchorNet.")
_MATCHER = flags.DEFINE_list("matcher", ["nearest", "hough"], "Matchers that work on a grid.")


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import numpy as np
    import tqdm

    from anchornet_tf.corpus.describer import AnchorDescriber
    from anchornet_tf.corpus.quantization import dequantize
    from anchornet_tf.features.feature_map import FeatureMap
    from anchornet_tf.features.registry import get_descriptor
    from anchornet_tf.matchers.registry import get_matcher
    from anchornet_tf.metrics.pck import correct_points, reference_length

    benchmark = BENCHMARKS.create(_BENCHMARK.value, data_dir=_DATA_DIR.value)
    if _LIMIT.value:
        benchmark = benchmark.limited(_LIMIT.value, seed=0)
    describe = AnchorDescriber(_MODEL.value, dense=True)
    whole = get_descriptor("anchornet", model=_MODEL.value)
    maps: dict[str, dict] = {"256 float32": {}, "64 int8": {}}
    for key, annotation in tqdm.tqdm(benchmark.annotations().items(), unit=" images"):
        scaled = annotation.read_scaled()
        (kept,) = describe([scaled])
        decoded = dequantize(kept.dense.values, kept.dense.scales)
        maps["64 int8"][key] = FeatureMap(decoded, scaled.original_size)
        exact = whole([scaled.pixels])[0].values
        maps["256 float32"][key] = FeatureMap(exact, scaled.original_size)
    protocol = benchmark.protocol
    for name in _MATCHER.value:
        matcher = get_matcher(name)
        for kind, own in maps.items():
            groups: dict[str, list] = {}
            for pair in benchmark.pairs:
                points, true = pair.shared_points()
                if not len(points):
                    continue
                flow = matcher(own[pair.source.image_key], own[pair.target.image_key])
                moved = flow.transfer_points(points, rounded=True)
                errors = np.nanmin(np.linalg.norm(true - moved[:, np.newaxis], axis=-1), axis=1)
                length = reference_length(
                    protocol.normalize_by[0],
                    box=pair.target.box,
                    points=pair.target.visible_points,
                )
                right = correct_points(errors, length, protocol.thresholds, protocol.inclusive)
                groups.setdefault(pair.group, []).append(right.mean(axis=0))
            scores = np.mean([np.mean(each, axis=0) for each in groups.values()], axis=0)
            texts = [
                f"{at:g}: {score:.3f}"
                for at, score in zip(protocol.thresholds, scores, strict=True)
            ]
            count = sum(map(len, groups.values()))
            print(f"{name:8} {kind:12} PCK at {', '.join(texts)} ({count} pairs)", flush=True)


if __name__ == "__main__":
    program.run(main)
