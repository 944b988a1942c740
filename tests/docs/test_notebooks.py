"""The notebooks of the documentation run and reproduce their stored outputs (see `make notebooks`)."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from scripts.run_notebooks import NOTEBOOKS, executed

DOCS = NOTEBOOKS.parent
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
EVERY = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


def test_there_are_notebooks() -> None:
    assert PATHS


def shown(notebook: NotebookNode) -> list[list[str]]:
    """Return the outputs of the code cells, with the version of capeval in signatures masked."""
    outputs = [
        [str(output.get("text") or sorted(output["data"].items())) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return [[re.sub(r"capeval=[\w.+-]+", "capeval=...", text) for text in texts] for texts in outputs]


@EVERY
def test_a_notebook_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    made = executed(stored, tmp_path)
    assert shown(made) == shown(stored), "the notebook shows something else now: make notebooks"
    assert sum(bool(texts) for texts in shown(stored)) >= 5


@EVERY
def test_a_notebook_is_stored_as_run_in_order_and_without_a_trace_of_the_machine(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not any(cell.metadata for cell in stored.cells)
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users|usr|opt|private)/|site-packages|\\x1b|\\u001b", text)
    assert len(text) < 100_000


@EVERY
def test_a_notebook_is_found_and_its_links_lead_somewhere(path: Path) -> None:
    here = f"notebooks/{path.name}"
    assert any(here in page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    links = re.findall(r"\]\(([^)#:]+)[^)]*\)", path.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (path.parent / link).is_file(), link
