"""A leaderboard: what stands in a phase, in the order of one score."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capeval.metrics import METRICS
from capeval_server.challenges.models import Phase, ReferenceSet, Split
from capeval_server.submissions.models import Score, Submission

__all__ = ["Leaderboard", "Row", "leaderboard", "score_names", "to_csv"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A submission on a leaderboard.

    Attributes:
        rank: From 1; equal scores have equal ranks. None where there is no score to rank by.
        team: The name of the team that submitted.
        algorithm: The name of what made the captions.
        declared: What the submitter declared.
        scores: Each score by its name; None where there is none.
    """

    rank: int | None
    team: str
    algorithm: str
    declared: Mapping[str, str]
    scores: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """The rows, and what they are of."""

    columns: list[str]
    sort_by: str
    rows: list[Row]


def score_names(split: Split) -> list[str]:
    """The names of the scores of a split, in order."""
    return [name for metric in split.metrics for name in METRICS[metric]().names]


def leaderboard(
    phase: Phase,
    split: Split,
    reference_set: ReferenceSet,
    *,
    subset: str = "",
    sort_by: str,
    best_first: bool,
) -> Leaderboard:
    """The submissions that stand in a phase.

    A submission without the score to sort by comes last, whichever way they are sorted.

    Args:
        phase: The phase.
        split: One of its splits.
        reference_set: One of the split's reference sets; its current version counts.
        subset: One of the split's subsets; all images by default.
        sort_by: The name of a score.
        best_first: Whether the highest score comes first.
    """
    columns = score_names(split)
    standing = (
        Submission.objects.filter(phase=phase, stands=True).exclude(mark="hidden").select_related("team")
    )
    found: dict[Any, dict[str, float | None]] = {}
    for submission, name, value in Score.objects.filter(
        result__submission__phase=phase,
        result__submission__stands=True,
        result__reference_version__reference_set=reference_set,
        result__reference_version__number=reference_set.version,
        subset=subset,
    ).values_list("result__submission_id", "name", "value"):
        found.setdefault(submission, {})[name] = _finite(value)
    scored = [(found.get(submission.pk, {}), submission) for submission in standing]
    values = [value for scores, _ in scored if (value := scores.get(sort_by)) is not None]
    places: dict[float | None, int] = {}
    for place, value in enumerate(sorted(values, reverse=True), start=1):
        places.setdefault(value, place)
    scored.sort(key=lambda pair: _order(pair[0].get(sort_by), pair[1], best_first))
    rows = [
        Row(
            rank=places.get(scores.get(sort_by)),
            team=submission.entrant,
            algorithm=submission.algorithm,
            declared=submission.declared,
            scores={name: scores.get(name) for name in columns},
        )
        for scores, submission in scored
    ]
    return Leaderboard(columns=columns, sort_by=sort_by, rows=rows)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _order(value: float | None, submission: Submission, best_first: bool) -> tuple[bool, float, str]:
    if value is None:
        return True, 0.0, submission.entrant
    return False, -value if best_first else value, submission.entrant


def to_csv(board: Leaderboard) -> str:
    """A leaderboard as CSV: numbers in full, and no text that a spreadsheet would run as a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["rank", "team", "algorithm", *board.columns])
    for row in board.rows:
        numbers = ["" if row.scores[name] is None else repr(row.scores[name]) for name in board.columns]
        writer.writerow([row.rank or "", _text(row.team), _text(row.algorithm), *numbers])
    return out.getvalue()


def _text(value: str) -> str:
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else value
