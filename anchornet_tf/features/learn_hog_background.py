r"""Learns the background statistics of whitened HOG from natural images.

A few hundred photographs of ordinary scenes are enough. The statistics that come with the package
are from 210 ImageNet photographs without objects of the PASCAL classes.

    python -m anchornet_tf.features.learn_hog_background \
        --images='photos/*.jpg' --output=background.npz

An image of 224 x 224 pixels takes about one second on one core. To use the statistics:

    anchornet_tf.get_descriptor("hog", background="background.npz")
"""

import glob

import tqdm
from absl import app, flags, logging

from anchornet_tf.features.hog_background import learn_background
from anchornet_tf.utils.image_io import read_image

_IMAGES = flags.DEFINE_list("images", None, "Files or quoted patterns, separated by commas.")
_OUTPUT = flags.DEFINE_string("output", None, "The .npz file to write.")


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    paths = sorted({path for pattern in _IMAGES.value for path in glob.glob(pattern)})
    if not paths:
        raise app.UsageError(f"--images must match at least one file. Received: {_IMAGES.value}")
    images = (read_image(path) for path in tqdm.tqdm(paths, unit="image"))
    learn_background(images).save(_OUTPUT.value)
    logging.info("Statistics of %d images written to %s", len(paths), _OUTPUT.value)


if __name__ == "__main__":
    flags.mark_flags_as_required(["images", "output"])
    app.run(main)
