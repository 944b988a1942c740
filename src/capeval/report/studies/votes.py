"""Tables of people's answers to the triplets of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.report.grids import Cell, Grid
from capeval.report.studies import StudyReport
from capeval.studies.votes import PlanVotes, TripletAgreement, WriterWins

__all__ = ["report"]

_WINNER = {1: "first", -1: "second", 0: "tie"}


def report(votes: PlanVotes) -> StudyReport:
    """How far people agree, who wins against whom, and the votes and the winner of each pair."""
    return StudyReport(
        tables={"agreement": _agreement(votes.agreement), "wins": _wins(votes.wins)},
        long_tables={"winners": lambda: _winners(votes)},
    )


def _agreement(classes: Mapping[str, TripletAgreement]) -> Grid:
    rows = tuple(
        (
            Cell(value=kind),
            Cell(value=each.pairs),
            Cell(value=each.tied_pairs),
            Cell(value=each.triplets),
            Cell(value=each.tied_triplets),
            Cell(value=each.answers),
            Cell(value=each.alpha),
        )
        for kind, each in classes.items()
    )
    columns = ("Class", "Pairs", "Tied pairs", "Triplets", "Tied triplets", "Answers", "Alpha")
    return Grid(columns=columns, rows=rows)


def _wins(wins: Sequence[WriterWins]) -> Grid:
    rows = tuple(
        tuple(Cell(value=value) for value in (each.kind, each.a, each.b, each.a_wins, each.b_wins, each.ties))
        for each in wins
    )
    return Grid(columns=("Class", "A", "B", "A wins", "B wins", "Ties"), rows=rows)


def _winners(votes: PlanVotes) -> Grid:
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
                _WINNER[winner],
            )
        )
        for number, (pair, winner) in enumerate(zip(votes.pairs, votes.winners.tolist(), strict=True))
    )
    columns = ("Pair", "Class", "First by", "Second by", "For first", "For second", "Winner")
    return Grid(columns=columns, rows=rows)
