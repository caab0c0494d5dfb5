"""One shard of a corpus: its images read, described and written, whole or not at all."""

import collections
import concurrent.futures
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import PIL.Image

from anchornet_tf.corpus import schema, storage
from anchornet_tf.corpus.anchors import DescribedImage
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.listing import Shard, shard_keys
from anchornet_tf.utils.image_io import ScaledImage, read_scaled

Describe = Callable[[Sequence[ScaledImage]], list[DescribedImage]]
# Files are read this many batches ahead, while the network works.
_AHEAD = 2
_READERS = 4


class ShardCounts(NamedTuple):
    """What became of the images of a shard."""

    described: int
    failed: int


def write_shard(
    folder: CorpusFolder,
    shard: Shard,
    root: str,
    config: DescribeConfig,
    describe: Describe,
    classes: Sequence[str],
    directions: int,
) -> ShardCounts:
    """Describes the images of a shard and writes its file.

    The images of a batch depend on the shard alone, and so do the bytes of the file: whichever
    worker makes it, and whatever else that worker does.

    Args:
        folder: The corpus.
        shard: Which images.
        root: The folder that keys are relative to.
        config: Of the corpus.
        describe: From a batch of images to what is kept of them.
        classes: Names of the model's classes.
        directions: int. Length of the descriptors.
    """
    keys: list[str] = []
    described: list[DescribedImage] = []
    failed: list[dict] = []
    batch: list[tuple[str, ScaledImage]] = []

    def finish_batch():
        if batch:
            keys.extend(key for key, _ in batch)
            described.extend(describe([image for _, image in batch]))
            batch.clear()

    for key, found in _read_ahead(shard_keys(folder.listing, shard), root, config):
        if isinstance(found, ScaledImage):
            batch.append((key, found))
            if len(batch) == config.batch_size:
                finish_batch()
        else:
            failed.append({"key": key, "reason": found})
    finish_batch()
    if failed:
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in failed)
        storage.write_bytes(folder.failures(shard.number), lines.encode())
    rows = schema.table(keys, described, classes, directions)
    # Last: a shard that is there is finished, with its failures.
    storage.write_bytes(folder.shard(shard.number), schema.as_parquet(rows))
    return ShardCounts(len(keys), len(failed))


def _read_ahead(
    keys: list[str], root: str, config: DescribeConfig
) -> Iterator[tuple[str, ScaledImage | str]]:
    """Yields each key with its image, or with the reason why there is none, in order."""
    waiting: collections.deque = collections.deque()
    most = _AHEAD * config.batch_size
    with concurrent.futures.ThreadPoolExecutor(_READERS) as readers:
        for key in keys:
            waiting.append((key, readers.submit(_read, storage.join(root, key), config.max_pixels)))
            if len(waiting) > most:
                first, image = waiting.popleft()
                yield first, image.result()
        for key, image in waiting:
            yield key, image.result()


def _read(path: str, max_pixels: int | None) -> ScaledImage | str:
    try:
        if not storage.is_remote(path):
            return read_scaled(path, max_pixels=max_pixels)
        with PIL.Image.open(io.BytesIO(storage.read_bytes(path))) as image:
            return read_scaled(image, max_pixels=max_pixels)
    except MemoryError:
        raise
    # Whatever is wrong with one file of millions must not stop the others.
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
