"""Ranking: the submissions on a phase's leaderboard, ordered by one score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from capeval.scoring.significance import is_significant
from capeval_server.leaderboards.entries import (
    Leaderboard,
    LeaderboardEntry,
    RankedSubmission,
    SubmissionStanding,
)
from capeval_server.leaderboards.final_snapshot import FinalRows, stored
from capeval_server.leaderboards.judged_rows import (
    add_judgments,
    describe_judgments,
    find_judgment,
    list_judgment_tests,
)
from capeval_server.leaderboards.layouts import MEAN_RANK
from capeval_server.leaderboards.mean_ranks import MeanRanks, RankedScore, compute_ranks
from capeval_server.leaderboards.metric_agreement import (
    FEWEST_JUDGED,
    measure_agreement,
    measure_reported_agreement,
)
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.reported_entries import reported_entries
from capeval_server.leaderboards.significance import NeighborTest
from capeval_server.leaderboards.submission_rows import SubmissionRows
from capeval_server.submissions.selectors.precision import round_p_value, shown
from capeval_server.submissions.selectors.scores import higher_is_better

__all__ = ["PAGE", "leaderboard", "places"]

# Rows of a page.
PAGE = 50


def leaderboard(
    question: LeaderboardQuery, *, page: int | None = None, compared: bool = True, full: bool = False
) -> Leaderboard:
    """Return the submissions on the leaderboard, with the references' human baselines.

    A submission without the score to sort by comes last in either order. The number of queries does not
    depend on the number of rows. Final results are returned as stored, with notes of later changes.

    Args:
        question: The query.
        page: The page, from 1; by default, all rows. There are no rows after the last page.
        compared: Whether to compare each row with the next.
        full: Whether to show all digits of scores by private references, as for organizers. The order always
            depends on all digits.
    """
    source = _get_source(question)
    found = source.places()
    mean_ranks = _compute_mean_ranks(question, source, found)
    placed = _sort(question, _rank_by_column(question, _add_mean_ranks(found, mean_ranks)))
    start, stop = (0, len(placed)) if page is None else ((page - 1) * PAGE, page * PAGE)
    listed = placed[start:stop]
    # The last row of a page is compared with the first of the next.
    tests = _test(question, source, placed[start : stop + 1]) if compared else [None] * len(listed)
    scores = [place.score for place in placed if place.score is not None and not place.baseline]
    ranks = compute_ranks(scores, higher_is_better=question.higher_is_better)
    standings = []
    for place, test in zip(listed, tests, strict=False):
        p_value, method = (None, None) if place.score is None or test is None else test
        rank = None if place.baseline or place.score is None else ranks[place.score]
        differs = None if p_value is None else is_significant(p_value)
        shown_p = round_p_value(
            p_value, full=full or question.is_sorted_by_judgment or question.reference_set.public
        )
        standings.append(SubmissionStanding(place, rank, shown_p, method, differs))
    reported, undeclared = reported_entries(question, scores, mean_ranks)
    judged = _list_judged(question, source, placed, full=full)
    return Leaderboard(
        question=question,
        columns=[column.label for column in question.columns],
        judgments=describe_judgments(question),
        rows=_list_entries(question, source, standings, full=full),
        total=len(placed),
        page=page,
        pages=max(1, math.ceil(len(placed) / PAGE)),
        rescoring=source.rescoring(),
        reported=[] if start else reported,
        reported_undeclared=0 if start else undeclared,
        mean_rank_scores=[] if mean_ranks is None else [score.name for score in mean_ranks.scores],
        agreement=[
            *measure_agreement(question, judged),
            *measure_reported_agreement(question, reported),
        ],
        final=source.final,
    )


def places(question: LeaderboardQuery) -> list[RankedSubmission]:
    """Return the rows of `leaderboard` in the same order, with only the ranking score."""
    full = question.reference_set.public
    source = _get_source(question)
    found = source.places()
    if question.is_sorted_by_mean_rank:
        found = _add_mean_ranks(found, _compute_mean_ranks(question, source, found))
    found = _sort(question, _rank_by_column(question, found))
    return [place._replace(score=shown(place.score, full=full)) for place in found]


def _test(
    question: LeaderboardQuery, source: FinalRows | SubmissionRows, placed: Sequence[RankedSubmission]
) -> list[NeighborTest | None]:
    """Return the test of the difference of each row to the next, in the column that ranks the rows."""
    if question.is_sorted_by_judgment:
        return list_judgment_tests(question.sorting_column, placed)
    return source.tests(placed)


def _compute_mean_ranks(
    question: LeaderboardQuery, source: FinalRows | SubmissionRows, found: Sequence[RankedSubmission]
) -> MeanRanks | None:
    """Return the mean ranks of all rows but human baselines, or None without a column of mean ranks."""
    if not question.mean_rank_scores:
        return None
    ranked = [place for place in found if not place.baseline]
    return MeanRanks(
        [
            RankedScore(
                name=name,
                higher_is_better=higher_is_better(question.split, name),
                values=source.values_of(name, ranked),
            )
            for name in source.mean_rank_scores or question.mean_rank_scores
        ]
    )


def _add_mean_ranks(found: list[RankedSubmission], mean_ranks: MeanRanks | None) -> list[RankedSubmission]:
    if mean_ranks is None:
        return found
    values = iter(mean_ranks.values)
    return [place if place.baseline else place._replace(mean_rank=next(values)) for place in found]


def _rank_by_column(question: LeaderboardQuery, placed: list[RankedSubmission]) -> list[RankedSubmission]:
    """Return the rows with the values of a column that is not a score of a metric, if it ranks them."""
    if question.is_sorted_by_mean_rank:
        return [place._replace(score=place.mean_rank, score_id=None) for place in placed]
    if not question.is_sorted_by_judgment:
        return placed
    column = question.sorting_column
    scores = [find_judgment(column, place.submission, baseline=place.baseline) for place in placed]
    return [
        place._replace(score=None if score is None else score.value, score_id=None)
        for place, score in zip(placed, scores, strict=True)
    ]


def _list_judged(
    question: LeaderboardQuery,
    source: FinalRows | SubmissionRows,
    placed: Sequence[RankedSubmission],
    *,
    full: bool,
) -> list[LeaderboardEntry]:
    """Return the rows of the judged submissions, if they are enough for correlations."""
    columns = question.judgment_columns
    judged = [
        SubmissionStanding(place, None, None, None, None)
        for place in placed
        if not place.baseline
        and any(find_judgment(column, place.submission, baseline=False) for column in columns)
    ]
    if len(judged) < FEWEST_JUDGED:
        return []
    return _list_entries(question, source, judged, full=full)


def _list_entries(
    question: LeaderboardQuery,
    source: FinalRows | SubmissionRows,
    standings: Sequence[SubmissionStanding],
    *,
    full: bool,
) -> list[LeaderboardEntry]:
    """Return the rows of some submissions, with the values of all columns."""
    rows = source.entries(standings, full=full)
    if question.mean_rank_scores:
        rows = (
            replace(
                row,
                scores={MEAN_RANK: standing.place.mean_rank, **row.scores},
                intervals={MEAN_RANK: None, **row.intervals},
            )
            for standing, row in zip(standings, rows, strict=True)
        )
    return [add_judgments(question, row) for row in rows]


def _get_source(question: LeaderboardQuery) -> FinalRows | SubmissionRows:
    return stored(question) or SubmissionRows(question)


def _sort(question: LeaderboardQuery, placed: list[RankedSubmission]) -> list[RankedSubmission]:
    sign = -1 if question.descending else 1

    def order(place: RankedSubmission) -> tuple[bool, float, bool, str, str]:
        value = 0.0 if place.score is None else sign * place.score
        return place.score is None, value, place.baseline, place.entrant, place.key

    return sorted(placed, key=order)
