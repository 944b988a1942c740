"""Correlation of corpus scores with human judgments of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.errors import MismatchError
from capeval.errors.messages import format_names
from capeval.formats.judgments.human_scores import HumanScore
from capeval.scoring.bootstrap import Interval
from capeval.studies.shared.coefficients import coefficients
from capeval.studies.shared.system_intervals import compute_system_interval

__all__ = ["SystemCorrelation", "correlate_systems"]


@dataclass(frozen=True, kw_only=True)
class SystemCorrelation:
    """Correlation of corpus scores with the values of one question and release.

    Attributes:
        question: The question.
        release: The release of judgments.
        systems: The systems with scores and values.
        without_scores: Judged systems without scores, such as people and captions of other images.
        coefficients: The coefficients with intervals over the systems, by metric; None for a metric with the
            same score for all systems.
    """

    question: str
    release: str
    systems: tuple[str, ...]
    without_scores: tuple[str, ...]
    coefficients: Mapping[str, Mapping[str, Interval] | None]


def correlate_systems(
    scores: Mapping[str, Mapping[str, float]], judged: Sequence[HumanScore], *, level: float = 0.95
) -> tuple[SystemCorrelation, ...]:
    """Correlate corpus scores of systems with human judgments of them.

    Each question and release has its own correlation; values of different releases are not mixed.

    Args:
        scores: The corpus scores of each system: its scores by metric, by its name.
        judged: The human judgments of systems.
        level: The confidence level of the intervals, between 0 and 1.

    Raises:
        MismatchError: A system with scores was not judged, or a question has fewer than three systems with
            scores, or the same value for all.

    Example:
        >>> from capeval.formats.judgments.human_scores import HumanScore
        >>> from capeval.studies.correlation.systems import correlate_systems
        >>> scores = {"transformer": {"CIDEr-D": 1.2}, "lstm": {"CIDEr-D": 0.9}, "template": {"CIDEr-D": 0.4}}
        >>> judged = [
        ...     HumanScore(system=name, question="M1", value=value, low=0.0, high=1.0, images=100, votes=300)
        ...     for name, value in {"Human": 0.6, "transformer": 0.3, "lstm": 0.1, "template": 0.2}.items()
        ... ]
        >>> [found] = correlate_systems(scores, judged)
        >>> round(found.coefficients["CIDEr-D"]["tau-b"].score, 3)  # Two of three pairs agree: (2 - 1) / 3.
        0.333
        >>> found.without_scores
        ('Human',)
    """
    unknown = [name for name in scores if name not in {each.system for each in judged}]
    if unknown:
        known = format_names(sorted({each.system for each in judged}))
        raise MismatchError(f"no human judgments of {format_names(unknown)} (judged systems: {known})")
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for each in judged:
        groups.setdefault((each.question, each.release), {})[each.system] = each.value
    return tuple(
        _correlate_question(question, release, values, scores, level)
        for (question, release), values in groups.items()
    )


def _correlate_question(
    question: str,
    release: str,
    values: Mapping[str, float],
    scores: Mapping[str, Mapping[str, float]],
    level: float,
) -> SystemCorrelation:
    systems = tuple(name for name in values if name in scores)
    wanted = np.array([values[name] for name in systems])
    if len(systems) < 3 or len(set(wanted.tolist())) < 2:
        raise MismatchError(
            f"{question} must have at least three systems with scores, with two different values"
            f" (got {len(systems)} systems)"
        )
    found: dict[str, dict[str, Interval] | None] = {}
    for metric in scores[systems[0]]:
        column = np.array([scores[name][metric] for name in systems])
        found[metric] = None
        if len(set(column.tolist())) > 1:
            found[metric] = {
                name: compute_system_interval(name, value, len(systems), level=level)
                for name, value in coefficients(column, wanted).items()
            }
    return SystemCorrelation(
        question=question,
        release=release,
        systems=systems,
        without_scores=tuple(name for name in values if name not in scores),
        coefficients=found,
    )
