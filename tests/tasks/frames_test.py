"""Finding and reading images of folders, globs, lists and videos."""

import os
import sys

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.tasks.frames import ImageFiles, natural_key, open_images

NAMES = ("frame1.png", "frame2.png", "Frame10.PNG", "frame20.jpg")


def _write(folder, *names, shade=None):
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        grey = 10 * number if shade is None else shade
        PIL.Image.new("RGB", (12, 8), (grey, grey, grey)).save(path)


def test_a_folder_in_natural_order_without_hidden_files_and_folders(tmp_path):
    _write(tmp_path, *reversed(NAMES), ".hidden.png", "below/deep.png", ".git/a.png")
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    images = open_images(tmp_path)
    assert images.names == NAMES
    assert len(images) == 4 and not images.is_video and images.folder == tmp_path
    read = images.read(2)
    assert read.original_size == (8, 12)
    assert (read.pixels == 10).all()  # the second that was written
    with pytest.raises(IndexError, match="There are 4 images. Received: index=4"):
        images.read(4)
    with pytest.raises(IndexError):
        images.read(-1)


def test_sub_folders_on_request_and_links_in_circles(tmp_path):
    folder = tmp_path / "shots"
    _write(folder, "b.png", "run10/a.png", "run2/a.png", "run2/x/c.png", "__MACOSX/a.png")
    (folder / "run2" / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "run2" / "other").symlink_to(folder / "run10", target_is_directory=True)
    (folder / "broken.png").symlink_to(tmp_path / "nowhere.png")
    (folder / "self.png").symlink_to(folder / "self.png")
    expected = ("b.png", "run2/a.png", "run2/x/c.png", "run10/a.png")
    assert open_images(folder, recursive=True).names == expected
    assert open_images(folder).names == ("b.png",)
    assert open_images(folder / "**" / "*.png").names == expected
    assert open_images(folder / "**" / "a.png").names == ("run2/a.png", "run10/a.png")
    assert open_images(folder / "run*" / "*.png").names == ("run2/a.png", "run10/a.png")
    # A link to a folder elsewhere is entered.
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "there").symlink_to(folder / "run2" / "x", target_is_directory=True)
    assert open_images(tmp_path / "linked", recursive=True).names == ("there/c.png",)


def test_globs(tmp_path, monkeypatch):
    _write(tmp_path, "shots/a1.png", "shots/a2.jpg", "shots/b1.png", "shots/.a3.png", "img[1].png")
    (tmp_path / "shots" / "a9.txt").write_text("")
    images = open_images(str(tmp_path / "shots" / "a*"))
    assert images.names == ("a1.png", "a2.jpg")
    assert images.folder == tmp_path / "shots"
    monkeypatch.chdir(tmp_path)
    assert open_images("s*/a?.png").names == ("shots/a1.png",)
    # A file whose name looks like a glob.
    assert open_images("img[1].png").names == ("img[1].png",)
    with pytest.raises(ValueError, match=r"Expected images .*Received: '\*\.webp' without any"):
        open_images("*.webp")
    with pytest.raises(ValueError, match=r"Received: 'no/\*\*/x' without any"):
        open_images("no/**/x")


def test_lists_keep_their_order(tmp_path, monkeypatch):
    _write(tmp_path, "x/b.png", "x/y/a.png")
    monkeypatch.chdir(tmp_path)
    images = open_images(["x/y/a.png", tmp_path / "x" / "b.png", "x/y/a.png"])
    assert isinstance(images, ImageFiles)
    assert images.names == ("y/a.png", "b.png")
    assert (images.read(0).pixels == 10).all()
    assert open_images(["x/b.png"]).names == ("b.png",)
    with pytest.raises(ValueError, match="Received: an empty list"):
        open_images([])
    with pytest.raises(ValueError, match="Received: a list with the video 'c.mp4'"):
        open_images(["x/b.png", "c.mp4"])


def test_what_cannot_be_read_is_an_error_of_reading(tmp_path):
    _write(tmp_path, "a.png", "c.png")
    (tmp_path / "b.png").write_bytes(b"damaged")
    images = open_images(tmp_path)
    assert images.names == ("a.png", "b.png", "c.png")
    with pytest.raises(ValueError, match="must be a readable image.*Received: .*b.png"):
        images.read(1)
    os.remove(tmp_path / "c.png")
    with pytest.raises(ValueError, match="Received: .*c.png"):
        images.read(2)
    with pytest.raises(ValueError, match="at most 95 pixels"):
        open_images(tmp_path, max_pixels=95).read(0)


def test_nothing_there(tmp_path):
    with pytest.raises(ValueError, match=r"Expected images \(.jpg, .*Received: .* without any$"):
        open_images(tmp_path)
    (tmp_path / "clip.mp4").write_bytes(b"")
    with pytest.raises(ValueError, match="a video is named by its own path. Received"):
        open_images(tmp_path)
    (tmp_path / "annotations.json").write_text("{}")
    for missing in (tmp_path / "annotations.json", tmp_path / "nowhere", tmp_path / "clip.avi"):
        with pytest.raises(ValueError, match="Expected a folder of images.* Received: ") as error:
            open_images(missing)
        assert "\n" not in str(error.value)


def test_an_image_alone_whatever_its_ending(tmp_path):
    PIL.Image.new("L", (5, 4), 7).save(tmp_path / "a.ppm")
    images = open_images(tmp_path / "a.ppm")
    assert images.names == ("a.ppm",)
    assert (images.read(0).pixels == 7).all()


def test_numbers_in_names_count_as_numbers():
    expected = ["1", "2", "10", "a", "A1", "a01", "a2", "a2b", "a10", "b/2", "b/10", "b1", "³"]
    shuffled = np.random.default_rng(0).permutation(expected).tolist()
    assert sorted(shuffled, key=natural_key) == expected


# Frames are told apart by the brightness of two fields, which survives lossy codecs.
def _shades(number):
    return 30 + 9 * (number * 7 % 23), 30 + 30 * (number // 23)


def _write_video(path, frames, codec, size=(96, 64)):
    cv2 = pytest.importorskip("cv2")
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), 10, size)
    if not writer.isOpened():
        pytest.skip(f"this OpenCV writes no {codec}")
    for number in range(frames):
        frame = np.full((size[1], size[0], 3), _shades(number)[0], np.uint8)
        frame[:, size[0] // 2 :] = _shades(number)[1]
        frame[: size[1] // 2, :, 0] = 0  # blue; OpenCV's first
        writer.write(frame)
    writer.release()


def _check_frame(images, number):
    read = images.read(number)
    assert read.original_size == (64, 96) and read.pixels.shape == (64, 96, 3)
    shades = [read.pixels[40:, :40].mean(), read.pixels[40:, 56:].mean()]
    np.testing.assert_allclose(shades, _shades(number), atol=4.4, err_msg=f"frame {number}")
    red, _, blue = read.pixels[4:24].mean(axis=(0, 1))
    assert red > blue + 10


@pytest.mark.parametrize("name, codec", [("clip.avi", "MJPG"), ("clip.mp4", "mp4v")])
def test_frames_of_a_video_in_any_order(tmp_path, name, codec):
    _write_video(tmp_path / name, 120, codec)
    images = open_images(tmp_path / name)
    assert len(images) == 120 and images.is_video and images.folder == tmp_path
    assert images.names[:2] == (f"{name}#000000", f"{name}#000001")
    assert images.names[-1] == f"{name}#000119"
    for number in range(0, 120):
        _check_frame(images, number)
    for number in (0, 119, 60, 60, 59, 3, 100, 118, 119, 1):
        _check_frame(images, number)
    images.close()
    _check_frame(images, 77)
    for index in (-1, 120):
        with pytest.raises(IndexError, match="There are 120 frames. Received"):
            images.read(index)


def test_reading_in_order_never_seeks_and_opens_once(tmp_path, monkeypatch):
    _write_video(tmp_path / "clip.avi", 50, "MJPG")
    images = open_images(tmp_path / "clip.avi")
    calls = []
    monkeypatch.setattr(images, "_seek", lambda index: calls.append(index))
    opened = images._open
    monkeypatch.setattr(images, "_open", lambda: (calls.append("open"), opened()))
    for number in (*range(0, 30), *range(30, 50, 5)):
        _check_frame(images, number)
    assert calls == ["open"]


def test_an_inaccurate_seek_is_noticed(tmp_path):
    cv2 = pytest.importorskip("cv2")
    _write_video(tmp_path / "clip.avi", 100, "MJPG")
    images = open_images(tmp_path / "clip.avi")
    images.read(0)

    class Inaccurate:
        """Seeks to the frame before the one that is asked for."""

        def __init__(self, capture):
            self.capture, self.seeks = capture, 0

        def set(self, what, value):
            self.seeks += 1
            return self.capture.set(what, value - 1 if what == cv2.CAP_PROP_POS_FRAMES else value)

        def __getattr__(self, name):
            return getattr(self.capture, name)

    images._capture = inaccurate = Inaccurate(images._capture)
    _check_frame(images, 80)
    assert inaccurate.seeks == 1
    _check_frame(images, 81)


def test_times_that_stand_still_are_not_sought(tmp_path, monkeypatch):
    _write_video(tmp_path / "clip.avi", 60, "MJPG")
    images = open_images(tmp_path / "clip.avi")
    assert images._can_verify
    monkeypatch.setattr(images, "_can_verify", False)
    for number in (50, 4, 59):
        _check_frame(images, number)


def test_frames_are_counted_and_not_believed(tmp_path):
    _write_video(tmp_path / "whole.avi", 80, "MJPG")
    contents = (tmp_path / "whole.avi").read_bytes()
    # The header still says 80.
    (tmp_path / "cut.avi").write_bytes(contents[: len(contents) // 2])
    images = open_images(tmp_path / "cut.avi")
    assert 20 < len(images) < 60
    _check_frame(images, len(images) - 2)
    _check_frame(images, 0)


def test_no_video(tmp_path):
    pytest.importorskip("cv2")
    _write_video(tmp_path / "none.avi", 0, "MJPG")
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "text%02d.mov").write_text("this is no video")
    (tmp_path / "noise.mkv").write_bytes(np.random.default_rng(0).bytes(5000))
    for name in ("none.avi", "empty.mp4", "text%02d.mov", "noise.mkv"):
        with pytest.raises(ValueError, match="must be a video.* Received: .*" + name) as error:
            open_images(tmp_path / name)
        assert "\n" not in str(error.value)


def test_a_glob_or_list_of_one_video(tmp_path):
    _write_video(tmp_path / "clip.avi", 3, "MJPG")
    assert len(open_images(tmp_path / "cl*")) == len(open_images([tmp_path / "clip.avi"])) == 3


def test_without_opencv(tmp_path, monkeypatch):
    (tmp_path / "clip.mp4").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"pip install 'anchornet_tf\[video\]'$"):
        open_images(tmp_path / "clip.mp4")
