"""Tables of points: round trips, quoting, columns and objects."""

import dataclasses

import numpy as np
import pytest

from anchornet_tf.annotations.formats import read_annotations, write_annotations
from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    VISIBLE,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
    Point,
    Region,
)

PLAIN = "image,name,x,y\na.jpg,beak,10,11.5\na.jpg,tail,-0.25,3\nb.jpg,beak,7,8\n"
FULL = (
    "object,who,image,name,category,x,y,visible,score,when\n"
    '1,Ann,"a,b.jpg","the ""left"" eye",bird,12.50,1e1,yes,0.90,now\n'
    "2,Bob,b.jpg,øye,fish,1,2,0,,\n"
    '1,"A\nB","a,b.jpg", beak ,bird,3,4,1,,\n'
    "7,,b.jpg,øye,fish,,,,,\n"
)


def _read(tmp_path, text):
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode())
    return read_annotations(path)


def _written(tmp_path, annotations):
    write_annotations(tmp_path / "out.csv", annotations)
    return (tmp_path / "out.csv").read_bytes().decode()


def _single(*objects):
    return AnnotationSet("csv", (ImageAnnotations("a.jpg", None, objects),))


def test_reads_points(tmp_path):
    annotations = _read(tmp_path, PLAIN)
    assert annotations.format == "csv"
    a, b = annotations.images
    assert (a.name, a.size) == ("a.jpg", None)
    assert a.objects[0].points == {"beak": Point(10, 11.5), "tail": Point(-0.25, 3)}
    assert b.objects[0].points == {"beak": Point(7, 8)}


def test_reads_all_columns(tmp_path):
    one, other = _read(tmp_path, FULL).images
    assert one.name == "a,b.jpg"
    (bird,) = one.objects
    assert bird.category == "bird" and list(bird.points) == ['the "left" eye', "beak"]
    eye = bird.points['the "left" eye']
    assert (eye.x, eye.y, eye.visibility, eye.score) == (12.5, 10, VISIBLE, 0.9)
    assert eye.fields["cells"]["who"] == "Ann" and eye.fields["cells"]["when"] == "now"
    hidden, unlabelled = other.objects
    assert hidden.points["øye"].visibility == HIDDEN
    assert unlabelled.points["øye"].visibility == NOT_LABELLED


@pytest.mark.parametrize("text", [PLAIN, FULL, FULL.split("\n", 1)[0] + "\n"])
def test_a_table_is_written_as_it_was_read(tmp_path, text):
    assert _written(tmp_path, _read(tmp_path, text)) == text


def test_byte_order_mark_and_other_line_ends(tmp_path):
    annotations = _read(tmp_path, "\ufeff" + PLAIN.replace("\n", "\r\n"))
    assert _written(tmp_path, annotations) == PLAIN


def test_random_tables_are_written_as_they_were_read(tmp_path):
    rng = np.random.default_rng(0)
    alphabet = np.array(list("ab,\"';ß 1"))
    for _ in range(20):
        objects = {}
        for _ in range(30):
            image, group, name = ("x" + "".join(rng.choice(alphabet, 3)) + "x" for _ in range(3))
            point = Point(*(rng.normal(size=2) * 100).tolist(), score=float(rng.random()))
            objects.setdefault(image, {}).setdefault(group, {})[name] = point
        images = tuple(
            ImageAnnotations(
                image,
                None,
                tuple(
                    AnnotatedObject("c", points, fields={"object": group})
                    for group, points in groups.items()
                ),
            )
            for image, groups in objects.items()
        )
        columns = ["score", "image", "object", "y", "name", "category", "x"]
        text = _written(tmp_path, AnnotationSet("csv", images, {"columns": columns}))
        again = _read(tmp_path, text)
        for image, other in zip(images, again.images, strict=True):
            assert image.name == other.name
            for found, same in zip(image.objects, other.objects, strict=True):
                assert found.points == same.points and found.fields == same.fields
        assert _written(tmp_path, again) == text


def test_missing_columns_are_added(tmp_path):
    annotations = _read(tmp_path, PLAIN)
    a, b = annotations.images
    points = {"beak": Point(1.5, 2, HIDDEN, 0.25), "tail": Point(3, 4, VISIBLE)}
    a = dataclasses.replace(a, objects=(AnnotatedObject("", points, (), 0.5),))
    text = _written(tmp_path, dataclasses.replace(annotations, images=(a, b)))
    assert text == (
        "image,name,x,y,visible,score,object_score\n"
        "a.jpg,beak,1.5,2,0,0.25,0.5\na.jpg,tail,3,4,1,,0.5\nb.jpg,beak,7,8,1,,\n"
    )
    assert read_annotations(tmp_path / "out.csv").images[0].objects[0].score == 0.5


def test_moved_points_lose_only_what_changed(tmp_path):
    annotations = _read(tmp_path, FULL)
    image = annotations.images[0]
    bird = image.objects[0]
    points = {name: dataclasses.replace(point, x=5.0) for name, point in bird.points.items()}
    image = dataclasses.replace(image, objects=(dataclasses.replace(bird, points=points),))
    images = (image, *annotations.images[1:])
    text = _written(tmp_path, dataclasses.replace(annotations, images=images))
    assert text == FULL.replace("12.50", "5").replace("bird,3,", "bird,5,")


def test_objects_of_one_category_are_numbered(tmp_path):
    new = tuple(AnnotatedObject("bird", {"beak": Point(k, k)}) for k in range(2))
    known = AnnotatedObject("bird", {"beak": Point(5, 5)}, fields={"object": "1"})
    text = _written(tmp_path, _single(*new, known))
    assert text == (
        "image,name,x,y,category,object\n"
        "a.jpg,beak,0,0,bird,2\na.jpg,beak,1,1,bird,3\na.jpg,beak,5,5,bird,1\n"
    )


def test_categories_tell_objects_apart(tmp_path):
    text = "image,name,x,y,category\na.jpg,eye,1,2,bird\na.jpg,eye,3,4,fish\n"
    annotations = _read(tmp_path, text)
    assert [found.category for found in annotations.images[0].objects] == ["bird", "fish"]
    assert _written(tmp_path, annotations) == text


def test_regions_have_no_room(tmp_path):
    found = AnnotatedObject("", {}, (Region("", "box", box=(0, 0, 1, 1)),))
    with pytest.raises(ValueError, match="no masks or boxes.*Received: 1 in 'a.jpg'"):
        _written(tmp_path, _single(found))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,name,x\n", "Line 1 .* header"),
        ("image,name,x,y,x\n", "Line 1 .* header"),
        ("a.jpg,beak,1,2\n", "Line 1 .* header"),
        ("image,name,x,y\na.jpg,beak,1\n", "Line 2 .* 4 cells"),
        ("image,name,x,y\na.jpg,beak,1,2,3\n", "Line 2 .* 4 cells"),
        ("image,name,x,y\na.jpg,beak,one,2\n", "Line 2 .* `x`"),
        ("image,name,x,y\na.jpg,beak,1,nan\n", "Line 2 .* `y`"),
        ("image,name,x,y\na.jpg,beak,1,1e999\n", "Line 2 .* `y`"),
        ("image,name,x,y\na.jpg,beak,1_0,1\n", "Line 2 .* `x`"),
        ("image,name,x,y\na.jpg,beak,,1\n", "Line 2 .* `x`"),
        ("image,name,x,y\n,beak,1,1\n", "Line 2 .* image and a name"),
        ("image,name,x,y\na.jpg, ,1,1\n", "Line 2 .* image and a name"),
        ("image,name,x,y,visible\na.jpg,beak,1,1,2\n", "Line 2 .* `visible`"),
        ("image,name,x,y,score\na.jpg,beak,1,1,high\n", "Line 2 .* `score`"),
        ("image,name,x,y\na.jpg,beak,1,1\n\na.jpg,beak,2,2\n", "Line 4 .* repeat"),
        ("image,name,x,y,object\na,b,1,1,1\na,b,1,1,2\na,b,1,1,1\n", "Line 4 .* repeat"),
        ("image,name,x,y,object,category\na,b,1,1,1,c\na,d,1,1,1,e\n", "Line 3 .* category"),
        ('image,name,x,y\na.jpg,"beak,1,2\n', "part of a table"),
        ("image,name,x,y\n" + "a" * 200000 + ",b,1,2\n", "part of a table"),
    ],
)
def test_refusals_are_one_line_with_the_place(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"{message}.*Received: ") as refusal:
        _read(tmp_path, text)
    assert "\n" not in str(refusal.value) and "in.csv" in str(refusal.value)
    assert len(str(refusal.value)) < 400
