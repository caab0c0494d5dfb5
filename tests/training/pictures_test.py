"""Pictures of training leave the user's pyplot alone: a notebook goes on showing its figures."""

import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
from matplotlib.figure import Figure

from anchornet_tf.training import filter_picture

_FILTERS = """
from anchornet_tf.training import filter_picture
filter_picture.draw([("filter 0", [(image, maps)])], "title", "picture.png")
"""
_PARTS = """
from anchornet_tf.training.constellation import picture
places = np.full((2, 2), 0.5)
picture.draw([("aspect 0", [(image, places, places[0], np.array([True, False]))])], "title",
             "picture.png")
"""
# Another backend than the one that draws without a window; it needs no window either.
_PROGRAM = """
import matplotlib
matplotlib.use("svg")
import numpy as np
from matplotlib import pyplot
pyplot.figure()
image, maps = np.zeros((32, 48, 3), np.uint8), np.eye(8)
{drawing}
assert matplotlib.get_backend() == "svg", matplotlib.get_backend()
assert len(pyplot.get_fignums()) == 1, pyplot.get_fignums()
"""


@pytest.mark.parametrize("drawing", [_FILTERS, _PARTS], ids=["filters", "parts"])
def test_backend_and_figures_of_the_user_stay(drawing, tmp_path):
    program = _PROGRAM.format(drawing=drawing)
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    assert PIL.Image.open(tmp_path / "picture.png").width > 200


@pytest.mark.parametrize("columns", [1, 2, 6])
def test_the_title_fits_above_few_images(columns, tmp_path, monkeypatch):
    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *args, **kwargs: drawn.append(self) or save(self, *args)
    )
    cells = [(np.zeros((32, 48, 3), np.uint8), np.eye(8))] * columns
    title = "aeroplane: filters that stand out, of 64, on held-out images"
    filter_picture.draw([("filter 0", cells)] * 3, title, tmp_path / "picture.png")
    (figure,) = drawn
    extent = figure._suptitle.get_window_extent()
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.x1
    top = max(axes.get_window_extent().y1 for axes in figure.axes)
    assert top <= extent.y0
