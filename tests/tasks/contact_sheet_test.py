"""Reports: what they show, in which order, and that they hold nothing but what they should."""

import base64
import hashlib
import html.parser
import io
import re

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    AnnotatedObject,
    ImageAnnotations,
    Point,
    Region,
)
from anchornet_tf.tasks import sheet_cards
from anchornet_tf.tasks.contact_sheet import PICTURE, SheetEntry, write_report
from anchornet_tf.tasks.sheet_drawing import Names, draw_thumbnail, score_color
from anchornet_tf.utils.image_io import ScaledImage

GREY = 120


def _image(height=90, width=120):
    return np.full((height, width, 3), GREY, np.uint8)


def _annotations(points=None, regions=(), size=(90, 120)):
    thing = AnnotatedObject("cat", points or {}, tuple(regions))
    return ImageAnnotations("a.jpg", size, (thing,))


def _entry(name, score, image=None, note="", **points):
    marks = {key: Point(20, 30, score=value) for key, value in points.items()}
    return SheetEntry(name, _image() if image is None else image, _annotations(marks), score, note)


class _Reader(html.parser.HTMLParser):
    """Collects the tags of a page and the text of some of them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._tag = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.texts.setdefault(tag, []).append("")
        self._tag = tag

    def handle_endtag(self, tag):
        self._tag = None

    def handle_data(self, data):
        if self._tag:
            self.texts[self._tag][-1] += data

    def all(self, tag):
        return [attributes for found, attributes in self.tags if found == tag]


def _read(folder):
    return _Reader((folder / "report.html").read_text(encoding="utf-8"))


def _close(pixel, color, most=40):
    return np.abs(np.subtract(pixel, color, dtype=int)).max() < most


def test_least_sure_first_and_references_last(tmp_path):
    scores = {"b": 0.7, "a": 0.2, "person": None, "c": 0.9, "unknown": np.nan, "d": 0.2}
    path = write_report(tmp_path / "new", [_entry(*item) for item in scores.items()], "Cats")
    assert path == tmp_path / "new" / "report.html"
    read = _read(tmp_path / "new")
    shown = [image["alt"] for image in read.all("img")]
    assert shown == ["unknown", "a", "d", "b", "c", "person"]
    figures = read.all("figure")
    assert [figure.get("data-score") for figure in figures[:2]] == ["0.0000", "0.2000"]
    assert "data-score" not in figures[-1]
    assert read.texts["h2"] == ["Least sure first", "References"]
    assert read.texts["title"][0] == "Cats"


def test_only_some_have_pictures_and_only_those_are_read(tmp_path):
    reads = []

    def entries():
        for number in np.random.default_rng(0).permutation(300).tolist():
            yield SheetEntry(
                f"{number:03}",
                lambda number=number: (reads.append(number), _image())[1],
                _annotations(),
                number / 300,
            )

    write_report(tmp_path, entries(), "Many", max_images=10)
    read = _read(tmp_path)
    assert [image["alt"] for image in read.all("img")] == [f"{n:03}" for n in range(10)]
    listed = [row["data-name"] for row in read.all("tr") if "data-name" in row]
    assert listed == [f"{n:03}" for n in range(10, 300)]
    assert set(range(10)) | set(range(294, 300)) <= set(reads)
    assert len(reads) < 150


def test_cards_are_kept_for_what_is_shown_alone(monkeypatch):
    kept = []
    original = sheet_cards._Best.add

    def add(self, *arguments):
        original(self, *arguments)
        kept.append(len(self._heap))

    monkeypatch.setattr(sheet_cards._Best, "add", add)
    entries = (_entry(str(n), n / 50) for n in reversed(range(50)))
    sheet = sheet_cards.collect(entries, 0.5, 7, 64)
    assert max(kept) == 7
    assert [card.name for card in sheet.least_sure] == list("0123456")
    assert [card.name for card in sheet.surest] == ["49", "48", "47", "46", "45", "44"]
    assert [name for name, _ in sheet.others] == [str(n) for n in range(7, 50)]


def test_names_cannot_break_out_of_the_page(tmp_path):
    evil = "<script>alert(1)</script>\"'&.jpg"
    entries = [
        _entry(evil, 0.5, note=evil, **{evil: 0.5}),
        _entry(evil + "2", 0.6),
        _entry(evil, None),
    ]
    region = _annotations(regions=[Region(evil, "box", box=(1, 1, 9, 9))])
    entries.append(SheetEntry("region", _image(), region, 0.1))
    write_report(tmp_path, entries, evil, max_images=2)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    read = _Reader(text)
    assert len(read.all("script")) == 1
    assert read.texts["title"][0] == evil
    assert [image["alt"] for image in read.all("img")] == ["region", evil, evil]
    assert all(
        set(image) == {"loading", "alt", "width", "height", "src"} for image in read.all("img")
    )
    assert read.texts["bdi"].count(evil) == 4  # two cards, a point, a region


def test_nothing_comes_from_elsewhere(tmp_path):
    write_report(tmp_path, [_entry("a", 0.5), _entry("b", None)], "Cats")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    read = _Reader(text)
    for _, attributes in read.tags:
        for name in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(name, "data:").startswith("data:")
        # Handlers and styles in attributes are against the policy.
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert not re.search(r"url\(|@import|https?:", text)
    [policy] = [m["content"] for m in read.all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [contents] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(contents.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_thumbnails_are_small_jpegs_with_their_points(tmp_path):
    image = ScaledImage(_image(300, 400), (600, 800))
    marks = {"nose": Point(400, 150, score=1.0)}
    entry = SheetEntry("a", image, _annotations(marks, size=None), 0.5)
    write_report(tmp_path, [entry], "Cats")
    [shown] = _read(tmp_path).all("img")
    encoded = base64.b64decode(shown["src"].removeprefix("data:image/jpeg;base64,"))
    thumbnail = PIL.Image.open(io.BytesIO(encoded))
    assert thumbnail.format == "JPEG" and thumbnail.size == (260, 195)
    assert (shown["width"], shown["height"]) == ("260", "195")
    assert _close(thumbnail.getpixel((130, 49)), score_color(1.0))
    assert _close(thumbnail.getpixel((30, 150)), [GREY] * 3)


def test_the_numbers_at_the_top(tmp_path):
    entries = [
        _entry("a", 0.4, nose=0.2, ear=0.5, tail=0.97),
        _entry("b", 0.6, nose=0.5, ear=0.9),
        _entry("reference", None, nose=None),
    ]
    # One was found and is too unsure to be marked, another is shown by no reference.
    marks = {
        "nose": Point(0, 0, NOT_LABELLED, score=0.32),
        "ear": Point(2, 2, HIDDEN, score=0.1),
        "tail": Point(0, 0, NOT_LABELLED, score=0.0),
    }
    entries.append(SheetEntry("c", _image(), _annotations(marks), 0.1))
    sheet = sheet_cards.collect(entries, 0.5, 9, 64)
    assert (sheet.images, sheet.images_above, len(sheet.references)) == (3, 1, 1)
    assert (sheet.points, sheet.points_above) == (7, 4)
    assert (
        sheet.counts.tolist()
        == np.histogram([0.2, 0.5, 0.97, 0.5, 0.9, 0.32, 0.1], sheet_cards.BINS, (0, 1))[0].tolist()
    )
    assert sheet.names.points == {"nose": 1, "ear": 2, "tail": 3}
    write_report(tmp_path, entries, "Cats")
    read = _read(tmp_path)
    values = dict(zip(read.texts["dt"], read.texts["dd"], strict=True))
    assert values["points"] == "7" and values["images"] == "3"
    assert values["points ≥ 0.50"].strip() == "4"
    assert values["images below 0.50"].strip() == "2"
    assert read.texts["b"] == ["1", "2", "3"]


def test_points_and_crosses():
    marks = {
        "sure": Point(30, 30, score=1.0),
        "unsure": Point(90, 30, score=0.0),
        "person": Point(30, 70, score=None),
        "hidden": Point(90, 70, HIDDEN, score=0.5),
        "absent": Point(60, 45, NOT_LABELLED),
        "nowhere": Point(np.nan, 5, score=0.5),
        "outside": Point(500, -300, score=0.5),
    }
    drawn = draw_thumbnail(_image(), _annotations(marks), Names(), 240)
    assert drawn.size == (240, 180)
    assert _close(drawn.getpixel((61, 61)), score_color(1.0), 10)
    assert _close(drawn.getpixel((181, 61)), score_color(0.0), 10)
    assert _close(drawn.getpixel((61, 141)), (255, 255, 255), 10)
    assert _close(drawn.getpixel((181, 141)), (255, 255, 255), 40)  # hollow
    around = np.asarray(drawn)[133:150, 173:190].reshape(-1, 3)
    assert any(_close(pixel, score_color(0.5), 30) for pixel in around)
    assert _close(drawn.getpixel((121, 91)), [GREY] * 3, 3)


@pytest.mark.parametrize("kind", ["mask", "polygons", "box"])
def test_regions_are_tinted_and_outlined(kind):
    mask = np.zeros((90, 120), bool)
    mask[20:70, 30:90] = True
    corners = np.array([[29.5, 19.5], [89.5, 19.5], [89.5, 69.5], [29.5, 69.5]])
    region = {
        "mask": Region("", "mask", mask=mask),
        "polygons": Region("", "polygons", polygons=(corners,)),
        "box": Region("", "box", box=(29.5, 19.5, 89.5, 69.5)),
    }[kind]
    names = Names()
    drawn = np.asarray(draw_thumbnail(_image(), _annotations(regions=[region]), names, 240))
    color = np.array(names.regions["cat"])
    np.testing.assert_allclose(drawn[90, 120], 0.68 * GREY + 0.32 * color, atol=3)
    for edge in (drawn[90, 60], drawn[40, 120], drawn[90, 179], drawn[139, 120]):
        assert _close(edge, color, 30)
    for outside in (drawn[90, 55], drawn[35, 120], drawn[90, 185], drawn[145, 120]):
        assert _close(outside, [GREY] * 3, 3)


def test_points_are_in_pixels_of_the_size_of_the_annotations(tmp_path):
    # The array is half as large as the image that was annotated.
    marks = {"nose": Point(59.5, 44.5, score=1.0)}
    drawn = draw_thumbnail(_image(45, 60), _annotations(marks), Names(), 240)
    assert _close(drawn.getpixel((120, 90)), score_color(1.0), 10)


def test_colours_are_viridis():
    assert score_color(0) == score_color(-1) == score_color(np.nan) == (68, 1, 84)
    assert score_color(1) == score_color(2) == (253, 231, 36)
    assert score_color(None) == (255, 255, 255)


@pytest.mark.parametrize("size", [(2, 900), (900, 2), (1, 1), (3, 4)])
def test_images_of_any_shape(size):
    marks = {"nose": Point(1, 1, score=0.5)}
    drawn = draw_thumbnail(_image(*size), _annotations(marks, size=size), Names(), 100)
    assert max(drawn.size) == 100 and min(drawn.size) >= 1


def test_images_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "damaged.jpg").write_bytes(b"damaged")

    def fails():
        raise ValueError("The video ends here.")

    bad = [tmp_path / "damaged.jpg", tmp_path / "missing.jpg", fails]
    entries = [_entry(f"bad{n}", np.nan, image) for n, image in enumerate(bad)]
    entries.append(SheetEntry("none", None, _annotations(), np.nan, "no memory"))
    PIL.Image.fromarray(_image()).save(tmp_path / "good.png")
    entries.append(_entry("good", 0.1, tmp_path / "good.png"))
    write_report(tmp_path, entries, "Cats")
    shown = [image["alt"] for image in _read(tmp_path).all("img")]
    assert shown == ["bad0", "bad1", "bad2", "none", "good"]


def test_the_picture(tmp_path):
    def entries(count):
        for n in range(count):
            yield _entry(
                f"{n} of a rather long name in a folder/that/goes/on.jpg", n / count, a=0.5
            )

    heights = []
    for count in (1, 18, 40):
        write_report(tmp_path, entries(count), "Cats")
        with PIL.Image.open(tmp_path / PICTURE) as picture:
            assert picture.format == "PNG" and picture.mode == "RGB"
            heights.append(picture.height)
    assert heights[0] < heights[1] < heights[2]
    write_report(tmp_path, [_entry("a", None)], "References alone")
    write_report(tmp_path, [], "Nothing at all")
    assert _read(tmp_path).texts["h1"] == ["Nothing at all"]


def test_names_that_are_no_text(tmp_path):
    write_report(tmp_path, [_entry("a\udcff\n\u202e日本.jpg", 0.5)], "Cats \udcff" * 300)
    assert "日本.jpg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_failure_leaves_no_half_report(tmp_path):
    def entries():
        yield _entry("a", 0.5)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_report(tmp_path, entries(), "Cats")
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_are_named(tmp_path):
    for wrong in ({"threshold": 1.5}, {"max_images": 0}, {"thumbnail_side": 8}):
        [(name, value)] = wrong.items()
        with pytest.raises(ValueError, match=f"`{name}` must .* Received: {name}={value}"):
            write_report(tmp_path, [], "Cats", **wrong)
