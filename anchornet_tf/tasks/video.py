"""Frames of a video, read with OpenCV: quickly in their order, and correctly in any other."""

import os
import pathlib
import threading

import numpy as np
from absl import logging

from anchornet_tf.utils.image_io import ScaledImage, read_scaled

VIDEO_SUFFIXES = (
    *(".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"),
    *(".wmv", ".flv", ".mts", ".m2ts", ".ogv", ".3gp", ".mjpeg"),
)
_DIGITS = 6
# Going over so many frames is quicker than a seek, which decodes from the last key frame.
_FRAMES_GONE_OVER = 32
_FEW_MISSING, _SHARE_MISSING = 3, 0.02
_QUIET = {"OPENCV_FFMPEG_LOGLEVEL": "-8", "OPENCV_LOG_LEVEL": "OFF"}


class VideoFrames:
    """The frames of a video. An `anchornet_tf.tasks.frames.ImageSequence`.

    The headers of some files lie about the number of frames, and some codecs seek to a frame
    nearby. So all frames are gone over once when a video is opened, and their times noted. A seek
    is believed if it arrives at the time of the frame; otherwise the video is decoded from its
    beginning.

    Args:
        path: path of the video.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Raises:
        ImportError: If OpenCV is not installed.
        ValueError: If the file is no video, or no frame of it can be decoded.
    """

    is_video = True

    def __init__(self, path: str | os.PathLike, max_pixels: int | None = None):
        self.path = pathlib.Path(path)
        self.folder = self.path.parent
        self._max_pixels = max_pixels
        self._capture, self._next = None, 0
        # A capture stands at one frame: two threads must not move it at once.
        self._lock = threading.Lock()
        self._times = self._go_over()
        digits = max(_DIGITS, len(str(len(self._times) - 1)))
        self.names = tuple(f"{self.path.name}#{n:0{digits}}" for n in range(len(self._times)))
        # Times that stand still do not tell frames apart.
        self._can_verify = bool((np.diff(self._times) > 0).all())

    def __len__(self) -> int:
        return len(self.names)

    def read(self, index: int) -> ScaledImage:
        """As in `anchornet_tf.tasks.frames.ImageSequence`."""
        if not 0 <= index < len(self):
            raise IndexError(f"There are {len(self)} frames. Received: index={index}")
        with self._lock:
            frame = self._frame(index)
        return read_scaled(frame, max_pixels=self._max_pixels)

    def close(self) -> None:
        """Closes the file, until a frame is read again."""
        with self._lock:
            if self._capture is not None:
                self._capture.release()
            self._capture, self._next = None, 0

    def _frame(self, index: int) -> np.ndarray:
        if self._capture is None:
            self._open()
        is_near = 0 <= index - self._next <= _FRAMES_GONE_OVER
        arrived = self._go_forward(index) if is_near else self._seek(index)
        if not arrived:
            self._open()
            arrived = self._go_forward(index)
        decoded, frame = self._capture.retrieve() if arrived else (False, None)
        if not decoded:
            raise ValueError(
                f"The frame of the video must be readable. Received: {self._name(index)}"
            )
        # OpenCV gives blue, green, red.
        cv2 = _cv2()
        return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)

    def _go_forward(self, index: int) -> bool:
        """Grabs frames up to one that is not behind; returns whether it is there."""
        while self._next <= index:
            if not self._capture.grab():
                self._next = len(self._times) + 1  # Nothing is near: the next read seeks.
                return False
            self._next += 1
        return True

    def _seek(self, index: int) -> bool:
        """Seeks to a frame and grabs it; returns whether it is known to be the right one."""
        cv2 = _cv2()
        if not self._can_verify or not self._capture.set(cv2.CAP_PROP_POS_FRAMES, index):
            return False
        self._next = index + 1
        return self._capture.grab() and self._time() == self._times[index]

    def _go_over(self) -> np.ndarray:
        """Returns the time of every frame in milliseconds."""
        cv2 = _cv2()
        self._open()
        stated = self._capture.get(cv2.CAP_PROP_FRAME_COUNT)
        times = []
        while self._capture.grab():
            times.append(self._time())
        self.close()
        if not times:
            raise self._unreadable()
        if stated - len(times) > max(_FEW_MISSING, _SHARE_MISSING * stated):
            logging.warning(
                "Of the %d frames that the video claims to have, %d can be read: %s",
                *(stated, len(times), self.path),
            )
        return np.array(times)

    def _time(self) -> float:
        return self._capture.get(_cv2().CAP_PROP_POS_MSEC)

    def _open(self) -> None:
        cv2 = _cv2()
        if self._capture is not None:
            self._capture.release()
        # Other readers of OpenCV take digits or % in a name for a series of images.
        has_ffmpeg = cv2.CAP_FFMPEG in cv2.videoio_registry.getBackends()
        reader = cv2.CAP_FFMPEG if has_ffmpeg else cv2.CAP_ANY
        self._capture, self._next = cv2.VideoCapture(str(self.path), reader), 0
        if not self._capture.isOpened():
            self._capture = None
            raise self._unreadable()

    def _unreadable(self) -> ValueError:
        return ValueError(
            f"The file must be a video that OpenCV can read. Received: {str(self.path)!r}"
        )

    def _name(self, index: int) -> str:
        return str(self.path.with_name(self.names[index]))


def _cv2():
    """Returns OpenCV, which few users need."""
    # What cannot be read is said in one line, which theirs would surround with several.
    for name, level in _QUIET.items():
        os.environ.setdefault(name, level)
    try:
        import cv2
    except ImportError as error:
        raise ImportError("Videos need OpenCV: pip install 'anchornet_tf[video]'") from error
    return cv2
