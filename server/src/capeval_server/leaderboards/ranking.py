"""A leaderboard: the submissions of a phase that teams put on it, in the order of one score.

Pages, plots, JSON and CSV all show what `leaderboard` gives, so their ranks are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from capeval.metrics import METRICS
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.final_snapshot import FinalRow, FinalRows, notes, stored
from capeval_server.leaderboards.query import LeaderboardColumn, LeaderboardQuery
from capeval_server.leaderboards.reported_entries import ReportedEntry, reported_entries
from capeval_server.leaderboards.significance import LEVEL, differences
from capeval_server.submissions.models import UNFINISHED, Result, Score, Submission
from capeval_server.submissions.scoring.score_arrays import finite
from capeval_server.submissions.selectors.precision import shown, shown_p

__all__ = ["PAGE", "Leaderboard", "LeaderboardEntry", "RankedSubmission", "leaderboard", "places"]

# Rows of a page.
PAGE = 50
# How many submissions a question to the database may name.
_FEW = 500
# A submission's id as the database writes it, and its stamp, which changes together with its scores.
_Stamped = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What a submission has in the columns of a leaderboard, as it is shown.

    Attributes:
        scored: Whether it has results by the references of the leaderboard.
        failed: The labels of the columns whose scores could not be computed.
        scores: The score of each column by its label; None where there is none.
        intervals: The ends of each score's interval; None where there is none.
    """

    scored: bool
    failed: list[str]
    scores: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]


# The scores that rows are sorted by, with their keys; and what rows show. Stored beside the resamples, the
# scores of a thousand submissions take the most time of all that a leaderboard reads, and after a change all
# but a few are as they were.
_sorted_by: BoundedCache[_Stamped, tuple[int | None, float | None]] = BoundedCache(most=200_000)
_shown: BoundedCache[_Stamped, _Numbers] = BoundedCache(most=20_000)


@dataclass(frozen=True, kw_only=True)
class LeaderboardEntry:
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
        reported: What was reported elsewhere, which is none of the rows; not on later pages than the first.
        final: When these results became final; None if they are not.
    """

    question: LeaderboardQuery
    columns: list[str]
    rows: list[LeaderboardEntry]
    total: int
    page: int | None
    pages: int
    rescoring: int
    reported: list[ReportedEntry]
    final: datetime | None = None


@dataclass(frozen=True)
class RankedSubmission:
    """A submission's place on a leaderboard, and the score that decides it.

    `key` is the submission's id as the database writes it: of thousands, ids take much longer to read.
    `stamp` is the submission's stamp; none in final results. `score_id` is the key of the score.
    """

    key: str
    stamp: int | None
    baseline: bool
    entrant: str
    score: float | None
    score_id: int | None

    @property
    def sample(self) -> tuple[str, int] | None:
        """What its score in each resample is found by."""
        return None if self.score_id is None else (self.key, self.score_id)

    @property
    def submission(self) -> UUID:
        """The submission's id."""
        return UUID(self.key)


def leaderboard(
    question: LeaderboardQuery, *, page: int | None = None, compared: bool = True, full: bool = False
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
            question,
            standing,
            places,
            slice(start, stop),
            compared=compared,
            full=full or question.reference_set.public,
        ),
        total=len(places),
        page=page,
        pages=max(1, math.ceil(len(places) / PAGE)),
        rescoring=_rescoring(question, standing),
        reported=[] if start else reported_entries(question, _ranked(places)),
    )


def places(question: LeaderboardQuery) -> list[RankedSubmission]:
    """The rows of `leaderboard` in the same order, each with only the score that they are sorted by."""
    full = question.reference_set.public
    final = stored(question)
    found = _final_places(question, final) if final else _places(question, _standing(question))
    return [replace(place, score=shown(place.score, full=full)) for place in found]


def _standing(question: LeaderboardQuery) -> QuerySet[Submission]:
    scored = Result.objects.filter(submission=OuterRef("pk"), reference_version=question.version)
    baseline = Q(baseline_of=question.reference_set) & Exists(scored)
    team = Q(phase=question.phase, stands=True)
    standing = Submission.objects.filter(team | baseline).exclude(state=Submission.State.WITHDRAWN)
    if question.as_of is not None:
        standing = standing.filter(created__lte=question.as_of)
    return standing.exclude(mark=Submission.Mark.HIDDEN)


def _places(question: LeaderboardQuery, standing: QuerySet[Submission]) -> list[RankedSubmission]:
    """All that stand, in order."""
    found = list(standing.values_list(_key("pk"), "stamp", "team__name"))
    scores = _scores_sorted_by(question, standing, [(key, stamp) for key, stamp, _ in found])
    places = []
    for key, stamp, team in found:
        score_id, value = scores[key, stamp]
        places.append(RankedSubmission(key, stamp, team is None, team or "human", finite(value), score_id))
    return _in_order(question, places)


def _scores_sorted_by(
    question: LeaderboardQuery, standing: QuerySet[Submission], wanted: Sequence[_Stamped]
) -> dict[_Stamped, tuple[int | None, float | None]]:
    """The score that the rows are sorted by, and its key, of each submission; none where there is none."""
    group = (question.version.pk, question.sort_by, question.subset)
    known = _sorted_by.known(group, wanted)
    missing = [one for one in wanted if one not in known]
    if not missing:
        return known
    rows = Score.objects.filter(
        result__submission__in=_of(missing, standing),
        result__reference_version=question.version,
        subset=question.subset,
        name=question.sort_by,
    ).values_list(_key("result__submission"), "pk", "value")
    stored = {key: (pk, value) for key, pk, value in rows}
    new = {(key, stamp): stored.get(key, (None, None)) for key, stamp in missing}
    _sorted_by.add(group, new)
    return known | new


def _of(wanted: Sequence[_Stamped], standing: QuerySet[Submission]) -> QuerySet[Submission] | list[UUID]:
    """Submissions for a question to the database; of many, all that stand."""
    return standing if len(wanted) > _FEW else [UUID(key) for key, _ in wanted]


def _in_order(question: LeaderboardQuery, places: list[RankedSubmission]) -> list[RankedSubmission]:
    sign = -1 if question.best_first else 1

    def order(place: RankedSubmission) -> tuple[bool, float, bool, str, str]:
        value = 0.0 if place.score is None else sign * place.score
        return place.score is None, value, place.baseline, place.entrant, place.key

    return sorted(places, key=order)


def _key(name: str) -> Cast:
    """A submission's id as the database writes it."""
    return Cast(name, CharField())


def _ranked(places: Sequence[RankedSubmission]) -> list[float]:
    """The scores that have ranks."""
    return [place.score for place in places if place.score is not None and not place.baseline]


# What a row shows of a submission itself.
_ABOUT = (_key("pk"), "algorithm", "declared", "created", "state", "mark", "mark_reason")


def _ranks(places: Sequence[RankedSubmission]) -> dict[float, int]:
    """The rank of each score: one more than there are better ones."""
    ranks: dict[float, int] = {}
    for rank, score in enumerate(sorted(_ranked(places), reverse=True), start=1):
        ranks.setdefault(score, rank)
    return ranks


def _rows(
    question: LeaderboardQuery,
    standing: QuerySet[Submission],
    places: Sequence[RankedSubmission],
    shown_places: slice,
    *,
    compared: bool,
    full: bool,
) -> list[LeaderboardEntry]:
    listed = places[shown_places]
    wanted = [(place.key, place.stamp) for place in listed if place.stamp is not None]
    of_listed = _of(wanted, standing)
    whose = of_listed if isinstance(of_listed, QuerySet) else Submission.objects.filter(pk__in=of_listed)
    about = {found[0]: found[1:] for found in whose.values_list(*_ABOUT)}
    numbers = _numbers(question, standing, wanted, full)
    # The first row of the next page too: the last one of this page has a neighbour there.
    near = [place.sample for place in places[shown_places.start : shown_places.stop + 1]]
    tests = differences(near) if compared else [None] * len(near)
    ranks = _ranks(places)
    rows = []
    for place, key, test in zip(listed, wanted, tests, strict=False):
        p_value = None if place.score is None else test
        algorithm, declared, created, state, mark, reason = about[place.key]
        own = numbers[key]
        rows.append(
            LeaderboardEntry(
                rank=None if place.baseline or place.score is None else ranks[place.score],
                submission=place.submission,
                team=place.entrant,
                algorithm=algorithm,
                declared=question.phase.challenge.shown(declared),
                submitted=created,
                baseline=place.baseline,
                flag_reason=reason if mark == Submission.Mark.FLAGGED else "",
                rescoring=question.current and not own.scored and state in UNFINISHED,
                failed=own.failed,
                scores=own.scores,
                intervals=own.intervals,
                p_value=shown_p(p_value, full=full),
                differs_from_next=None if p_value is None else p_value < LEVEL,
            )
        )
    return rows


def _numbers(
    question: LeaderboardQuery, standing: QuerySet[Submission], wanted: Sequence[_Stamped], full: bool
) -> dict[_Stamped, _Numbers]:
    """What submissions have in the columns."""
    columns = tuple(question.columns)
    group = (question.version.pk, columns, full)
    known = _shown.known(group, wanted)
    missing = [one for one in wanted if one not in known]
    if not missing:
        return known
    of_version = Result.objects.filter(reference_version=question.version)
    results = of_version.filter(submission__in=_of(missing, standing))
    metrics: dict[str, list[tuple[str, str]]] = {}
    for key, metric, failure in results.values_list(_key("submission"), "metric", "failure"):
        metrics.setdefault(key, []).append((metric, failure))
    stored: dict[str, dict[tuple[str, str], Sequence[float | None]]] = {}
    rows = Score.objects.filter(result__in=results)
    for key, name, subset, *ends in rows.values_list(
        _key("result__submission"), "name", "subset", "value", "low", "high"
    ):
        stored.setdefault(key, {})[name, subset] = ends
    new = {
        (key, stamp): _in_columns(columns, metrics.get(key, []), stored.get(key, {}), full)
        for key, stamp in missing
    }
    _shown.add(group, new)
    return known | new


def _in_columns(
    columns: Sequence[LeaderboardColumn],
    metrics: Sequence[tuple[str, str]],
    stored: Mapping[tuple[str, str], Sequence[float | None]],
    full: bool,
) -> _Numbers:
    """What a submission has in columns, from its metrics with why they failed, and its stored scores."""
    failed = {name for metric, failure in metrics if failure for name in METRICS[metric]().names}
    scores: dict[str, float | None] = {}
    intervals: dict[str, tuple[float, float] | None] = {}
    for column in columns:
        ends = stored.get((column.name, column.subset), (None, None, None))
        value, low, high = (shown(number, full=full) for number in ends)
        scores[column.label] = value
        intervals[column.label] = None if low is None or high is None else (low, high)
    names = [column.label for column in columns if column.name in failed]
    return _Numbers(bool(metrics), names, scores, intervals)


def _rescoring(question: LeaderboardQuery, standing: QuerySet[Submission]) -> int:
    if not question.current:
        return 0
    done = Result.objects.filter(reference_version=question.version).values("submission")
    return standing.filter(state__in=UNFINISHED).exclude(pk__in=done).count()


def _final_places(question: LeaderboardQuery, final: FinalRows) -> list[RankedSubmission]:
    """All that stood when the results became final, in order."""
    sorted_by = (question.sort_by, question.subset)
    none = (None, None, None)
    places = [
        RankedSubmission(
            str(row.submission),
            None,
            not row.team,
            row.team or "human",
            row.scores.get(sorted_by, none)[0],
            None,
        )
        for row in final.rows
    ]
    return _in_order(question, places)


def _final_board(
    question: LeaderboardQuery, final: FinalRows, page: int | None, *, compared: bool, full: bool
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
        reported=[] if start else reported_entries(question, _ranked(places)),
        final=question.phase.final,
    )


def _final_row(
    question: LeaderboardQuery,
    row: FinalRow,
    rank: int | None,
    p_value: float | None,
    note: str,
    *,
    full: bool,
) -> LeaderboardEntry:
    scores: dict[str, float | None] = {}
    intervals: dict[str, tuple[float, float] | None] = {}
    for column in question.columns:
        numbers = row.scores.get((column.name, column.subset), (None, None, None))
        value, low, high = (shown(number, full=full) for number in numbers)
        scores[column.label] = value
        intervals[column.label] = None if low is None or high is None else (low, high)
    return LeaderboardEntry(
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
