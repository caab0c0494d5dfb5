"""The files that travel inside an exported model: its configuration, its classes, its model card."""

import json
import pathlib

from anchornet_tf.models.anchornet import AnchorNet

CONFIGURATION = "configuration.json"
CLASS_NAMES = "class_names.txt"
MODEL_CARD = "model_card.md"


def write_assets(
    folder: pathlib.Path, model: AnchorNet, settings: dict, card: str | None = None
) -> dict[str, str]:
    """Writes the files into a folder.

    Args:
        folder: an existing folder.
        model: `AnchorNet`.
        settings: JSON values that go into the configuration beside the model's options: those of the export, and the
            record of the training.
        card: text of the model card, or None for one that is made from the configuration.

    Returns:
        path of each file, by a name that suits an attribute.
    """
    configuration = {"options": model.options(), **settings}
    contents = {
        CONFIGURATION: json.dumps(configuration, indent=2) + "\n",
        CLASS_NAMES: "\n".join(model.classes) + "\n",
        MODEL_CARD: card or describe(configuration),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    return {pathlib.Path(name).stem: str(folder / name) for name in contents}


def describe(configuration: dict) -> str:
    """Returns a model card that says what a configuration says, and no more."""
    options = configuration["options"]
    lines = [
        "# AnchorNet",
        "",
        "Dense descriptors for semantic matching (Novotny, Larlus, Vedaldi, CVPR 2017): a ResNet50 trunk, a bank of",
        "anchor filters for each class, and a class-agnostic layer on top of them.",
        "",
        f"- Classes ({len(options['classes'])}): {', '.join(options['classes'])}",
        f"- Filters a class: {options['num_filters']}; class-agnostic descriptor: {options['latent_filters']}",
        f"- Trained at image size {options['image_size']}; maps have a quarter of the image's height and width",
        f"- Matcher of the `match` signatures: {configuration.get('matcher', 'none')}",
        "- Learned from image-level labels; no keypoints and no boxes",
        "- Measured quality: not recorded with this export",
    ]
    record = configuration.get("record")
    if record:
        lines += ["", "Training:", "", "```", json.dumps(record, indent=2), "```"]
    return "\n".join(lines) + "\n"
