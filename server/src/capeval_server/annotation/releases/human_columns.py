"""Human scores of a challenge's systems, from frozen releases of judgments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capeval.formats.judgments.human_scores import HumanScore, load_human_differences, load_human_scores
from capeval.scoring.significance import is_significant
from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM, Question
from capeval.studies.judging.wins import STRENGTH, WINS
from capeval_server.annotation.models import Release
from capeval_server.annotation.releases.judgments import judgment_kinds
from capeval_server.annotation.releases.release_files import count_outdated_answers, folder_of
from capeval_server.annotation.task_types import TASKS, RatingResult
from capeval_server.challenges.models import Challenge

__all__ = ["HumanScoreCell", "HumanScoreColumn", "HumanScoreRow", "columns_of", "is_judged", "rows_of"]

_CHOSEN_BY = "Adaptive sampling chose which systems were compared more often:"
_CHOSEN = {
    STRENGTH.name: f"{_CHOSEN_BY} strengths take this into account.",
    WINS.name: f"{_CHOSEN_BY} shares of wins are not comparable between systems. Compare strengths.",
}


@dataclass(frozen=True, kw_only=True)
class HumanScoreColumn:
    """Human scores for one question, from one release.

    Scores of different releases are never combined in a column.

    Attributes:
        question: Name of the question, such as M1.
        measures: Meaning of the scores.
        campaign: Title of the campaign.
        release: Name of the release.
        scores: Score of each judged system.
        tied: For systems that can't be distinguished from the next one, that next system.
        missing: The names among Human and Random that were not judged.
        excluded: Number of the release's answers that no longer count.
        stopped: Note on the rule that ended items early and its effect on the scores; empty if none did.
        is_chosen: Whether adaptive sampling chose the compared systems.
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
        """Notes on the intervals, and on the collection of answers that affects their interpretation."""
        chosen = _CHOSEN[self.question] if self.is_chosen else ""
        intervals = dict.fromkeys(each.interval for each in self.scores.values())
        alphas = dict.fromkeys(
            f"Alpha of the {each.alpha_scale} scale, with {each.alpha_interval}."
            for each in self.scores.values()
            if each.alpha_scale
        )
        known = (f"{interval}." for interval in intervals if interval)
        return tuple(note for note in (*known, *alphas, self.stopped, chosen) if note)


@dataclass(frozen=True, kw_only=True)
class HumanScoreCell:
    """The score of a system in a column.

    Attributes:
        score: The score.
        tied: The next system of the column, if the two can't be distinguished.
    """

    score: HumanScore
    tied: str | None


@dataclass(frozen=True, kw_only=True)
class HumanScoreRow:
    """A system with its score in each column, or None."""

    system: str
    places: tuple[HumanScoreCell | None, ...]


def is_judged(challenge: Challenge) -> bool:
    """Return whether a challenge has a release with judgments of its systems."""
    kinds = judgment_kinds()
    return Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=kinds).exists()


def _get_questions() -> dict[str, Question]:
    """Return the questions of all task types by name; the library's come first."""
    added = (question for task in TASKS.values() for question in task.result.questions)
    return {**QUESTIONS, **{question.name: question for question in added}}


def _filter_shown(columns: list[HumanScoreColumn]) -> list[HumanScoreColumn]:
    """Omit columns that need another column that is missing, such as M4 without M3."""
    results = [task.result for task in TASKS.values() if isinstance(task.result, RatingResult)]
    needed = {rated.question.name: rated.shown_with for result in results for rated in result.rated}
    found = {column.question for column in columns}
    return [column for column in columns if needed.get(column.question, "") in {"", *found}]


def columns_of(challenge: Challenge) -> tuple[HumanScoreColumn, ...]:
    """Return the columns of the latest release of each campaign, ordered by question."""
    releases: dict[int, Release] = {}
    rows = Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=judgment_kinds())
    for release in rows.select_related("campaign").order_by("time", "pk"):
        releases[release.campaign_id] = release
    columns = [column for release in releases.values() for column in _load_columns(release)]
    shown = _filter_shown(columns)
    order = list(_get_questions())
    # After adaptive sampling, strengths come before shares of wins, which are not comparable.
    if any(column.is_chosen for column in shown):
        order.remove(WINS.name)
        order.insert(order.index(STRENGTH.name) + 1, WINS.name)
    # A task type of another distribution may have renamed its question since.
    places = {question: place for place, question in enumerate(order)}
    return tuple(
        sorted(shown, key=lambda column: (places.get(column.question, len(places)), column.campaign))
    )


def _load_columns(release: Release) -> list[HumanScoreColumn]:
    folder = folder_of(release)
    # There are no scores if the triplets or pairs compared only one system, or covered too few images.
    if not (folder / "human.csv").exists():
        return []
    scores = load_human_scores(folder / "human.csv")
    # Older releases don't have this file.
    path = folder / "differences.csv"
    differences = load_human_differences(path) if path.exists() else ()
    tied = [each for each in differences if not is_significant(each.p_value)]
    excluded = count_outdated_answers(release)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    found, questions = [], _get_questions()
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
                stopped=_describe_stopping(manifest),
                is_chosen=bool(manifest.get("next_pairs")),
            )
        )
    return found


def _describe_stopping(manifest: Mapping[str, Any]) -> str:
    """Return a note on early stopping from a manifest; older manifests have less data."""
    confidence = manifest.get("confidence")
    if confidence:
        return (
            f"A pair ended once its winner had a probability of {confidence:.4g}, after at least"
            f" {manifest['confidence_votes']} votes. Some winners may differ from the winners by all answers,"
            " and shares of answers are biased."
        )
    if manifest.get("curtail"):
        return (
            "An item ended when further answers could not change its winner. Winners are the same as with all"
            " answers, but shares of answers are biased."
        )
    return ""


def rows_of(columns: tuple[HumanScoreColumn, ...]) -> tuple[HumanScoreRow, ...]:
    """Return the systems of all columns, in the order of the first column."""
    systems = dict.fromkeys(
        system
        for column in columns
        for system in sorted(column.scores, key=lambda name: -column.scores[name].value)
    )
    return tuple(
        HumanScoreRow(system=system, places=tuple(_get_cell(column, system) for column in columns))
        for system in systems
    )


def _get_cell(column: HumanScoreColumn, system: str) -> HumanScoreCell | None:
    score = column.scores.get(system)
    return None if score is None else HumanScoreCell(score=score, tied=column.tied.get(system))
