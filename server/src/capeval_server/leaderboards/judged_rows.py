"""Human judgments in the rows of a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise

from capeval.formats.judgments.human_scores import HumanScore
from capeval_server.leaderboards.entries import JudgmentSource, LeaderboardEntry, RankedSubmission
from capeval_server.leaderboards.judgments import JudgmentDetails
from capeval_server.leaderboards.layouts import LeaderboardColumn
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.significance import NeighborTest

__all__ = ["add_judgments", "describe_judgments", "find_judgment", "list_judgment_tests"]


def find_judgment(column: LeaderboardColumn, submission: object, *, baseline: bool) -> HumanScore | None:
    """Return the human score of a row in a column, or None.

    Args:
        column: The column.
        submission: The id of the row's submission.
        baseline: Whether the row is the human baseline.
    """
    return None if column.judgment is None else column.judgment.get_score(submission, baseline=baseline)


def list_judgment_tests(
    column: LeaderboardColumn, placed: Sequence[RankedSubmission]
) -> list[NeighborTest | None]:
    """Return the test of the judgments of each row and the next, from the release of the judgments.

    A release tests systems that are neighbors in its own order. A test is None if another judged system,
    which is not on the leaderboard, is between two rows.
    """
    if column.judgment is None:
        return [None] * len(placed)
    tests: list[NeighborTest | None] = []
    scores = [find_judgment(column, place.submission, baseline=place.baseline) for place in placed]
    for first, second in pairwise(scores):
        p_value = None
        if first is not None and second is not None:
            p_value = column.judgment.get_p_value(first, second)
        # Releases use the paired bootstrap over images, like scores without stored sums.
        tests.append(None if p_value is None else NeighborTest(p_value, "bootstrap"))
    return [*tests, None] if placed else []


def describe_judgments(question: LeaderboardQuery) -> list[JudgmentSource]:
    """Return the sources of a leaderboard's columns with human judgments."""
    return [
        JudgmentSource(
            column=column.label,
            question=column.name,
            measures=column.judgment.measures,
            campaign=column.judgment.campaign,
            release=column.judgment.release,
            notes=list(column.judgment.notes),
        )
        for column in question.judgment_columns
        if column.judgment is not None
    ]


def add_judgments(question: LeaderboardQuery, row: LeaderboardEntry) -> LeaderboardEntry:
    """Return a row with its human scores in the columns that show them."""
    columns = question.judgment_columns
    if not columns:
        return row
    found = {column.label: find_judgment(column, row.submission, baseline=row.baseline) for column in columns}
    values = {label: None if score is None else score.value for label, score in found.items()}
    intervals = {label: None if score is None else (score.low, score.high) for label, score in found.items()}
    return replace(
        row,
        scores={**row.scores, **values},
        intervals={**row.intervals, **intervals},
        judgments={label: _describe(score) for label, score in found.items() if score is not None},
    )


def _describe(score: HumanScore) -> JudgmentDetails:
    names = [field.name for field in fields(JudgmentDetails)]
    return JudgmentDetails(**{name: getattr(score, name) for name in names})
