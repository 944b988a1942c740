"""Tables and figures of human answers to a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.judging import HumanColumn
from capeval.studies.judging.report import build_column_table, column_dots, create_alpha_cell
from capeval.studies.votes import Incomplete, PlanVotes, WriterWins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]

# The number of incomplete questions shown in a terminal.
_MAX_SHOWN = 10
_WINNER_NAMES = {1: "first", -1: "second", 0: "tie"}


def report(votes: PlanVotes, columns: Sequence[HumanColumn] = (), lacking: str = "") -> StudyReport:
    """Return tables of agreement, wins, incomplete questions and winners of pairs, and figures.

    Args:
        votes: The votes on a plan.
        columns: The wins of each system, if known.
        lacking: The reason if they are unknown.
    """
    tables = {"agreement": _build_agreement_table(votes), "wins": _build_win_table(votes.wins, lacking)}
    tables |= {f"systems-{column.question.name.lower()}": build_column_table(column) for column in columns}
    long_tables: dict[str, Callable[[], Grid]] = {"winners": lambda: _build_winner_table(votes)}
    if votes.incomplete:
        tables["incomplete"] = _build_incomplete_table(votes.incomplete, votes.protocol, most=_MAX_SHOWN)
        long_tables["all-incomplete"] = lambda: _build_incomplete_table(votes.incomplete, votes.protocol)
    figures: dict[str, Callable[[], Figure]] = {"wins": lambda: _plot_wins(votes.wins)}
    if columns:
        figures["systems"] = lambda: column_dots(columns)
    return StudyReport(tables=tables, long_tables=long_tables, figures=figures)


def _plot_wins(wins: Sequence[WriterWins]) -> Figure:
    """Plot the shares of wins and ties of two writers, one bar per class and pair of writers."""
    from capeval.report.figures import get_color, paper_figure, set_title

    names = [f"{each.kind}: {each.a} / {each.b}" for each in wins]
    pairs = np.array([[each.a_wins, each.ties, each.b_wins] for each in wins], dtype=np.float64)
    totals = pairs.sum(axis=1)
    shares = 100 * pairs / totals[:, None]
    with paper_figure(0.9 + 0.22 * len(wins)) as figure:
        panel = figure.subplots()
        starts = np.zeros(len(wins))
        parts = (("first writer", get_color(0)), ("tie", "#bbbbbb"), ("second writer", get_color(1)))
        for (label, color), widths in zip(parts, shares.T, strict=True):
            panel.barh(range(len(wins)), widths, left=starts, color=color, label=label, height=0.7)
            starts += widths
        panel.set_yticks(
            range(len(wins)), [f"{name} ({total:,.0f})" for name, total in zip(names, totals, strict=True)]
        )
        panel.invert_yaxis()
        panel.set_xlabel("Share of pairs (%)")
        set_title(figure, "Wins by class and writers (number of pairs)")
        figure.legend(frameon=False, ncols=3, loc="outside lower center")
        return figure


def _build_agreement_table(votes: PlanVotes) -> Grid:
    """Return one row per class; in the pairwise protocol, the questions are the pairs."""
    triplets = votes.protocol == "triplets"
    rows = tuple(
        (
            *(
                Cell(value=value)
                for value in (
                    kind,
                    each.pairs,
                    each.tied_pairs,
                    *((each.questions, each.tied_questions) if triplets else ()),
                    each.answers,
                )
            ),
            create_alpha_cell(each.alpha),
        )
        for kind, each in votes.agreement.items()
    )
    questions = ("Triplets", "Tied triplets") if triplets else ()
    columns = ("Class", "Pairs", "Tied pairs", *questions, "Answers", "Alpha (nominal)")
    notes = sorted({each.alpha.note for each in votes.agreement.values() if each.alpha is not None})
    return Grid(columns=columns, rows=rows, notes=tuple(notes))


def _build_incomplete_table(
    incomplete: Sequence[Incomplete], protocol: str, *, most: int | None = None
) -> Grid:
    rows = tuple(
        tuple(Cell(value=value) for value in (each.question, each.pair, each.answers, each.planned))
        for each in incomplete[:most]
    )
    what = "Triplet" if protocol == "triplets" else "Question"
    more = len(incomplete) - len(rows)
    notes = (f"{more:,} more: see all-incomplete.csv (--output)",) if more else ()
    return Grid(columns=(what, "Pair", "Answers", "Planned"), rows=rows, notes=notes)


def _build_win_table(wins: Sequence[WriterWins], lacking: str) -> Grid:
    rows = tuple(
        tuple(Cell(value=value) for value in (each.kind, each.a, each.b, each.a_wins, each.b_wins, each.ties))
        for each in wins
    )
    notes = (f"no fractions of wins by system: {lacking}",) if lacking else ()
    return Grid(columns=("Class", "A", "B", "A wins", "B wins", "Ties"), rows=rows, notes=notes)


def _build_winner_table(votes: PlanVotes) -> Grid:
    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (
                number,
                pair.kind,
                pair.first_by,
                pair.second_by,
                pair.votes.count(1),
                pair.votes.count(-1),
                _WINNER_NAMES[winner],
            )
        )
        for number, pair, winner in zip(votes.numbers, votes.pairs, votes.winners.tolist(), strict=True)
    )
    columns = ("Pair", "Class", "First by", "Second by", "For first", "For second", "Winner")
    return Grid(columns=columns, rows=rows)
