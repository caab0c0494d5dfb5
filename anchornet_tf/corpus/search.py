r"""Searches an indexed corpus for a part: where else is what this point shows?

    python -m anchornet_tf.corpus.search --index=corpus/index --image=a.jpg --point=120,80 --top=20
    python -m anchornet_tf.corpus.search --index=corpus/index --filter=bird:12

Writes found.json, with the images and the places in them, best first, and found.png, with crops
around these places. A point is compared by the class-agnostic descriptor; a filter orders the
images by how strongly it fires, in deviations from its mean.
"""

import json
import os
import shlex

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus.config import SearchConfig

_SHOWN = 5


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    import dataclasses

    from anchornet_tf.corpus import found_picture, part_search
    from anchornet_tf.corpus.part_index import PartIndex
    from anchornet_tf.utils import files

    index = PartIndex.open(config.index)
    entries = []
    if config.filter is not None:
        class_name, _, number = config.filter.rpartition(":")
        found = part_search.search_filter(index, class_name, int(number), config.top)
        following = None
    else:
        found = part_search.search_vector(index, _query(config, index), config.top, config.image)
        entries = [(os.fspath(config.image), *config.point, "asked for")]
        following = found[0] if found else None
    folder = files.make_folder(config.output)
    entries += [
        (part_search.path_of(index, each.key), each.x, each.y, f"{number}. {each.score:.2f}")
        for number, each in enumerate(found, start=1)
    ]
    with files.atomic_file(folder / "found.json") as temporary:
        contents = [dataclasses.asdict(each) for each in found]
        temporary.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")
    for each in found[:_SHOWN]:
        print(f"{each.score:.3f}  {each.key}  at {each.x:g},{each.y:g}")
    if not found:
        print("Nothing was found")
        return
    with files.atomic_file(folder / "found.png") as temporary:
        found_picture.crops(entries, asked=config.filter is None).save(temporary)
    print(f"{len(found)} images are in {folder / 'found.json'}; look at {folder / 'found.png'}")
    following = following or found[0]
    command = ["python", "-m", "anchornet_tf.corpus.search", f"--index={config.index}"]
    command += [f"--image={part_search.path_of(index, following.key)}"]
    print(f"Next: {shlex.join([*command, f'--point={following.x:g},{following.y:g}'])}")


def _query(config: SearchConfig, index):
    from anchornet_tf.corpus.model_folder import ModelFolder
    from anchornet_tf.matchers.flow import check_inside
    from anchornet_tf.utils.image_io import read_scaled

    image = read_scaled(config.image)
    check_inside([config.point], image.original_size)
    found = ModelFolder.find(index.record["model"])
    if found.digest() != index.record["model_digest"]:
        raise ValueError(
            "Expected the model that the corpus was described with. "
            f"Received: {index.record['model']}, changed"
        )
    from anchornet_tf.corpus.describer import AnchorDescriber

    settings = {name: index.record[name] for name in ("image_size", "blur")}
    describer = AnchorDescriber(found.path, **settings)
    return describer.at_point(image, config.point)


if __name__ == "__main__":
    _CONFIG = config_flags.define(SearchConfig)
    program.run(main)
