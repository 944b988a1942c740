"""Runs the notebooks of the documents, and stores what they show in them: `make notebooks`.

What is stored depends on nothing but the notebook: no times, no paths of this machine, no version of Python.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

__all__ = ["NOTEBOOKS", "executed", "main"]

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Seconds until a kernel that does not start is given up, also on a machine that is busy.
_PATIENCE = 600


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """A notebook after all its cells ran, in order, in a kernel of its own.

    Args:
        notebook: The notebook.
        folder: Where it runs, and writes its files.

    Raises:
        CellExecutionError: A cell failed.
    """
    made: NotebookNode = nbformat.from_dict(notebook)
    # The kernel's sockets and its history are in a folder that goes away, not among those of the user.
    with tempfile.TemporaryDirectory() as scratch:
        kernel = {"transport": "ipc", "connection_file": str(Path(scratch) / "kernel.json")}
        client = NotebookClient(
            made,
            kernel_name="python3",
            startup_timeout=_PATIENCE,
            resources={"metadata": {"path": str(folder)}},
            config=Config(AsyncKernelManager=kernel),
        )
        client.execute(env={**os.environ, "IPYTHONDIR": scratch})
    made.metadata = nbformat.from_dict(_METADATA)
    for cell in made.cells:
        cell.metadata = nbformat.from_dict({})
    return made


def main() -> None:
    """Runs every notebook, and writes it."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(nbformat.read(path, as_version=4), Path(folder))
        path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
