"""Externally reported scores, shown below a leaderboard but not part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Any, NamedTuple

from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM, leaderboard_points
from capeval_server.challenges.models import Reported
from capeval_server.challenges.reported_scores import name_score
from capeval_server.leaderboards.layouts import MEAN_RANK, shows_all_images
from capeval_server.leaderboards.mean_ranks import MeanRanks
from capeval_server.leaderboards.query import LeaderboardQuery

__all__ = ["POINTS", "ReportedEntry", "reported_entries"]

POINTS = "points"
"""Column of the points by M1 and M2, as in COCO's challenge of 2015."""


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
        declared: Public declared fields, if the source reports them.
        scores: Score of each column of the leaderboard by its label; also human judgments that only reported
            rows have, by question.
    """

    rank: int | None
    team: str
    method: str
    date: str
    url: str
    publication: str
    source: str
    source_url: str
    declared: Mapping[str, str]
    scores: Mapping[str, float | None]

    @property
    def has_scores(self) -> bool:
        """Whether a column has a value."""
        return any(value is not None for value in self.scores.values())


class ReportedEntries(NamedTuple):
    """Reported rows of a leaderboard, and the number of rows without values of the fields that filter it."""

    entries: list[ReportedEntry]
    undeclared: int


def reported_entries(
    question: LeaderboardQuery, scores: Sequence[float], mean_ranks: MeanRanks | None = None
) -> ReportedEntries:
    """Return the scores reported for a leaderboard's references, in its order.

    Reported scores are not by a specific version of the references, so a leaderboard of an earlier version
    has none. Rows without a value in any column are omitted. A leaderboard that is filtered by declared
    fields has the rows with the selected values. Rows with the same team, method and date are one entry if
    their scores are by different reference sets, or if one has scores and the other one has human judgments.

    Args:
        question: The query.
        scores: The scores that rank the teams' rows.
        mean_ranks: The mean ranks of the teams' rows, if the leaderboard has a column of them.
    """
    if not question.current:
        return ReportedEntries([], 0)
    sets = [version.reference_set for version in question.shown_versions]
    found = Reported.objects.filter(reference_set__in=sets).select_related("reference_set")
    found = found.defer("reference_set__part").order_by("name")
    if question.as_of is not None:
        found = found.filter(created__lte=question.as_of)
    merged = _merge(sorted(found, key=lambda one: (one.reference_set != question.reference_set, one.name)))
    wanted = question.declared_values.keys()
    undeclared = sum(not wanted <= row.declared.keys() for row in merged)
    merged = [row for row in merged if question.selects(row.declared)]
    sort = question.sorted_column
    names = _list_reported_judgments(question, [row.judgments for row in merged])
    entries = [
        entry
        for row in merged
        if (entry := _build_entry(question, row, names, scores, mean_ranks)).has_scores
    ]
    sign = -1 if question.descending else 1
    entries.sort(key=lambda entry: (entry.scores[sort] is None, sign * (entry.scores[sort] or 0.0)))
    return ReportedEntries(entries, undeclared)


@dataclass(kw_only=True)
class _MergedRow:
    """Rows of one method from one or more sources.

    Attributes:
        source: The first source.
        row: The row in it.
        by_set: The scores by reference set.
        judgments: The human judgments by question.
        declared: The declared fields by name.
    """

    source: Reported
    row: Mapping[str, Any]
    by_set: dict[str, Mapping[str, float]]
    judgments: dict[str, float]
    declared: dict[str, str]


def _merge(found: Iterable[Reported]) -> list[_MergedRow]:
    merged: list[_MergedRow] = []
    by_key: dict[tuple[str, ...], list[_MergedRow]] = {}
    for source in found:
        for row, points in zip(source.rows, _compute_points(source.rows), strict=True):
            own, name = row["scores"], source.reference_set.name
            judgments = {question: value for question, value in own.items() if question in QUESTIONS} | points
            same = by_key.setdefault(tuple(row[each] for each in ("team", "method", "date")), [])
            there = next((each for each in same if not each.by_set.get(name, {}).keys() & own.keys()), None)
            if there is None:
                there = _MergedRow(source=source, row=row, by_set={}, judgments={}, declared={})
                same.append(there)
                merged.append(there)
            there.by_set[name] = {**there.by_set.get(name, {}), **own}
            there.judgments |= judgments
            there.declared = {**row.get("declared", {}), **there.declared}
    return merged


def _compute_points(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the points of each row by M1 and M2, as in COCO's challenge of 2015."""
    columns = {
        question: {
            str(place): row["scores"][question]
            for place, row in enumerate(rows)
            if row["team"] not in (HUMAN, RANDOM) and {"M1", "M2"} <= row["scores"].keys()
        }
        for question in ("M1", "M2")
    }
    points = {each.system: {POINTS: float(each.total)} for each in leaderboard_points(columns)}
    return [points.get(str(place), {}) for place in range(len(rows))]


def _list_reported_judgments(
    question: LeaderboardQuery, judgments: Iterable[Mapping[str, float]]
) -> list[str]:
    """Return the questions that only reported rows have judgments for, which are of all images."""
    if not shows_all_images(question.subset, question.layout):
        return []
    given = {name for row in judgments for name in row}
    labels = {column.label for column in question.columns}
    chosen = question.split.columns.get("judgments") if question.layout == "chosen" else None
    shown = [name for name in (*QUESTIONS, POINTS) if name in given and name not in labels]
    return [name for name in shown if chosen is None or name in chosen or (name == POINTS and chosen)]


def _build_entry(
    question: LeaderboardQuery,
    merged: _MergedRow,
    names: Sequence[str],
    scores: Sequence[float],
    mean_ranks: MeanRanks | None,
) -> ReportedEntry:
    values = {
        column.label: merged.judgments.get(column.name)
        if column.is_judged
        else merged.by_set.get(column.references, {}).get(name_score(column.name, column.subset))
        for column in question.columns
    }
    placed = None
    if merged.source.ranked and mean_ranks is not None:
        placed = mean_ranks.place_reported(merged.by_set.get(question.reference_set.name, {}))
        # A mean rank is hypothetical like a rank, so it is shown only with ranks.
        values[MEAN_RANK] = placed and placed[0]
    sorted_by = values[question.sorted_column]
    rank = None
    if placed is not None and question.is_sorted_by_mean_rank:
        rank = placed[1]
    elif merged.source.ranked and sorted_by is not None:
        better = gt if question.higher_is_better else lt
        rank = 1 + sum(better(score, sorted_by) for score in scores)
    return ReportedEntry(
        rank=rank,
        **{name: str(merged.row[name]) for name in ("team", "method", "date", "url", "publication")},
        source=merged.source.title,
        source_url=merged.source.url,
        declared=question.phase.challenge.shown(merged.declared),
        scores={**values, **{name: merged.judgments.get(name) for name in names}},
    )
