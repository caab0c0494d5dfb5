"""The whole recipe in one command: banks of all classes, the class-agnostic layer, a model.

    python -m trainers.reproduce --data=manifest:labels.csv --workdir=runs/voc20
    python -m trainers.reproduce --data=tfds:imagenet2012 --setting=paper --workdir=runs/paper

`short` is the setting that the preset voc20 was trained with: about an hour on two cores with a few
thousand images. `paper` is the paper's own: 4e4 images per class, then 1.2e4 images end to end; it
wants accelerators. The same command continues a recipe that was stopped. In Python afterwards:

    model = anchornet_tf.load("runs/voc20/model")
"""

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.recipe_config import RecipeConfig

_RECIPE = config_flags.define(RecipeConfig)


def main(argv):
    program.flags_only(argv)
    recipe = _RECIPE.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.recipe import reproduce

    output = reproduce(recipe)
    print(f"\nModel:     {output}")
    print(
        f"Next:      python -m anchornet_tf.evaluate --model={output} "
        "--features=hc,anchornet,anchornet-class"
    )


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
