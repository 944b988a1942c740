"""What people think of a challenge's systems, by frozen releases of judgements: columns with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from capeval.formats.human_scores import HumanScore, load_human_scores
from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM
from capeval_server.annotation.models import Release
from capeval_server.annotation.releases import changed_since, folder_of
from capeval_server.annotation.results import RATED
from capeval_server.challenges.models import Challenge

__all__ = ["Column", "Row", "columns_of", "is_judged", "rows_of"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """The values of one question, of one release: values of different releases are never in one column.

    Attributes:
        question: The question, such as M1.
        measures: What its values are.
        campaign: The campaign's title.
        release: The release's name.
        scores: The value of each system that was judged.
        missing: Whether Human or Random were not judged.
        excluded: How many of the release's answers no longer count.
    """

    question: str
    measures: str
    campaign: str
    release: str
    scores: Mapping[str, HumanScore]
    missing: tuple[str, ...]
    excluded: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """A system with its value in each column; None where a column lacks it."""

    system: str
    scores: tuple[HumanScore | None, ...]


def is_judged(challenge: Challenge) -> bool:
    """Whether there is a release of judgements of a challenge's systems."""
    return Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=RATED).exists()


def columns_of(challenge: Challenge) -> tuple[Column, ...]:
    """The columns of the latest release of each campaign, in the questions' order; M4 only beside M3."""
    releases: dict[int, Release] = {}
    rows = Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=RATED)
    for release in rows.select_related("campaign").order_by("time", "pk"):
        releases[release.campaign_id] = release
    columns = [column for release in releases.values() for column in _columns(release)]
    questions = {column.question for column in columns}
    shown = [column for column in columns if column.question != "M4" or "M3" in questions]
    order = list(QUESTIONS)
    return tuple(sorted(shown, key=lambda column: (order.index(column.question), column.campaign)))


def _columns(release: Release) -> list[Column]:
    scores = load_human_scores(folder_of(release) / "human.csv")
    excluded = changed_since(release)
    found = []
    for question in dict.fromkeys(score.question for score in scores):
        of_question = {score.system: score for score in scores if score.question == question}
        found.append(
            Column(
                question=question,
                measures=QUESTIONS[question].measures,
                campaign=release.campaign.title,
                release=release.name,
                scores=of_question,
                missing=tuple(name for name in (HUMAN, RANDOM) if name not in of_question),
                excluded=excluded,
            )
        )
    return found


def rows_of(columns: tuple[Column, ...]) -> tuple[Row, ...]:
    """The systems of all columns, those that the first column puts first before the others."""
    systems = dict.fromkeys(
        system
        for column in columns
        for system in sorted(column.scores, key=lambda name: -column.scores[name].value)
    )
    return tuple(
        Row(system=system, scores=tuple(column.scores.get(system) for column in columns))
        for system in systems
    )
