"""What every study's command does with its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import deliver, render
from capeval.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.report import Grid

__all__ = ["CheckpointFile", "Folder", "show"]

Folder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FOLDER", help="Write tables as CSV and figures as PNG and SVG here."
    ),
]

CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", metavar="FILE", help="Keep what is done here, to stop and go on.", show_default=False
    ),
]


def show(
    grids: Mapping[str, Grid],
    figures: Mapping[str, Callable[[], Figure]],
    folder: Path | None = None,
    *,
    files: Mapping[str, Callable[[], Grid]] | None = None,
) -> None:
    """Prints tables, and writes them and the figures to a folder where one is given.

    Args:
        grids: The tables, by the names of their files.
        figures: What draws each figure, by the name of its files; called only when they are written.
        folder: Where the files go; it is made where it is missing.
        files: What makes each table that is too long for a terminal, by the name of its file.

    Raises:
        DependencyError: matplotlib is not installed.
        OSError: A file can't be written.
    """
    if folder is not None and figures:
        _require_matplotlib()
    for name, grid in grids.items():
        render(grid, "table", None, name.replace("-", " ").capitalize())
        deliver("\n", None)
    if folder is None:
        return
    from capeval.report import to_csv
    from capeval.report.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    tables = {**grids, **{name: make() for name, make in (files or {}).items()}}
    for name, grid in tables.items():
        deliver(to_csv(grid), folder / f"{name}.csv")
    for name, draw in figures.items():
        save(draw(), folder / name)
    written = len(tables) + 2 * len(figures)
    deliver(f"{written} files in {folder}\n", None)


def _require_matplotlib() -> None:
    """Says what is missing before anything is printed or written."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        message = 'figures need matplotlib: pip install ".[studies]"'
        raise DependencyError(message) from None
