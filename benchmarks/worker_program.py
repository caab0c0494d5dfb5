"""One worker of a distributed training, timed: python -m benchmarks.worker_program --output=FILE.

With TF_CONFIG it is one of several, without it the only one. Every step runs the trunk on images
that are in memory.
"""

import json
import time

from absl import app, flags

_OUTPUT = flags.DEFINE_string("output", None, "File of the first worker's figures.", required=True)
_THREADS = flags.DEFINE_integer("threads", 0, "Threads of an operation; 0 for one a core.", 0)
_STEPS = flags.DEFINE_integer("steps", 5, "Timed steps.", 1)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 16, "Images per step of all workers together.", 2)
_IMAGE_SIZE = flags.DEFINE_integer("image_size", 224, "Side of the images.", 32)
_WARMUPS = 2


def main(_):
    import tensorflow as tf

    from anchornet_tf.models.tap_extractor import TapExtractor
    from anchornet_tf.training import strategies
    from anchornet_tf.training.stage1.config import Stage1Config
    from anchornet_tf.training.stage1.step import BankTraining
    from anchornet_tf.utils import files
    from benchmarks import models

    tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
    where = strategies.make("auto")
    config = Stage1Config(
        batch_size=_BATCH_SIZE.value, image_size=_IMAGE_SIZE.value, cache_features=False
    )
    with where.scope():
        extractor = TapExtractor(models.backbone())
    training = BankTraining(config, where, extractor.taps)

    def share(shards, _):
        images = models.random_images(config.batch_size // shards, config.image_size)
        return tf.data.Dataset.from_tensors(images).repeat()

    batches = iter(strategies.distribute(where, share))
    seconds = []
    for _ in range(_WARMUPS + _STEPS.value):
        start = time.perf_counter()
        training.step(next(batches))
        seconds.append(time.perf_counter() - start)
    if strategies.is_chief(where):
        figures = {
            "images_per_second": [config.batch_size / each for each in seconds[_WARMUPS:]],
            "replicas": where.num_replicas_in_sync,
        }
        with files.atomic_file(_OUTPUT.value) as temporary:
            temporary.write_text(json.dumps(figures))


if __name__ == "__main__":
    app.run(main)
