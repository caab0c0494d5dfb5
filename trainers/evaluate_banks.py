"""Measures trained banks against the hypercolumn: transfer of keypoints by nearest neighbours, held-out images.

    python -m trainers.evaluate_banks --run=runs/stage1-all
    python -m trainers.evaluate_banks --run=runs/stage1-motorbike --benchmark=pf_willow --data_dir=PF-WILLOW

PCK at 0.05 and 0.1, the mean over ordered pairs of a class's images; errors are relative to the object's box
on parts_world and to the box of the target's keypoints on PF-WILLOW.
"""

import pathlib

from absl import app, flags

_RUN = flags.DEFINE_string("run", None, "Folder of a stage 1 run.", required=True)
_BENCHMARK = flags.DEFINE_enum(
    "benchmark", "parts_world", ["parts_world", "pf_willow"], "Images with keypoints."
)
_DATA_DIR = flags.DEFINE_string("data_dir", "", "Folder of PF-WILLOW.")
_BASELINE = flags.DEFINE_bool("baseline", True, "Measure the hypercolumn too.")


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import json

    import numpy as np

    from anchornet_tf import files, pca
    from anchornet_tf.evaluation import keypoint_sets
    from anchornet_tf.evaluation.keypoint_transfer import nearest_keypoint_pck
    from anchornet_tf.features.deep import DeepDescriptor
    from anchornet_tf.models.tap_extractor import TapExtractor
    from trainers import config as configs

    run = pathlib.Path(_RUN.value)
    config = configs.load(configs.Stage1Config, run)
    extractor = TapExtractor(config.weights, pca.HypercolumnPCA.load(run / "pca.npz"))
    if _BENCHMARK.value == "pf_willow":
        sets = keypoint_sets.pf_willow(_DATA_DIR.value)
    else:
        sets = keypoint_sets.parts_world(config.classes)
    hypercolumn = None
    if _BASELINE.value:
        hypercolumn = DeepDescriptor("hc", config.image_size, extractor=extractor)
    results = {}
    print(
        f"{'class':<12} {'set':<18} {'pairs':>5}  {'bank 0.05 / 0.1':>16}"
        + "  hypercolumn" * _BASELINE.value
    )
    for (class_name, set_name), images in sets.items():
        if class_name not in config.classes:
            continue
        bank = run / "banks" / f"{class_name}.npz"
        descriptors = {
            "bank": DeepDescriptor("anchornet-class", config.image_size, bank, extractor)
        }
        if hypercolumn is not None:
            descriptors["hypercolumn"] = hypercolumn
        row = {}
        for name, descriptor in descriptors.items():
            scores = nearest_keypoint_pck(images, descriptor([image.image for image in images]))
            row[name] = scores.mean(axis=0).tolist()
        results[set_name] = {"class": class_name, "pairs": len(scores), **row}
        shown = "  ".join(f"{tight:>8.3f} / {loose:.3f}" for tight, loose in row.values())
        print(f"{class_name:<12} {set_name:<18} {len(scores):>5}  {shown}", flush=True)
    if not results:
        raise ValueError(
            f"Expected images of the run's classes. Received: {', '.join(config.classes)}"
        )
    for name in sorted({result["class"] for result in results.values()}):
        rows = [result for result in results.values() if result["class"] == name]
        means = {
            kind: np.mean([row[kind] for row in rows], axis=0)
            for kind in rows[0]
            if kind in ("bank", "hypercolumn")
        }
        print(
            f"{name:<12} {'mean of sets':<18}        "
            + "  ".join(f"{m[0]:>8.3f} / {m[1]:.3f}" for m in means.values())
        )
    if _BASELINE.value:
        wins = sum(result["bank"][1] > result["hypercolumn"][1] for result in results.values())
        print(f"The bank beats the hypercolumn at 0.1 in {wins} of {len(results)} sets.")
    output = run / f"nearest_pck_{_BENCHMARK.value}.json"
    with files.atomic_file(output) as temporary:
        temporary.write_text(json.dumps(results, indent=2) + "\n")
    print(f"Wrote {output}")


if __name__ == "__main__":
    app.run(main)
