"""A small model, drawn images with broken ones among them, and a corpus made of them once."""

import pathlib

import keras
import PIL.Image
import pytest

from anchornet_tf.corpus import describe_run
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.datasets import parts_world
from anchornet_tf.models.anchornet import AnchorNet
from tests.export import small_model

COUNT, BROKEN = 14, ("broken.png", "cut.png")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> pathlib.Path:
    """The folder of a model with a seeded random trunk."""
    keras.utils.set_random_seed(1)
    model = AnchorNet(
        small_model.CLASSES, 4, latent_filters=8, gamma="whitened", dimensions=8, weights=None
    )
    small_model.give_statistics(model)
    folder = tmp_path_factory.mktemp("corpus-model") / "model"
    model.save_to_preset(folder)
    return folder


@pytest.fixture(scope="session")
def images(tmp_path_factory) -> pathlib.Path:
    """A folder of drawn images; two of its files cannot be read."""
    folder = tmp_path_factory.mktemp("corpus-images")
    for number in range(COUNT):
        drawn = PIL.Image.fromarray(parts_world.draw("bird", number, size=96).image)
        drawn.crop((0, 0, 96 - number, 96)).save(folder / f"{number:02d}.png")
    (folder / BROKEN[0]).write_bytes(b"no image")
    whole = (folder / "03.png").read_bytes()
    (folder / BROKEN[1]).write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="session")
def config(model_folder, images, tmp_path_factory) -> DescribeConfig:
    return DescribeConfig(
        images=str(images),
        output=str(tmp_path_factory.mktemp("corpus") / "corpus"),
        model=str(model_folder),
        peaks=6,
        dense=True,
        shard_size=4,
        batch_size=3,
        image_size=64,
        # Places are compared with the maps themselves.
        blur=0.0,
    )


@pytest.fixture(scope="session")
def corpus(config) -> CorpusFolder:
    """The corpus of the images, made by one worker in this process."""
    describe_run.run(config, progress=False)
    return CorpusFolder(config.output)
