"""Tables of a campaign's results page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from capeval.studies.judging import HUMAN
from capeval.studies.judging.wins import WINS
from capeval_server.annotation.releases.current_results import ALL, CampaignNumber, CampaignResults
from capeval_server.core.svg_plots import Theme
from capeval_server.leaderboards.plots import TOP, Dot, Plot

__all__ = ["ModeledScores", "ResultPivot", "build_plot", "list_plotted", "list_systems", "list_wins", "pivot"]


@dataclass(frozen=True)
class ResultPivot:
    """A table of results: numbers by name and class, or by class and name.

    Attributes:
        question: The question.
        columns: The headings of the columns.
        lines: The heading and the cells of each row; None for missing numbers.
    """

    question: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[CampaignNumber | None, ...]], ...]


def _by_question(rows: Sequence[CampaignNumber]) -> dict[str, list[CampaignNumber]]:
    found: dict[str, list[CampaignNumber]] = {}
    for row in rows:
        found.setdefault(row.question, []).append(row)
    return found


def pivot(
    results: CampaignResults,
    table: str,
    down: Callable[[CampaignNumber], str],
    across: Callable[[CampaignNumber], str],
) -> list[ResultPivot]:
    """Return the numbers of a table by question.

    Args:
        results: The results.
        table: Name of the table.
        down: Returns the heading of a number's row.
        across: Returns the heading of its column.
    """
    found = []
    for question, rows in _by_question(results.select(table)).items():
        # Choices are numbers, or names in alphabetical order, of which one may be missing in the first class.
        columns = tuple(sorted(dict.fromkeys(map(across, rows)), key=lambda name: name == ALL))
        columns = tuple(sorted(columns)) if table == "choices" else columns
        cells = {(down(row), across(row)): row for row in rows}
        lines = tuple(
            (name, tuple(cells.get((name, column)) for column in columns))
            for name in dict.fromkeys(map(down, rows))
        )
        found.append(ResultPivot(question, columns, lines))
    return found


@dataclass(frozen=True)
class ModeledScores:
    """Scores of systems by people, and by models of the workers.

    Attributes:
        models: Names of the models.
        lines: The score of each system, best first, with its scores by the models.
    """

    models: tuple[str, ...]
    lines: tuple[tuple[CampaignNumber, tuple[CampaignNumber | None, ...]], ...]


def list_systems(results: CampaignResults) -> dict[str, ModeledScores]:
    """Return the scores of systems by question."""
    modeled = {(row.question, row.name, row.other): row for row in results.select("models")}
    models = tuple(dict.fromkeys(model for *_, model in modeled))
    return {
        question: ModeledScores(
            models,
            tuple((row, tuple(modeled.get((question, row.name, model)) for model in models)) for row in rows),
        )
        for question, rows in _by_question(results.select("systems")).items()
    }


def list_wins(results: CampaignResults) -> list[CampaignNumber]:
    """Return the wins of systems against each other; none if the scores of systems are the same shares."""
    wins = results.select("wins")
    is_scored = any(row.question == WINS.name for row in results.select("systems"))
    return [] if is_scored and len(wins) == 1 else wins


def build_plot(
    results: CampaignResults, table: str, question: str, theme: Theme, *, narrow: bool
) -> Plot | None:
    """Return the plot of the numbers of a question over all classes; None if there are none.

    Args:
        results: The results.
        table: `systems` or `metrics`.
        question: Name of the question.
        theme: The colors of the page.
        narrow: Whether the plot is for a phone.
    """
    dots = [
        Dot(row.name, row.value, row.low, row.high, row.name == HUMAN)
        for row in results.select(table)
        if row.question == question
        and _is_plotted(row)
        and row.value is not None
        and row.low is not None
        and row.high is not None
    ]
    title = "share of pairs" if table == "metrics" else question
    return Plot(title, theme, tuple(dots[:TOP]), narrow) if dots else None


def list_plotted(results: CampaignResults, table: str) -> set[str]:
    """Return the questions with numbers to plot."""
    return {row.question for row in results.select(table) if _is_plotted(row)}


def _is_plotted(row: CampaignNumber) -> bool:
    return row.category == ALL and None not in (row.value, row.low, row.high)
