"""Externally reported scores, shown below a leaderboard but not part of it."""

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
    """Scores of a method that were reported elsewhere, such as in a paper.

    Attributes:
        rank: Hypothetical rank of the scores among the teams' rows, if the organizers show it.
        team: Name of the team.
        method: Name of the method.
        date: Date of the report, such as `2015-05-29`; empty if unknown.
        url: URL with details; empty if there is none.
        publication: Publication of the method.
        source: Title of the source that reported the scores.
        source_url: URL of the source; empty if there is none.
        scores: Score of each column of the leaderboard by its label.
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
    """Return the scores reported for a leaderboard's references, in its order.

    Reported scores are of all images, and not by a specific version of the references. Therefore a
    leaderboard of a subset or of an earlier version has none. They have no declared fields either, by which
    a leaderboard may be filtered.

    Args:
        question: The query.
        scores: The scores that rank the teams' rows.
    """
    if question.subset or question.declared or not question.current:
        return []
    found = Reported.objects.filter(reference_set=question.reference_set).order_by("name")
    if question.as_of is not None:
        found = found.filter(created__lte=question.as_of)
    entries = [
        (row["scores"].get(question.sort_by), _build_entry(question, source, row, scores))
        for source in found
        for row in source.rows
    ]
    sign = -1 if question.descending else 1
    entries.sort(key=lambda entry: (entry[0] is None, sign * (entry[0] or 0.0)))
    return [entry for _, entry in entries]


def _build_entry(
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
