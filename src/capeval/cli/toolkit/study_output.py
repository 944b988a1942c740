"""Shared parts of study commands: options, and output of reports."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.optional_packages import install_command, make_missing_package_error
from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import deliver, render
from capeval.errors import CapevalWarning, DependencyError
from capeval.errors.messages import format_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.report.study_report import StudyReport
    from capeval.studies.judging import HumanColumn
    from capeval.studies.shared.papers import PaperReport

__all__ = [
    "CheckpointFile",
    "CocoCaptions",
    "CompleteOnly",
    "Folder",
    "write_columns",
    "write_paper_report",
    "write_study_report",
]

Folder = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Write tables (CSV) and figures (PDF, PNG, SVG) to this folder.",
    ),
]

CocoCaptions = Annotated[
    Path | None, Argument(metavar="CAPTIONS", help="Caption file.", show_default="COCO val2014")
]

CompleteOnly = Annotated[
    bool, Option("--complete-only", help="Exclude triplets or pairs with fewer answers than planned.")
]

CheckpointFile = Annotated[
    Path | None,
    Option("--checkpoint", help="Save finished parts to this file, so that the same command can resume."),
]


def write_study_report(
    report: StudyReport,
    folder: Path | None = None,
    *,
    write: Callable[[Path], Sequence[Path]] = lambda _: (),
) -> None:
    """Print the tables of a report, and write tables and figures to a folder, if any.

    Without matplotlib, the figures are left out with a warning.

    Args:
        report: The tables and figures.
        folder: The folder for the files, which is created if missing; None to write no files.
        write: Function that writes additional files to the folder and returns their paths.

    Raises:
        OSError: A file can't be written.
    """
    figures = {} if folder is None else _list_possible_figures(report)
    for name, grid in report.tables.items():
        render(grid, "table", None, name.replace("-", " ").capitalize())
        deliver("\n", None)
    if folder is None:
        return
    from capeval.report import to_csv

    folder.mkdir(parents=True, exist_ok=True)
    tables = {**report.tables, **{name: make() for name, make in report.long_tables.items()}}
    for name, grid in tables.items():
        deliver(to_csv(grid), folder / f"{name}.csv")
    drawn = [path for name, draw in figures.items() for path in _write_figure(draw, folder / name)]
    written = len(tables) + len(drawn) + len(write(folder))
    deliver(f"{written} files in {folder}\n", None)


def _list_possible_figures(report: StudyReport) -> Mapping[str, Callable[[], Figure]]:
    """Return the figures of a report; none, with a warning, if matplotlib is not installed."""
    if not report.figures or _has_matplotlib():
        return report.figures
    warnings.warn(
        f"matplotlib is not installed, so these figures are left out: {format_names(list(report.figures))};"
        f" to add them, run {install_command('matplotlib', 'studies')}",
        CapevalWarning,
        stacklevel=3,
    )
    return {}


def _write_figure(draw: Callable[[], Figure], place: Path) -> list[Path]:
    """Draw a figure in each theme, write it in the formats of the theme, and return the paths."""
    from capeval.report.figures import THEMES, save_figure, use_theme

    paths = []
    for theme in THEMES:
        with use_theme(theme):
            figure = draw()
        for form in theme.formats:
            paths.append(place.with_name(f"{place.name}{theme.suffix}.{form}"))
            save_figure(figure, paths[-1])
    return paths


def write_paper_report(report: PaperReport, folder: Path | None = None) -> None:
    """Print the results of a paper's parts, and write a page, tables and figures to a folder, if any.

    Without matplotlib, the figures are left out with a warning.

    Raises:
        OSError: A file can't be written.
    """

    def write_page(place: Path) -> list[Path]:
        page = place / "report.md"
        deliver(report.to_markdown(with_figures=_has_matplotlib()), page)
        return [page]

    write_study_report(report.to_study_report(), folder, write=write_page)


def _has_matplotlib() -> bool:
    """Return whether matplotlib is installed.

    Raises:
        ImportError: It is installed but can't be imported.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        if not isinstance(make_missing_package_error("figures need", error), DependencyError):
            raise
        return False
    return True


def write_columns(columns: Sequence[HumanColumn], folder: Path, *, release: str = "") -> list[Path]:
    """Write human scores of systems to human.csv and differences.csv.

    Returns:
        The paths of the files.
    """
    from capeval.formats.judgments.human_scores import write_human_scores
    from capeval.studies.judging import human_scores

    differences = [each for column in columns for each in column.differences()]
    return write_human_scores(human_scores(columns, release=release), differences, folder)
