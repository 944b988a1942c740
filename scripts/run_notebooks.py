"""Execution of the documentation's notebooks with outputs: `make notebooks`.

The saved files depend only on the notebooks, not on times, local paths or the Python version.
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
# Seconds until a kernel must have started; generous for busy machines.
_PATIENCE = 600


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Execute the cells of a notebook in a new kernel; return it with outputs.

    Args:
        notebook: Notebook to execute.
        folder: Working directory of the kernel.

    Raises:
        CellExecutionError: A cell failed.
    """
    made: NotebookNode = nbformat.from_dict(notebook)
    # Keeps the kernel's sockets and history in a temporary folder, instead of the user's.
    with tempfile.TemporaryDirectory() as scratch:
        kernel = {"transport": "ipc", "connection_file": str(Path(scratch) / "kernel.json")}
        client = NotebookClient(
            made,
            kernel_name="python3",
            startup_timeout=_PATIENCE,
            resources={"metadata": {"path": str(folder)}},
            # On a busy machine, a kernel sends one text in several parts.
            coalesce_streams=True,
            config=Config(AsyncKernelManager=kernel),
        )
        client.execute(env={**os.environ, "IPYTHONDIR": scratch})
    made.metadata = nbformat.from_dict(_METADATA)
    for cell in made.cells:
        cell.metadata = nbformat.from_dict({})
    return made


def main() -> None:
    """Execute every notebook and write its outputs."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(nbformat.read(path, as_version=4), Path(folder))
        path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
