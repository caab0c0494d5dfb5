r"""Measures the search for parts: precision at ten of "the same part", on annotated images.

    python -m anchornet_tf.corpus.measure_search --benchmark=parts_world --images=8
    python -m anchornet_tf.corpus.measure_search --benchmark=pf_willow --data_dir=PF-WILLOW

Every visible keypoint is asked about; the ten images that answer best are right where their place
is within a tenth of the object's size of the keypoint of the same name. Compares the anchors'
places, described in 64 directions of 8 bits as in an index, with the hypercolumn and SIFT at the
same places and at as many on a regular grid; all are smoothed alike.
"""

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.corpus.config import BLUR
from anchornet_tf.datasets.annotated.registry import BENCHMARKS

_BENCHMARK = flags.DEFINE_enum("benchmark", "parts_world", BENCHMARKS.names, "Which images.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
_IMAGES = flags.DEFINE_integer("images", 0, "At most so many images of each group; 0 for all.", 0)
_MODEL = flags.DEFINE_string("model", "voc20", "Name of a preset, or folder of an AnchorNet.")
_PEAKS = flags.DEFINE_integer("peaks", 128, "Anchors of each image that are kept.", 1)
_BLUR = flags.DEFINE_float("blur", BLUR, "As that of corpus.describe, for all descriptors.", 0.0)
_PICTURES = flags.DEFINE_enum(
    "pictures", "test", ["test", "train"], "Which of parts_world; choices are made on train."
)
_FEATURES = flags.DEFINE_list("features", ["hc", "sift"], "Descriptors to compare with.")


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import numpy as np
    import tqdm

    from anchornet_tf.corpus import search_scores
    from anchornet_tf.corpus.describer import AnchorDescriber
    from anchornet_tf.corpus.quantization import dequantize
    from anchornet_tf.features.registry import get_descriptor

    options = {"pictures": _PICTURES.value} if _BENCHMARK.value == "parts_world" else {}
    benchmark = BENCHMARKS.create(_BENCHMARK.value, data_dir=_DATA_DIR.value, **options)
    images = search_scores.searched_images(benchmark, _IMAGES.value or None)
    describe = AnchorDescriber(_MODEL.value, _PEAKS.value, dense=True)
    others = {name: get_descriptor(name) for name in _FEATURES.value}
    methods: dict[str, list] = {}
    for image in tqdm.tqdm(images, unit=" images"):
        scaled = image.annotation.read_scaled()
        (found,) = describe([scaled])
        points = np.stack([found.places.x, found.places.y], axis=-1)
        grid = search_scores.regular_places(scaled.original_size, len(points))
        maps = {"anchornet": _map(dequantize(found.dense.values, found.dense.scales), scaled)}
        for name, descriptor in others.items():
            maps[name] = _map(descriptor([scaled.pixels])[0].values, scaled)
        for name, features in maps.items():
            for where, there in (("peaks", points), ("grid", grid)):
                known = search_scores.places_of_map(features, there)
                methods.setdefault(f"{name} at {where}", []).append(known)
    for name, described in methods.items():
        found = search_scores.precision_at_ten(images, described)
        places = np.mean([len(each.points) for each in described])
        print(
            f"{name:20} precision at 10: {found.at_ten:.3f}  (at best {found.at_best:.3f}; "
            f"{found.asked} keypoints, {len(images)} images, {places:.0f} places per image)",
            flush=True,
        )


def _map(values, scaled):
    from anchornet_tf.features.feature_map import FeatureMap
    from anchornet_tf.image import gaussian_smoothing

    # What a corpus keeps of places is smoothed before it is put into 8 bits, not after.
    smooth = gaussian_smoothing(values[None], _BLUR.value)[0].numpy()
    return FeatureMap(smooth, scaled.original_size)


if __name__ == "__main__":
    program.run(main)
