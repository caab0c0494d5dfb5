"""Runs a notebook from top to bottom and saves it with its pictures.

    python tools/run_notebook.py examples/tour.ipynb

What the notebook writes goes into a temporary folder. Text that goes to stderr (progress bars,
messages of TensorFlow) is left out of what is saved, and so are the times, so that running it again
changes as little as possible. The notebook stays as it was if a cell fails.
"""

import os
import pathlib
import sys
import tempfile

from absl import app

ROOT = pathlib.Path(__file__).resolve().parents[1]
_SECONDS_PER_CELL = 800


def run(notebook, folder: str | os.PathLike) -> None:
    """Runs all cells of a notebook in a folder; their outputs are in it afterwards.

    Args:
        notebook: As `nbformat.read` returns it.
        folder: Where files are written that the cells write.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    import nbclient

    # The checkout's package, wherever the notebook runs.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = nbclient.NotebookClient(
        notebook,
        timeout=_SECONDS_PER_CELL,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": os.fspath(folder)}},
    )
    client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]


def main(argv):
    if len(argv) != 2:
        sys.exit(f"Expected the path of a notebook. Received: {' '.join(argv[1:]) or 'nothing'}")
    try:
        import nbclient  # noqa: F401
        import nbformat
    except ImportError:
        sys.exit("Notebooks need the extra: pip install 'anchornet_tf[notebook]'")
    from anchornet_tf.utils import files

    notebook = nbformat.read(argv[1], as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        run(notebook, folder)
    with files.atomic_file(argv[1]) as temporary:
        nbformat.write(notebook, temporary)


if __name__ == "__main__":
    app.run(main)
