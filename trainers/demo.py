"""The main job on the embedded data: trains a bank for birds, matches two held-out birds with it, draws the result.

    python -m trainers.demo --workdir=runs/demo

Needs no data and no download but the trunk's weights; about ten minutes on two cores.
"""

import itertools
import math
import pathlib

from absl import app, flags

_WORKDIR = flags.DEFINE_string("workdir", "runs/demo", "Folder of everything that the demo makes.")
_CLASS = flags.DEFINE_string("class", "bird", "Class of PASCAL VOC to train.")
_STEPS = flags.DEFINE_integer("steps", 150, "Steps of stage 1.", 1)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import anchornet_tf
    from anchornet_tf import files, viz
    from anchornet_tf.evaluation import keypoint_sets
    from anchornet_tf.evaluation.keypoint_transfer import nearest_keypoint_pck
    from anchornet_tf.features.registry import get_descriptor
    from trainers import stage1_run
    from trainers.config import Stage1Config

    workdir = pathlib.Path(_WORKDIR.value)
    name = _CLASS.value
    run = workdir / f"stage1-{name}"
    stage1_run.train(Stage1Config(classes=(name,), steps=_STEPS.value, views=1), run)

    images = keypoint_sets.parts_world([name])[name, name]
    bank = run / "banks" / f"{name}.npz"
    describe = {
        "hypercolumn": get_descriptor("hc"),
        "anchors": get_descriptor("anchornet-class", bank=bank),
    }
    print(
        f"\nKeypoints of held-out {name}s carried over by nearest neighbours, PCK at 0.05 / 0.1 of the object's size:"
    )
    for title, descriptor in describe.items():
        tight, loose = nearest_keypoint_pck(
            images, descriptor([image.image for image in images])
        ).mean(axis=0)
        print(f"  {title:<12} {tight:.3f} / {loose:.3f}")

    a, b = max(
        itertools.permutations(range(len(images)), 2), key=lambda pair: _telling(images, *pair)
    )
    shared = images[a].visible & images[b].visible
    flow = anchornet_tf.match_pair(images[a].image, images[b].image, describe["anchors"], "hough")
    flow.save(workdir / "flow.npz")
    figure = viz.plot_summary(images[a].image, images[b].image, flow, images[a].points[shared])
    with files.atomic_file(workdir / "match.png") as temporary:
        figure.savefig(temporary, dpi=110)
    print(f"\nModel:    {bank}")
    print(f"Flow:     {workdir / 'flow.npz'}")
    print(f"Filters:  {run / 'pictures' / (name + '.png')}")
    print(f"Picture:  {workdir / 'match.png'}")
    print(
        "Next:     python -m anchornet_tf.match YOUR_A.jpg YOUR_B.jpg --features=anchornet-class "
        f"--option=bank={bank} --matcher=hough"
    )


def _telling(images, a: int, b: int) -> tuple[int, float]:
    """Ranks pairs for the picture: many keypoints in common, then objects of about one size."""
    shared = int((images[a].visible & images[b].visible).sum())
    return shared, -abs(math.log(images[a].length / images[b].length))


if __name__ == "__main__":
    app.run(main)
