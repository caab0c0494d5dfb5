"""Both stages of training on the embedded data, a match of two held-out animals, an export.

    python -m trainers.demo --workdir=runs/demo

Needs no data and no download but the trunk's weights; takes about ten minutes on two cores. The
same command continues a demo that was stopped.
"""

import itertools
import math
import pathlib

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2.config import Stage2Config

_WORKDIR = flags.DEFINE_string("workdir", "runs/demo", "Folder of everything that the demo makes.")
_CLASSES = flags.DEFINE_list(
    "classes", ["bird", "cow"], "Classes of parts_world to train; the first one is shown."
)
_STEPS = flags.DEFINE_integer("steps", 120, "Steps of stage 1.", 1)
_JOINT_STEPS = flags.DEFINE_integer("joint_steps", 10, "Steps of stage 2.", 1)


def main(argv):
    program.flags_only(argv)
    workdir = pathlib.Path(_WORKDIR.value)
    banks = Stage1Config(
        classes=tuple(_CLASSES.value),
        steps=_STEPS.value,
        batch_size=8,
        views=1,
        learning_rate=0.2,
    )
    joint = Stage2Config(
        banks=(str(workdir / "stage1"),),
        steps=_JOINT_STEPS.value,
        batch_size=8,
        latent_filters=banks.num_filters,
        calibration_images=40,
        freeze_trunk=True,
    )
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import anchornet_tf
    from anchornet_tf.datasets import keypoint_sets
    from anchornet_tf.training.stage1 import run as stage1_run
    from anchornet_tf.training.stage2 import run as stage2_run

    stage1_run.train(banks, workdir / "stage1")
    stage2_run.train(joint, workdir / "stage2")
    name, folder = banks.classes[0], workdir / "stage2" / "model"
    model = anchornet_tf.load(folder)
    images = keypoint_sets.parts_world([name])[name, name]
    _measure(model, name, images)
    source = _match(model, images, workdir)
    exported = _export(model, folder, workdir / "exported", source)
    print(f"\nModel:    {folder}")
    print(f"Exported: {exported}")
    print(f"Flow:     {workdir / 'flow.npz'}")
    print(f"Filters:  {workdir / 'stage1' / 'pictures' / (name + '.png')}")
    print(f"Picture:  {workdir / 'match.png'}")
    print(
        "Next:     python -m anchornet_tf.match YOUR_A.jpg YOUR_B.jpg --features=anchornet "
        f"--matcher=hough --option=model={folder}"
    )


def _measure(model, name: str, images) -> None:
    """Prints how well keypoints of held-out images are carried over by several descriptors."""
    from anchornet_tf import get_descriptor
    from anchornet_tf.metrics.keypoint_transfer import nearest_keypoint_pck

    descriptors = {
        "hypercolumn": get_descriptor("hc"),
        f"anchors of {name}s": get_descriptor("anchornet-class", model=model, class_name=name),
        "anchors of all": get_descriptor("anchornet", model=model),
    }
    print(
        f"\nKeypoints of held-out {name}s carried over by nearest neighbours, "
        "PCK at 0.05 / 0.1 of the object's size:"
    )
    for title, descriptor in descriptors.items():
        maps = descriptor([image.image for image in images])
        tight, loose = nearest_keypoint_pck(images, maps).mean(axis=0)
        print(f"  {title:<16} {tight:.3f} / {loose:.3f}")


def _match(model, images, workdir: pathlib.Path):
    """Matches the most telling pair, writes flow and picture, and returns the source image."""
    import anchornet_tf
    from anchornet_tf import viz
    from anchornet_tf.utils import files

    pairs = itertools.permutations(range(len(images)), 2)
    a, b = max(pairs, key=lambda pair: _telling(images, *pair))
    pair = images[a].image, images[b].image
    flow = anchornet_tf.Matcher("anchornet", "hough", model=model)(*pair)
    flow.save(workdir / "flow.npz")
    shared = images[a].visible & images[b].visible
    figure = viz.plot_summary(*pair, flow, images[a].points[shared])
    with files.atomic_file(workdir / "match.png") as temporary:
        figure.savefig(temporary, dpi=110)
    return pair[0]


def _export(model, folder: pathlib.Path, base: pathlib.Path, image) -> pathlib.Path:
    """Exports what was trained and checks that what is loaded again says the same."""
    import numpy as np
    import tensorflow as tf

    from export.archive import export_folder

    version = export_folder(str(folder), str(base))
    expected = model(image[None]).numpy()
    received = tf.saved_model.load(version)(tf.constant(image[None])).numpy()
    difference = np.abs(received - expected).max() / np.abs(expected).max()
    print(f"\nThe SavedModel, loaded again, differs from the model by {difference:.1e}.")
    if not difference < 1e-4:
        raise RuntimeError(f"Expected an export that agrees to 1e-4. Received: {difference}")
    return version


def _telling(images, a: int, b: int) -> tuple[int, float]:
    """Ranks pairs for the picture: many keypoints in common, then objects of about one size."""
    shared = int((images[a].visible & images[b].visible).sum())
    return shared, -abs(math.log(images[a].length / images[b].length))


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
