"""PASCAL VOC's twenty classes are one label map among others: nothing else knows them."""

import re

from tests.repository.tree import ROOT

# The map itself, the drawn set of these classes, and benchmarks that are made of them.
MAY_KNOW = (
    "anchornet_tf/datasets/voc_classes.py",
    "anchornet_tf/datasets/label_map.py",
    "anchornet_tf/datasets/parts_world/",
    "anchornet_tf/datasets/annotated/",
)
_MENTION = re.compile(r"voc_classes|VOC_CLASSES|aeroplane|tvmonitor|diningtable")


def test_no_other_module_knows_the_twenty_classes():
    places = []
    for folder in ("anchornet_tf", "trainers", "export"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(MAY_KNOW) and _MENTION.search(path.read_text()):
                places.append(name)
    assert not places, places
    known = [name for name in MAY_KNOW if (ROOT / name).exists()]
    assert list(MAY_KNOW) == known, "a list of what is there"
