"""A leaderboard: the submissions of a phase that teams put on it, in the order of one score.

Pages, plots, JSON and CSV all show what `leaderboard` gives, so their ranks are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from capeval.metrics import METRICS
from capeval_server.leaderboards.final import FinalRow, FinalRows, notes, stored
from capeval_server.leaderboards.neighbours import LEVEL, differences
from capeval_server.leaderboards.questions import Question
from capeval_server.submissions.models import UNFINISHED, Result, Score, Submission
from capeval_server.submissions.packing import finite
from capeval_server.submissions.precision import shown, shown_p

__all__ = ["PAGE", "Leaderboard", "Place", "Row", "leaderboard", "places"]

# Rows of a page.
PAGE = 50


@dataclass(frozen=True, kw_only=True)
class Row:
    """A submission on a leaderboard.

    Attributes:
        rank: From 1; equal scores have equal ranks. None for a human baseline, and where there is no score
            to rank by.
        submission: Its id.
        team: The name of the team that submitted.
        algorithm: The name of the method that made the captions.
        declared: What the submitter declared.
        submitted: When.
        baseline: Whether it is a human baseline.
        flag_reason: Why an organiser flagged it; nothing if they did not.
        rescoring: Whether it waits to be scored with the current references.
        failed: The labels of the columns whose scores could not be computed.
        scores: The score of each column by its label; None where there is none.
        intervals: The ends of each score's 95% bootstrap interval; None where there is none.
        p_value: The p-value of the difference to the next row, in the score that the rows are sorted by.
        differs_from_next: Whether the next row can be told apart from this one; None where that is not known.
        note: What happened to the submission after the results became final; nothing if they are not.
    """

    rank: int | None
    submission: UUID
    team: str
    algorithm: str
    declared: Mapping[str, str]
    submitted: datetime
    baseline: bool
    flag_reason: str
    rescoring: bool
    failed: Sequence[str]
    scores: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float] | None]
    p_value: float | None
    differs_from_next: bool | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Rows, and what they are of.

    Attributes:
        question: What was asked for.
        columns: The labels of the columns of scores.
        rows: All rows, or those of a page.
        total: How many rows there are in all.
        page: The page, from 1; None if these are all rows.
        pages: How many pages there are.
        rescoring: How many submissions of all wait to be scored with the current references.
        final: When these results became final; None if they are not.
    """

    question: Question
    columns: list[str]
    rows: list[Row]
    total: int
    page: int | None
    pages: int
    rescoring: int
    final: datetime | None = None


@dataclass(frozen=True)
class Place:
    """A submission's place on a leaderboard, and the score that decides it."""

    submission: UUID
    baseline: bool
    entrant: str
    score: float | None


def leaderboard(
    question: Question, *, page: int | None = None, compared: bool = True, full: bool = False
) -> Leaderboard:
    """The submissions that stand in a phase, and the human baselines of the references.

    A submission without the score to sort by comes last, whichever way they are sorted. The number of
    queries does not depend on the number of rows.

    Args:
        question: What is asked for.
        page: The page to give, from 1; all rows by default. Beyond the last there are no rows.
        compared: Whether to compare each row with the next.
        full: Whether to show all digits of scores by private references too, as to organisers. The order of
            the rows goes by all digits in any case.
    """
    final = stored(question)
    if final is not None:
        return _final_board(
            question, final, page, compared=compared, full=full or question.reference_set.public
        )
    standing = _standing(question)
    places = _places(question, standing)
    start, stop = (0, len(places)) if page is None else ((page - 1) * PAGE, page * PAGE)
    return Leaderboard(
        question=question,
        columns=[column.label for column in question.columns],
        rows=_rows(
            question, places, start, stop, compared=compared, full=full or question.reference_set.public
        ),
        total=len(places),
        page=page,
        pages=max(1, math.ceil(len(places) / PAGE)),
        rescoring=_rescoring(question, standing),
    )


def places(question: Question) -> list[Place]:
    """The rows of `leaderboard` in the same order, each with only the score that they are sorted by."""
    full = question.reference_set.public
    final = stored(question)
    found = _final_places(question, final) if final else _places(question, _standing(question))
    return [replace(place, score=shown(place.score, full=full)) for place in found]


def _standing(question: Question) -> QuerySet[Submission]:
    scored = Result.objects.filter(submission=OuterRef("pk"), reference_version=question.version)
    baseline = Q(baseline_of=question.reference_set) & Exists(scored)
    team = Q(phase=question.phase, stands=True)
    standing = Submission.objects.filter(team | baseline).exclude(state=Submission.State.WITHDRAWN)
    if question.as_of is not None:
        standing = standing.filter(created__lte=question.as_of)
    return standing.exclude(mark=Submission.Mark.HIDDEN)


def _places(question: Question, standing: QuerySet[Submission]) -> list[Place]:
    """All that stand, in order."""
    scores = dict(
        Score.objects.filter(
            result__submission__in=standing,
            result__reference_version=question.version,
            subset=question.subset,
            name=question.sort_by,
        ).values_list("result__submission_id", "value")
    )
    places = [
        Place(key, team is None, team or "human", finite(scores.get(key)))
        for key, team in standing.values_list("pk", "team__name")
    ]
    return _in_order(question, places)


def _in_order(question: Question, places: list[Place]) -> list[Place]:
    sign = -1 if question.best_first else 1

    def order(place: Place) -> tuple[bool, float, bool, str, UUID]:
        value = 0.0 if place.score is None else sign * place.score
        return place.score is None, value, place.baseline, place.entrant, place.submission

    return sorted(places, key=order)


def _ranks(places: Sequence[Place]) -> dict[float, int]:
    """The rank of each score: one more than there are better ones."""
    scores = [place.score for place in places if place.score is not None and not place.baseline]
    ranks: dict[float, int] = {}
    for rank, score in enumerate(sorted(scores, reverse=True), start=1):
        ranks.setdefault(score, rank)
    return ranks


def _rows(
    question: Question, places: Sequence[Place], start: int, stop: int, *, compared: bool, full: bool
) -> list[Row]:
    listed = places[start:stop]
    submissions = {found.pk: found for found in _of(Submission.objects, "pk", listed).select_related("team")}
    scores = _scores(question, listed, full)
    failures = _failures(question, listed)
    # The first row of the next page too: the last one of this page has a neighbour there.
    near = [place.submission for place in places[start : stop + 1]]
    tests = differences(question, near) if compared else [None] * len(near)
    ranks = _ranks(places)
    labels = [column.label for column in question.columns]
    rows = []
    for place, test in zip(listed, tests, strict=False):
        p_value = None if place.score is None else test
        found, own = submissions[place.submission], scores.get(place.submission, {})
        seen = place.submission in failures
        rows.append(
            Row(
                rank=None if place.baseline or place.score is None else ranks[place.score],
                submission=place.submission,
                team=place.entrant,
                algorithm=found.algorithm,
                declared=question.phase.challenge.shown(found.declared),
                submitted=found.created,
                baseline=place.baseline,
                flag_reason=found.mark_reason if found.mark == Submission.Mark.FLAGGED else "",
                rescoring=question.current and not seen and found.state in UNFINISHED,
                failed=failures.get(place.submission, []),
                scores={label: own[label][0] if label in own else None for label in labels},
                intervals={label: own[label][1] if label in own else None for label in labels},
                p_value=shown_p(p_value, full=full),
                differs_from_next=None if p_value is None else p_value < LEVEL,
            )
        )
    return rows


def _of(manager: Any, field: str, places: Sequence[Place]) -> Any:
    return manager.filter(**{f"{field}__in": [place.submission for place in places]})


def _scores(
    question: Question, places: Sequence[Place], full: bool
) -> dict[UUID, dict[str, tuple[float | None, tuple[float, float] | None]]]:
    """Each score of each submission by the label of its column, with its interval."""
    labels = {(column.name, column.subset): column.label for column in question.columns}
    found: dict[UUID, dict[str, tuple[float | None, tuple[float, float] | None]]] = {}
    rows = _of(Score.objects, "result__submission", places).filter(
        result__reference_version=question.version, subset__in={subset for _, subset in labels}
    )
    for key, name, subset, value, low, high in rows.values_list(
        "result__submission_id", "name", "subset", "value", "low", "high"
    ):
        if (name, subset) not in labels:
            continue
        low, high = shown(low, full=full), shown(high, full=full)
        interval = None if low is None or high is None else (low, high)
        found.setdefault(key, {})[labels[name, subset]] = shown(value, full=full), interval
    return found


def _failures(question: Question, places: Sequence[Place]) -> dict[UUID, list[str]]:
    """The labels of the columns whose scores could not be computed, of each submission with results."""
    failures: dict[UUID, list[str]] = {}
    results = _of(Result.objects, "submission", places).filter(reference_version=question.version)
    for key, metric, failure in results.values_list("submission_id", "metric", "failure"):
        names = failures.setdefault(key, [])
        scores = METRICS[metric]().names if failure else ()
        names += [column.label for column in question.columns if column.name in scores]
    return failures


def _rescoring(question: Question, standing: QuerySet[Submission]) -> int:
    if not question.current:
        return 0
    done = Result.objects.filter(reference_version=question.version).values("submission")
    return standing.filter(state__in=UNFINISHED).exclude(pk__in=done).count()


def _final_places(question: Question, final: FinalRows) -> list[Place]:
    """All that stood when the results became final, in order."""
    sorted_by = (question.sort_by, question.subset)
    none = (None, None, None)
    places = [
        Place(row.submission, not row.team, row.team or "human", row.scores.get(sorted_by, none)[0])
        for row in final.rows
    ]
    return _in_order(question, places)


def _final_board(
    question: Question, final: FinalRows, page: int | None, *, compared: bool, full: bool
) -> Leaderboard:
    """A leaderboard as it was when its results became final, with notes of what happened later."""
    places = _final_places(question, final)
    start, stop = (0, len(places)) if page is None else ((page - 1) * PAGE, page * PAGE)
    by_id = {row.submission: row for row in final.rows}
    listed = [by_id[place.submission] for place in places[start:stop]]
    later, ranks, rows = notes(question, listed), _ranks(places), []
    for number, row in enumerate(listed, start=start):
        place = places[number]
        after = places[number + 1] if number + 1 < len(places) else None
        p_value = None
        if compared and after is not None and place.score is not None:
            p_value = final.p_value(question.sort_by, question.subset, row.submission, after.submission)
        rank = None if place.baseline or place.score is None else ranks[place.score]
        rows.append(_final_row(question, row, rank, p_value, later[row.submission], full=full))
    return Leaderboard(
        question=question,
        columns=[column.label for column in question.columns],
        rows=rows,
        total=len(places),
        page=page,
        pages=max(1, math.ceil(len(places) / PAGE)),
        rescoring=0,
        final=question.phase.final,
    )


def _final_row(
    question: Question, row: FinalRow, rank: int | None, p_value: float | None, note: str, *, full: bool
) -> Row:
    scores: dict[str, float | None] = {}
    intervals: dict[str, tuple[float, float] | None] = {}
    for column in question.columns:
        numbers = row.scores.get((column.name, column.subset), (None, None, None))
        value, low, high = (shown(number, full=full) for number in numbers)
        scores[column.label] = value
        intervals[column.label] = None if low is None or high is None else (low, high)
    return Row(
        rank=rank,
        submission=row.submission,
        team=row.team or "human",
        algorithm=row.algorithm,
        declared=question.phase.challenge.shown(row.declared),
        submitted=row.submitted,
        baseline=not row.team,
        flag_reason=row.flag_reason,
        rescoring=False,
        failed=[column.label for column in question.columns if column.name in row.failed],
        scores=scores,
        intervals=intervals,
        p_value=shown_p(p_value, full=full),
        differs_from_next=None if p_value is None else p_value < LEVEL,
        note=note,
    )
