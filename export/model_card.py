"""The files inside an exported model: configuration, class names, model card, confidence."""

import json
import pathlib

from anchornet_tf.models.anchornet import AnchorNet

CONFIGURATION = "configuration.json"
CLASS_NAMES = "class_names.txt"
MODEL_CARD = "model_card.md"
CONFIDENCE = "confidence.json"


def write_assets(
    folder: pathlib.Path, model: AnchorNet, settings: dict, card: str | None = None
) -> dict[str, str]:
    """Writes the files into a folder.

    Args:
        folder: A folder that exists.
        model: `AnchorNet`.
        settings: JSON values that are added to the model's options in the configuration: the
            settings of the export, and the record of the training.
        card: Text of the model card, or None to make one from the configuration.

    Returns:
        The path of each file, by a name that can be an attribute.
    """
    configuration = {"options": model.options(), **settings}
    contents = {
        CONFIGURATION: json.dumps(configuration, indent=2) + "\n",
        CLASS_NAMES: "\n".join(model.classes) + "\n",
        MODEL_CARD: card or describe(configuration),
    }
    if model.confidence is not None:
        contents[CONFIDENCE] = json.dumps(model.confidence) + "\n"
    for name, text in contents.items():
        (folder / name).write_text(text)
    return {pathlib.Path(name).stem: str(folder / name) for name in contents}


def looks(look_twice: int) -> str:
    """Returns how often images are looked at, in words.

    Args:
        look_twice: int, as in `Servable`.
    """
    return f"two, the second at its object in {look_twice} pixels" if look_twice else "one"


def describe(configuration: dict) -> str:
    """Returns a model card with the content of a configuration."""
    options = configuration["options"]
    look_twice = configuration.get("look_twice", 0)
    lines = [
        "# AnchorNet",
        "",
        "Dense descriptors for semantic matching (Novotny, Larlus, Vedaldi, CVPR 2017): a ResNet50",
        "trunk, one bank of anchor filters per class, and a class-agnostic layer on top of them.",
        "",
        f"- Classes ({len(options['classes'])}): {', '.join(options['classes'])}",
        f"- Filters per class: {options['num_filters']}",
        f"- Length of the class-agnostic descriptor: {options['latent_filters']}",
        f"- Trained at image size {options['image_size']}",
        "- Maps have a quarter of the image's height and width",
        f"- Matcher of the `match` signatures: {configuration.get('matcher', 'none')}",
        f"- Looks of the `match` signatures at each image: {looks(look_twice)}",
        "- Learned from image-level labels, without keypoints or boxes",
        "- Measured quality: not recorded with this export",
    ]
    record = configuration.get("record")
    if record:
        lines += ["", "Training:", "", "```", json.dumps(record, indent=2), "```"]
    return "\n".join(lines) + "\n"
