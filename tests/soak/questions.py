"""What clients ask in a soak: good requests with the answers of every version, and broken ones."""

import dataclasses
import io
import pathlib

import numpy as np
import PIL.Image
import tensorflow as tf

from anchornet_tf.datasets import parts_world

# Height and width: photographs of several shapes.
_SIZES = ((240, 320), (320, 240), (200, 200), (375, 500))
# Of the largest absolute number in the answer.
TOLERANCE = 1e-5


@dataclasses.dataclass
class Question:
    """A request.

    Attributes:
        kind: What the table calls it.
        signature: Of the exported model.
        inputs: Arrays by name.
        answers: Right answers by version parity, or None where the request must be refused.
    """

    kind: str
    signature: str
    inputs: dict
    answers: dict | None = None

    def is_right(self, answer: dict, parities: set) -> bool:
        """Returns whether an answer is that of one of the versions.

        Args:
            answer: Arrays by name.
            parities: Which of `answers` may have been asked for.
        """
        return any(_close(answer, self.answers[parity]) for parity in parities)


def _close(answer: dict, right: dict) -> bool:
    if set(answer) != set(right):
        return False
    for name, expected in right.items():
        found = np.asarray(answer[name])
        if found.shape != expected.shape:
            return False
        if expected.dtype.kind != "f":
            # REST gives texts where gRPC gives bytes.
            same = found.astype(str) == expected.astype(str)
        else:
            same = np.abs(found - expected) <= TOLERANCE * max(np.abs(expected).max(), 1e-30)
        if not np.all(same):
            return False
    return True


def good_questions(folders: list[pathlib.Path], classes: list[str]) -> list[Question]:
    """Returns requests with their answers, from the exported models themselves.

    Args:
        folders: Of two versions, the one with an even number first.
        classes: Some classes of the model.
    """
    images = [_photograph(number, _SIZES[number % len(_SIZES)]) for number in range(8)]
    questions: list[Question] = []
    for number, image in enumerate(images):
        target = images[(number + 3) % len(images)]
        pair = {"source": image[np.newaxis], "target": target[np.newaxis]}
        # Numbered, so that no two points fall on a place where two cells are equally near.
        points = np.array([[[20.25, 30.5], [90.125, 70.375], [101.5 + number, 88.25]]], np.float32)
        name = np.array([classes[number % len(classes)].encode()], object)
        small = image[np.newaxis, :200, :200]
        questions += [
            Question("from_bytes", "from_bytes", {"image_bytes": _array(_jpeg(image))}),
            Question("features", "features", {"image": small}),
            Question("class_responses", "class_responses", {"image": small, "class_name": name}),
            Question("match", "match", pair),
            Question("match_points", "match_points", {**pair, "points": points}),
        ]
    questions.append(Question("20 megapixels", "from_bytes", {"image_bytes": _array(_large())}))
    loaded = [tf.saved_model.load(str(folder)) for folder in folders]
    for question in questions:
        question.answers = {
            parity: _ask(model, question.signature, question.inputs)
            for parity, model in enumerate(loaded)
        }
    alike = [question.kind for question in questions if question.is_right(question.answers[0], {1})]
    if "match" in alike:
        raise ValueError("Expected versions that can be told apart. Received: equal flows")
    return questions


def broken_questions() -> list[Question]:
    """Returns requests that no server may answer, and none may be hurt by."""
    image = _photograph(0, (240, 320))
    jpeg, batch = _jpeg(image), image[np.newaxis]
    bomb = io.BytesIO()
    PIL.Image.new("1", (30_000, 30_000)).save(bomb, "PNG")
    nowhere = np.full((1, 2, 2), np.nan, np.float32)
    no_numbers = np.full((1, 64, 64, 3), np.nan, np.float32)
    return [
        Question("too small", "features", {"image": batch[:, :10, :10]}),
        Question("too large", "features", {"image": np.zeros((1, 4000, 5000, 3), np.uint8)}),
        Question(
            "too large, floats", "serving_default", {"image": np.zeros((1, 2100, 2100, 3), "f")}
        ),
        Question("another type", "features", {"image": batch.astype(np.float64)}),
        Question("another rank", "features", {"image": image}),
        Question("another name", "features", {"picture": batch}),
        Question("not a number", "serving_default", {"image": no_numbers}),
        Question("JPEG cut short", "from_bytes", {"image_bytes": _array(jpeg[: len(jpeg) // 3])}),
        Question("noise", "from_bytes", {"image_bytes": _array(bytes(range(256)) * 40)}),
        Question("no bytes", "from_bytes", {"image_bytes": _array(b"")}),
        Question("bomb", "from_bytes", {"image_bytes": _array(bomb.getvalue())}),
        Question(
            "no such class",
            "class_responses",
            {"image": batch, "class_name": np.array([b"unicorn"], object)},
        ),
        Question("no such signature", "unicorn", {"image": batch}),
        Question(
            "points nowhere", "match_points", {"source": batch, "target": batch, "points": nowhere}
        ),
    ]


def _ask(loaded, signature: str, inputs: dict) -> dict:
    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    return {name: value.numpy() for name, value in loaded.signatures[signature](**tensors).items()}


def _photograph(number: int, size: tuple[int, int]) -> np.ndarray:
    image = PIL.Image.fromarray(parts_world.draw("bird", number).image)
    return np.asarray(image.resize(size[::-1], PIL.Image.Resampling.BICUBIC))


def _jpeg(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def _large() -> bytes:
    return _jpeg(_photograph(1, (4000, 5000)))


def _array(contents: bytes) -> np.ndarray:
    return np.array([contents], object)
