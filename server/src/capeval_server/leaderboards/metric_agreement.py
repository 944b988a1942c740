"""Agreement of metrics with human judgments, over the judged systems of a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from capeval.errors import MismatchError
from capeval.formats.judgments.human_scores import HumanScore
from capeval.scoring.bootstrap import Interval
from capeval.studies.correlation.systems import correlate_systems
from capeval.studies.judging import HUMAN, RANDOM
from capeval_server.leaderboards.entries import LeaderboardEntry, MetricAgreement
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.reported_entries import POINTS, ReportedEntry

__all__ = ["FEWEST_JUDGED", "measure_agreement", "measure_reported_agreement"]

FEWEST_JUDGED = 5
"""With fewer judged systems, correlations are not shown."""


def measure_agreement(question: LeaderboardQuery, rows: Iterable[LeaderboardEntry]) -> list[MetricAgreement]:
    """Return the agreement over the submissions of a leaderboard, without human baselines.

    Args:
        question: The query.
        rows: The rows of the judged submissions.
    """
    judgments = [column.label for column in question.judgment_columns]
    systems = [row.scores for row in rows if not row.baseline]
    return _measure(question, systems, judgments, reported=False)


def measure_reported_agreement(
    question: LeaderboardQuery, entries: Sequence[ReportedEntry]
) -> list[MetricAgreement]:
    """Return the agreement over rows that were reported elsewhere."""
    metrics = {column.label for column in question.columns if not column.is_judged}
    systems = [entry.scores for entry in entries if entry.team not in (HUMAN, RANDOM)]
    judgments = [name for name in (systems[0] if systems else ()) if name not in {*metrics, POINTS}]
    return _measure(question, systems, judgments, reported=True)


def _measure(
    question: LeaderboardQuery,
    systems: Sequence[Mapping[str, float | None]],
    judgments: Sequence[str],
    *,
    reported: bool,
) -> list[MetricAgreement]:
    found = []
    for judgment in judgments:
        for column in question.score_columns:
            pairs = [
                (score, judged)
                for row in systems
                if (score := row[column.label]) is not None and (judged := row[judgment]) is not None
            ]
            measured = _correlate(pairs)
            if measured is not None:
                tau, r = measured
                found.append(
                    MetricAgreement(
                        judgment=judgment,
                        metric=column.label,
                        systems=len(pairs),
                        reported=reported,
                        kendall=tau.score,
                        kendall_low=tau.low,
                        kendall_high=tau.high,
                        pearson=r.score,
                        pearson_low=r.low,
                        pearson_high=r.high,
                    )
                )
    return found


def _correlate(pairs: Sequence[tuple[float, float]]) -> tuple[Interval, Interval] | None:
    """Return Kendall's tau and Pearson's r of scores and judgments, or None if they are undefined."""
    if len(pairs) < FEWEST_JUDGED:
        return None
    names = list(map(str, range(len(pairs))))
    scores = {name: {"metric": score} for name, (score, _) in zip(names, pairs, strict=True)}
    # Only the values count; their own intervals do not.
    judged = [
        HumanScore(system=name, question="judged", value=value, low=value, high=value, images=0, votes=0)
        for name, (_, value) in zip(names, pairs, strict=True)
    ]
    try:
        (found,) = correlate_systems(scores, judged)
    except MismatchError:
        # All systems have the same judgment.
        return None
    coefficients = found.coefficients["metric"]
    return None if coefficients is None else (coefficients["tau-b"], coefficients["Pearson"])
