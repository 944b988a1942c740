"""What people think of a challenge's systems, by frozen releases of judgments: columns with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capeval.formats.judgments.human_scores import HumanScore, load_human_differences, load_human_scores
from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM, Question
from capeval.studies.judging.wins import STRENGTH, WINS
from capeval_server.annotation.models import Release
from capeval_server.annotation.releases.judgments import judgment_kinds
from capeval_server.annotation.releases.release_files import changed_since, folder_of
from capeval_server.annotation.task_types import TASKS, RatingResult
from capeval_server.challenges.models import Challenge
from capeval_server.leaderboards.significance import LEVEL

__all__ = ["HumanScoreCell", "HumanScoreColumn", "HumanScoreRow", "columns_of", "is_judged", "rows_of"]

_CHOSEN_BY = "Which systems were compared more often was chosen by earlier answers:"
_CHOSEN = {
    STRENGTH.name: f"{_CHOSEN_BY} strengths take that into account.",
    WINS.name: f"{_CHOSEN_BY} parts of wins are not comparable between systems. Compare strengths.",
}


@dataclass(frozen=True, kw_only=True)
class HumanScoreColumn:
    """The values of one question, of one release: values of different releases are never in one column.

    Attributes:
        question: The question, such as M1.
        measures: What its values are.
        campaign: The campaign's title.
        release: The release's name.
        scores: The value of each system that was judged.
        tied: The next system of each one that can't be told apart from it.
        missing: Whether Human or Random were not judged.
        excluded: How many of the release's answers no longer count.
        stopped: By which rule answers ended before all were given, and what that does to the values; empty
            where they did not.
        is_chosen: Whether earlier answers chose which systems were compared.
    """

    question: str
    measures: str
    campaign: str
    release: str
    scores: Mapping[str, HumanScore]
    tied: Mapping[str, str]
    missing: tuple[str, ...]
    excluded: int
    stopped: str
    is_chosen: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What its campaign did that bears upon the values."""
        chosen = _CHOSEN[self.question] if self.is_chosen else ""
        return tuple(note for note in (self.stopped, chosen) if note)


@dataclass(frozen=True, kw_only=True)
class HumanScoreCell:
    """What a column says of a system.

    Attributes:
        score: Its value.
        tied: The next system of the column, if people don't tell the two apart.
    """

    score: HumanScore
    tied: str | None


@dataclass(frozen=True, kw_only=True)
class HumanScoreRow:
    """A system with its place in each column; None where a column lacks it."""

    system: str
    places: tuple[HumanScoreCell | None, ...]


def is_judged(challenge: Challenge) -> bool:
    """Whether there is a release of judgments of a challenge's systems."""
    kinds = judgment_kinds()
    return Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=kinds).exists()


def _questions() -> dict[str, Question]:
    """Return the questions of all task types by name: those of the library first, in its order."""
    added = (question for task in TASKS.values() for question in task.result.questions)
    return {**QUESTIONS, **{question.name: question for question in added}}


def _shown(columns: list[HumanScoreColumn]) -> list[HumanScoreColumn]:
    """Return the columns without those that mean nothing without another, such as M4 without M3."""
    results = [task.result for task in TASKS.values() if isinstance(task.result, RatingResult)]
    needed = {rated.question.name: rated.shown_with for result in results for rated in result.rated}
    found = {column.question for column in columns}
    return [column for column in columns if needed.get(column.question, "") in {"", *found}]


def columns_of(challenge: Challenge) -> tuple[HumanScoreColumn, ...]:
    """The columns of the latest release of each campaign, in the questions' order."""
    releases: dict[int, Release] = {}
    rows = Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=judgment_kinds())
    for release in rows.select_related("campaign").order_by("time", "pk"):
        releases[release.campaign_id] = release
    columns = [column for release in releases.values() for column in _columns(release)]
    shown = _shown(columns)
    order = list(_questions())
    # Where earlier answers chose what was compared, strengths come before the parts of wins.
    if any(column.is_chosen for column in shown):
        order.remove(WINS.name)
        order.insert(order.index(STRENGTH.name) + 1, WINS.name)
    # A question of a task type of another distribution may have another name by now.
    places = {question: place for place, question in enumerate(order)}
    return tuple(
        sorted(shown, key=lambda column: (places.get(column.question, len(places)), column.campaign))
    )


def _columns(release: Release) -> list[HumanScoreColumn]:
    folder = folder_of(release)
    # Triplets or pairs say nothing of systems where each was of one alone, or of too few images.
    if not (folder / "human.csv").exists():
        return []
    scores = load_human_scores(folder / "human.csv")
    # Releases that were frozen before there was that file don't have it.
    path = folder / "differences.csv"
    differences = load_human_differences(path) if path.exists() else ()
    tied = [each for each in differences if each.p_value >= LEVEL]
    excluded = changed_since(release)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    found, questions = [], _questions()
    for question in dict.fromkeys(score.question for score in scores):
        of_question = {score.system: score for score in scores if score.question == question}
        found.append(
            HumanScoreColumn(
                question=question,
                measures=questions[question].measures if question in questions else "",
                campaign=release.campaign.title,
                release=release.name,
                scores=of_question,
                tied={each.system: each.next for each in tied if each.question == question},
                missing=tuple(name for name in (HUMAN, RANDOM) if name not in of_question),
                excluded=excluded,
                stopped=_stopped(manifest),
                is_chosen=bool(manifest.get("next_pairs")),
            )
        )
    return found


def _stopped(manifest: Mapping[str, Any]) -> str:
    """What a release's manifest says of answers that ended early; of earlier releases it says less."""
    confidence = manifest.get("confidence")
    if confidence:
        return (
            f"Answers on a pair ended once its winner had a probability of {confidence:.4g}, after"
            f" {manifest['confidence_votes']} votes at least: some winners differ from those of all answers,"
            " and parts of answers are biased."
        )
    if manifest.get("curtail"):
        return (
            "Answers ended when further ones could not change a winner: winners are those of all answers, and"
            " parts of answers are biased."
        )
    return ""


def rows_of(columns: tuple[HumanScoreColumn, ...]) -> tuple[HumanScoreRow, ...]:
    """The systems of all columns, those that the first column puts first before the others."""
    systems = dict.fromkeys(
        system
        for column in columns
        for system in sorted(column.scores, key=lambda name: -column.scores[name].value)
    )
    return tuple(
        HumanScoreRow(system=system, places=tuple(_place(column, system) for column in columns))
        for system in systems
    )


def _place(column: HumanScoreColumn, system: str) -> HumanScoreCell | None:
    score = column.scores.get(system)
    return None if score is None else HumanScoreCell(score=score, tied=column.tied.get(system))
