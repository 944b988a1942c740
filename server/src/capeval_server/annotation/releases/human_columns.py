"""Human scores of a challenge's systems, from frozen releases of judgments."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from capeval.errors import CapevalError
from capeval.formats.judgments.human_scores import HumanScore, load_human_differences, load_human_scores
from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM, Question
from capeval.studies.judging.wins import STRENGTH, WINS
from capeval_server.annotation.models import Item, Release
from capeval_server.annotation.releases.judgments import judgment_kinds
from capeval_server.annotation.releases.release_files import count_outdated_answers, folder_of
from capeval_server.annotation.task_types import TASKS, RatingResult
from capeval_server.challenges.models import Challenge
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.judgments import HumanScoreColumn

__all__ = [
    "HumanScoreCell",
    "HumanScoreRow",
    "columns_of",
    "describe_stopping",
    "explain_adaptive",
    "list_board_columns",
    "list_questions",
    "rows_of",
]

_log = logging.getLogger(__name__)
# The fields of releases and campaigns that are read for each leaderboard.
_SHOWN = ("folder", "name", "time", "campaign__slug", "campaign__title")
# Columns by release, which never change.
_loaded: BoundedCache[int, tuple[HumanScoreColumn, ...]] = BoundedCache(most=200)

_CHOSEN_BY = "Adaptive sampling chose which systems were compared more often:"
_CHOSEN = {
    STRENGTH.name: f"{_CHOSEN_BY} strengths take this into account.",
    WINS.name: f"{_CHOSEN_BY} shares of wins are not comparable between systems. Compare strengths.",
}


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

    @property
    def submission(self) -> str:
        """Id of the judged submission; empty if the system is not one."""
        return next((place.score.submission for place in self.places if place and place.score.submission), "")


def _get_questions() -> dict[str, Question]:
    """Return the questions of all task types by name; the library's come first."""
    added = (question for task in TASKS.values() for question in task.result.questions)
    return {**QUESTIONS, **{question.name: question for question in added}}


def list_questions() -> list[str]:
    """Return the names of all questions that can be columns, in order."""
    return list(_get_questions())


def _filter_shown(columns: list[HumanScoreColumn]) -> list[HumanScoreColumn]:
    """Omit columns that need another column that is missing, such as M4 without M3."""
    results = [task.result for task in TASKS.values() if isinstance(task.result, RatingResult)]
    needed = {rated.question.name: rated.shown_with for result in results for rated in result.rated}
    found = {column.question for column in columns}
    return [column for column in columns if needed.get(column.question, "") in {"", *found}]


def columns_of(challenge: Challenge) -> tuple[HumanScoreColumn, ...]:
    """Return the columns of the latest release of each campaign, ordered by question.

    They include the numbers of answers that no longer count.
    """
    releases = _list_latest(challenge)
    excluded = {_name_source(release): count_outdated_answers(release) for release in releases}
    return tuple(
        replace(column, excluded=excluded[column.source]) for column in _list_columns(releases, _load_columns)
    )


def list_board_columns(challenge: Challenge, as_of: datetime | None) -> tuple[HumanScoreColumn, ...]:
    """Return the columns of leaderboards: those of `columns_of` without outdated answers, from a cache.

    Args:
        challenge: The challenge.
        as_of: Only releases up to this time count; None for no limit.
    """
    return _list_columns(_list_latest(challenge, as_of), _load_cached)


def _list_latest(challenge: Challenge, as_of: datetime | None = None) -> list[Release]:
    rows = Release.objects.filter(campaign__challenge=challenge, campaign__kind__in=judgment_kinds())
    if as_of is not None:
        rows = rows.filter(time__lte=as_of)
    found = rows.select_related("campaign").only(*_SHOWN).order_by("time", "pk")
    return list({release.campaign_id: release for release in found}.values())


def _list_columns(
    releases: Iterable[Release], load: Callable[[Release], tuple[HumanScoreColumn, ...]]
) -> tuple[HumanScoreColumn, ...]:
    shown = _filter_shown([column for release in releases for column in load(release)])
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


def _load_cached(release: Release) -> tuple[HumanScoreColumn, ...]:
    """Return the columns of a release, or none if its files were damaged, which its own page reports."""
    group = repr((release.campaign.title, release.folder))
    known = _loaded.known(group, [release.pk])
    if release.pk not in known:
        try:
            known[release.pk] = _load_columns(release)
        except (CapevalError, OSError, ValueError):
            _log.exception("the release %s can't be read", _name_source(release))
            return ()
        _loaded.add(group, known)
    return known[release.pk]


def _name_source(release: Release) -> str:
    return f"{release.campaign.slug} {release.name}"


def _load_columns(release: Release) -> tuple[HumanScoreColumn, ...]:
    folder = folder_of(release)
    # There are no scores if the triplets or pairs compared only one system, or covered too few images.
    if not (folder / "human.csv").exists():
        return ()
    scores = load_human_scores(folder / "human.csv")
    # Older releases don't have this file.
    path = folder / "differences.csv"
    differences = load_human_differences(path) if path.exists() else ()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    images = _list_images(release)
    found, questions = [], _get_questions()
    for question in dict.fromkeys(score.question for score in scores):
        of_question = {score.system: score for score in scores if score.question == question}
        found.append(
            HumanScoreColumn(
                question=question,
                measures=questions[question].measures if question in questions else "",
                campaign=release.campaign.title,
                release=release.name,
                source=_name_source(release),
                scores=of_question,
                differences={each.system: each for each in differences if each.question == question},
                missing=tuple(name for name in (HUMAN, RANDOM) if name not in of_question),
                notes=_list_notes(question, of_question.values(), manifest),
                is_chosen=bool(manifest.get("next_pairs")),
                images=images,
            )
        )
    return tuple(found)


def _list_images(release: Release) -> frozenset[str]:
    """Return the ids of the judged images, which never change in a campaign; empty without them."""
    ids = Item.objects.filter(campaign=release.campaign).values_list("payload__image_id", flat=True)
    return frozenset(str(image) for image in ids.distinct() if image is not None)


def _list_notes(
    question: str, scores: Collection[HumanScore], manifest: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return notes on the intervals, and on the collection of answers that affects their interpretation."""
    intervals = dict.fromkeys(each.interval for each in scores)
    alphas = dict.fromkeys(
        f"Alpha of the {each.alpha_scale} scale, with {each.alpha_interval}."
        for each in scores
        if each.alpha_scale
    )
    known = (f"{interval}." for interval in intervals if interval)
    chosen = explain_adaptive(question) if manifest.get("next_pairs") else ""
    return tuple(note for note in (*known, *alphas, describe_stopping(manifest), chosen) if note)


def explain_adaptive(question: str) -> str:
    """Return a note on a question's scores after adaptive sampling; empty if it does not affect them."""
    return _CHOSEN.get(question, "")


def describe_stopping(manifest: Mapping[str, Any]) -> str:
    """Return a note on early stopping; empty if there is none.

    Args:
        manifest: The settings of a campaign, or the manifest of a release; older manifests have less data.
    """
    # Older manifests do not have the numbers of items and pairs that ended early.
    ended = manifest.get("ended", {})
    confidence = manifest.get("confidence")
    if confidence and ended.get("pairs_confident", 1):
        return (
            f"A pair ended once its winner had a probability of {confidence:.4g}, after at least"
            f" {manifest['confidence_votes']} votes. Some winners may differ from the winners by all answers,"
            " and shares of answers are biased."
        )
    if manifest.get("curtail") and ended.get("items_decided", 1):
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
