r"""Annotate once: carries points, masks and boxes from a few images to a whole folder.

    python -m anchornet_tf.transfer --references=annotations.json --images=photographs
    python -m anchornet_tf.transfer --references=points.csv --images=clip.mp4 --smooth=1
    python -m anchornet_tf.transfer --images=photographs --suggest=5

Mark points or outlines in one image or five with the tool that you know, and save them as COCO,
LabelMe or CSV (image,name,x,y). The output has the same format. It holds what you marked, and the
same things in every other image, each with the probability that it is right; what is too unsure is
marked as not labelled. The page beside it shows all images, the least sure first. Correct those,
add them to the references, and run the command again.
"""

import dataclasses
import shlex
import sys
import types

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.tasks.transfer_config import TransferConfig
from anchornet_tf.utils.named_options import parse_option

_SHOWN = 5


def main(argv):
    program.flags_only(argv)
    options = dict(parse_option(text) for text in flags.FLAGS.option)
    config = _CONFIG.config(options=options)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.tasks.transfer_run import run

    result = run(config)
    for name, reason in list(result.skipped.items())[:_SHOWN]:
        print(f"Skipped {name}: {reason}")
    if len(result.skipped) > _SHOWN:
        print(f"Skipped {len(result.skipped) - _SHOWN} more images that cannot be read")
    if result.annotations is not None:
        print(_summary(result, config))
        print(f"Written to {result.output}")
    if result.report is not None:
        print(f"Look at {result.report}")
    if result.suggested:
        print("Annotate next: " + ", ".join(result.suggested))
    print(f"Next: {shlex.join(_next_command(config))}")


def _summary(result, config) -> str:
    points = [
        point
        for image in result.annotations.images
        for item in image.objects
        for point in item.points.values()
        if point.score is not None
    ]
    regions = [
        region
        for image in result.annotations.images
        for item in image.objects
        for region in item.regions
        if region.score is not None
    ]
    sure = sum(point.score >= config.threshold for point in points)
    parts = [f"{len(result.annotations.images):,} images"]
    if points:
        parts.append(
            f"{len(points):,} points carried, {sure:,} of them with a probability of at least "
            f"{config.threshold:g}"
        )
    if regions:
        parts.append(f"{len(regions):,} regions carried")
    return "; ".join(parts)


def _next_command(config: TransferConfig) -> list[str]:
    """Suggests what to annotate next, or to run again with what was suggested."""
    references = config.references or "annotations.json"
    suggest = 0 if config.suggest else _SHOWN
    following = dataclasses.replace(config, references=references, suggest=suggest)
    return ["python", "-m", "anchornet_tf.transfer", *config_flags.arguments(following)]


class _Callable(types.ModuleType):
    """`anchornet_tf.transfer` is a function too, which importing the program must not hide."""

    def __call__(self, *args, **options):
        from anchornet_tf.tasks.transfer import transfer

        return transfer(*args, **options)


if __name__ == "__main__":
    _CONFIG = config_flags.define(TransferConfig)
    flags.DEFINE_multi_string(
        "option",
        [],
        "NAME=VALUE, an option of the descriptor or the matcher, e.g. --option=blur=1. May be "
        "repeated.",
    )
    program.run(main, interrupted="Stopped. Finished images are kept: the same command goes on.")
else:
    sys.modules[__name__].__class__ = _Callable
