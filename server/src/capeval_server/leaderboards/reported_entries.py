"""What was reported elsewhere, beside a leaderboard: never among its rows, their ranks and their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Any

from capeval_server.challenges.models import Reported
from capeval_server.leaderboards.query import LeaderboardQuery

__all__ = ["ReportedEntry", "reported_entries"]


@dataclass(frozen=True, kw_only=True)
class ReportedEntry:
    """A row that was reported elsewhere.

    Attributes:
        rank: The rank that it would have among the teams' rows, if the organisers want it shown.
        team: Whose it is.
        method: What it is.
        date: When it was reported, such as `2015-05-29`; empty if that is not known.
        url: An address with more about it; empty if there is none.
        publication: Where it was published.
        source: What reported it.
        source_url: The address of that; empty if there is none.
        scores: The score of each column of the leaderboard by its label; None where there is none.
    """

    rank: int | None
    team: str
    method: str
    date: str
    url: str
    publication: str
    source: str
    source_url: str
    scores: Mapping[str, float | None]


def reported_entries(question: LeaderboardQuery, scores: Sequence[float]) -> list[ReportedEntry]:
    """What was reported by the references of a leaderboard, in the order that is asked for.

    It is of all images and of no version of the references: a leaderboard that is sorted by a subset, or by
    another version than the current one, shows none of it.

    Args:
        question: What is asked for.
        scores: The scores of the teams' rows that the rows are sorted by.
    """
    if question.subset or not question.current:
        return []
    found = Reported.objects.filter(reference_set=question.reference_set).order_by("name")
    if question.as_of is not None:
        found = found.filter(created__lte=question.as_of)
    entries = [
        (row["scores"].get(question.sort_by), _entry(question, source, row, scores))
        for source in found
        for row in source.rows
    ]
    sign = -1 if question.descending else 1
    entries.sort(key=lambda entry: (entry[0] is None, sign * (entry[0] or 0.0)))
    return [entry for _, entry in entries]


def _entry(
    question: LeaderboardQuery, source: Reported, row: Mapping[str, Any], scores: Sequence[float]
) -> ReportedEntry:
    own: Mapping[str, float] = row["scores"]
    sorted_by = own.get(question.sort_by)
    rank = None
    if source.ranked and sorted_by is not None:
        better = gt if question.higher_is_better else lt
        rank = 1 + sum(better(score, sorted_by) for score in scores)
    return ReportedEntry(
        rank=rank,
        **{name: str(row[name]) for name in ("team", "method", "date", "url", "publication")},
        source=source.title,
        source_url=source.url,
        scores={column.label: None if column.subset else own.get(column.name) for column in question.columns},
    )
