r"""Indexes a corpus, so that parts can be searched for.

    python -m anchornet_tf.corpus.index --corpus=corpus
    python -m anchornet_tf.corpus.index --corpus=corpus --kind=ivfpq --output=fast_disk/index

The index knows the places where anchors peak by what they look like, and for every filter the
images by how strongly it fires. Small corpora are searched exactly; those of more than 200,000
places by IVF-PQ, which looks at a part of the places and at 32 bytes of each.
"""

import os
import shlex

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus.config import IndexConfig


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    from anchornet_tf.corpus.corpus_folder import CorpusFolder
    from anchornet_tf.corpus.part_index import write_index

    output = config.output or os.path.join(config.corpus, "index")
    made = write_index(CorpusFolder(os.fspath(config.corpus)), output, config.kind, config.seed)
    print(f"{made['places']} places of {made['images']} images indexed ({made['kind']})")
    print(f"The index is in {output}")
    command = ["python", "-m", "anchornet_tf.corpus.search", f"--index={output}"]
    command += [f"--filter={made['classes'][0]}:0"]
    print(f"Next: {shlex.join(command)}")


if __name__ == "__main__":
    _CONFIG = config_flags.define(IndexConfig)
    program.run(main)
