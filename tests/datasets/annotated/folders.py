"""Small folders in the layouts that the makers of the benchmarks publish."""

import json
import pathlib

import numpy as np
import PIL.Image
import scipy.io


def picture(path: pathlib.Path, size=(60, 80), seed=0) -> pathlib.Path:
    """Writes an image of (height, width) with smooth random content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 10, 3), np.uint8)
    image = PIL.Image.fromarray(coarse).resize(size[::-1], PIL.Image.Resampling.BICUBIC)
    image.save(path)
    return path


def willow(root: pathlib.Path, sets=("car(S)", "duck(S)"), images=3) -> pathlib.Path:
    """PF-WILLOW: keypoints counted from one, 2 x 10."""
    for number, name in enumerate(sets):
        for index in range(images):
            seed = 100 * number + index
            path = picture(root / name / f"img_{index}.png", seed=seed)
            points = np.random.default_rng(seed).uniform(10, 50, (2, 10))
            scipy.io.savemat(path.with_suffix(".mat"), {"pts_coord": points})
    return root


def pascal_pairs(root: pathlib.Path, side=300) -> pathlib.Path:
    """PF-PASCAL as NC-Net lists it; images have a long side of `side`."""
    images = root / "PF-dataset-PASCAL" / "JPEGImages"
    for index, name in enumerate(["a", "b", "c"]):
        picture(images / f"2008_{name}.jpg", (side * 3 // 4, side), index)
    base = "PF-dataset-PASCAL/JPEGImages/2008_"
    lines = [
        "source_image,target_image,class,XA,YA,XB,YB",
        f"{base}a.jpg,{base}b.jpg,7,10;40.5;280,20;30;200,12;42;270,22;33;190",
        f"{base}b.jpg,{base}c.jpg,3,50;60,70;80,55;65,75;85",
    ]
    (root / "image_pairs").mkdir()
    (root / "image_pairs" / "test_pairs.csv").write_text("\n".join(lines) + "\n")
    train = ["source_image,target_image,class,flip", f"{base}b.jpg,{base}a.jpg,7,0"]
    (root / "image_pairs" / "train_pairs.csv").write_text("\n".join(train) + "\n")
    return root


def mask(size=(60, 80), box=(10, 10, 40, 50)) -> np.ndarray:
    """A rectangle (top, left, bottom, right)."""
    found = np.zeros(size, np.uint8)
    found[box[0] : box[2], box[1] : box[3]] = 1
    return found


def flowweb_image(path: pathlib.Path, parts=("leftmirror", "frontside"), shift=0, seed=0) -> None:
    """An image of FlowWeb's PASCAL data with its .mat; keypoints count from one."""
    picture(path, seed=seed)
    dtype = [("part_name", object), ("mask", object)]
    table = np.array(
        [
            (name, mask(box=(10 + 5 * i, 10 + shift, 20 + 5 * i, 30 + shift)))
            for i, name in enumerate(parts)
        ],
        dtype=dtype,
    ).reshape(1, -1)
    keypoints = np.array([[21 + shift, 31 + shift, 80, -1], [16, 26, 30, -1]], float)
    contents = {
        "mask": mask(box=(10, 10 + shift, 40, 50 + shift)),
        "keypts": keypoints,
        "keypts_status": np.array([[1, 1, 1, 0]], np.uint8),
    }
    contents["parts"] = table if len(parts) else np.zeros((0, 0))
    scipy.io.savemat(path.with_suffix(".mat"), contents)


def flowweb(root: pathlib.Path) -> pathlib.Path:
    """Three sets: cars with parts, buses with parts, boats without."""
    for index in range(3):
        flowweb_image(root / "car_set_1" / f"{index:03d}.jpg", shift=2 * index, seed=index)
    for index in range(2):
        parts = ("rightmirror", "wheel_1")
        flowweb_image(root / "bus_set_1" / f"{index:03d}.jpg", parts, shift=index, seed=10 + index)
        flowweb_image(root / "boat" / f"{index:03d}.jpg", (), shift=index, seed=20 + index)
    return root


def animals(root: pathlib.Path, families=("bears", "cats"), images=3) -> pathlib.Path:
    """AnimalParts as a table of keypoints; an image has two eyes and a foot."""
    lines = ["image,family,animal,part,x,y"]
    for number, family in enumerate(families):
        for index in range(images):
            name = f"images/{family}_{index}.jpg"
            picture(root / name, seed=10 * number + index)
            lines += [
                f"{name},{family},n0,eye,20,20",
                f"{name},{family},n0,eye,40,20",
                f"{name},{family},n0,foot,{30 + index},50",
            ]
    (root / "annotations.csv").write_text("\n".join(lines) + "\n")
    return root


def spair(root: pathlib.Path, layout=True) -> pathlib.Path:
    """SPair-71k: a .json a pair, images by class."""
    names = []
    for number, (category, source, target) in enumerate(
        [("cat", "2008_a", "2008_b"), ("cat", "2008_b", "2008_a"), ("bus", "2009_c", "2009_d")]
    ):
        for side in (source, target):
            picture(root / "JPEGImages" / category / f"{side}.jpg", seed=sum(map(ord, side)))
        name = f"{number:06d}-{source}-{target}:{category}"
        names.append(name)
        annotation = {
            "pair_id": number,
            "filename": name,
            "src_imname": f"{source}.jpg",
            "trg_imname": f"{target}.jpg",
            "category": category,
            "src_imsize": [80, 60, 3],
            "trg_imsize": [80, 60, 3],
            "src_kps": [[10, 12], [30, 40], [50, 22]],
            "trg_kps": [[12, 13], [33, 41], [55, 25]],
            "kps_ids": ["0", "3", "7"],
            "src_bndbox": [5, 5, 60, 50],
            "trg_bndbox": [6, 8, 66, 48],
            "viewpoint_variation": 1,
        }
        path = root / "PairAnnotation" / "test" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(annotation))
    if layout:
        (root / "Layout" / "large").mkdir(parents=True)
        (root / "Layout" / "large" / "test.txt").write_text("\n".join(names) + "\n")
    return root


def birds(root: pathlib.Path, images=4) -> pathlib.Path:
    """CUB-200-2011: the first image is for training."""
    names, split, boxes, places = [], [], [], []
    for index in range(1, images + 1):
        name = f"001.Black_footed_Albatross/Bird_{index:04d}.jpg"
        picture(root / "images" / name, seed=index)
        names.append(f"{index} {name}")
        split.append(f"{index} {int(index == 1)}")
        boxes.append(f"{index} 5.0 6.0 50.0 40.0")
        for part in range(1, 16):
            visible = int(part != 2 or index != 2)
            x, y = (float(part + 20 + index), 20.0) if visible else (0.0, 0.0)
            places.append(f"{index} {part} {x} {y} {visible}")
    (root / "parts").mkdir(parents=True)
    (root / "images.txt").write_text("\n".join(names) + "\n")
    (root / "train_test_split.txt").write_text("\n".join(split) + "\n")
    (root / "bounding_boxes.txt").write_text("\n".join(boxes) + "\n")
    words = ["back", "beak", "left eye", *(f"part {i}" for i in range(4, 16))]
    lines = [f"{i} {word}" for i, word in enumerate(words, start=1)]
    (root / "parts" / "parts.txt").write_text("\n".join(lines) + "\n")
    (root / "parts" / "part_locs.txt").write_text("\n".join(places) + "\n")
    return root
