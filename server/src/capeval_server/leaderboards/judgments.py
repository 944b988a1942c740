"""Human judgments of systems as columns of leaderboards.

Apps that collect judgments register a source. The scores of a column come from one frozen release, so they
never change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache

from django.db.models import F

from capeval.formats.judgments.human_scores import HumanDifference, HumanScore
from capeval.scoring.significance import is_significant
from capeval.studies.judging import HUMAN, RANDOM
from capeval_server.challenges.models import Challenge, ReferenceVersion, Split

__all__ = [
    "HumanScoreColumn",
    "JudgmentDetails",
    "exclude_submissions",
    "list_judgments",
    "register_judgments",
]


@dataclass(frozen=True, kw_only=True)
class JudgmentDetails:
    """Number of answers behind a human score, and their agreement.

    Attributes:
        images: Number of judged images.
        votes: Number of answers.
        workers: Number of people, if it is known.
        alpha: Krippendorff's alpha, or None if it is undefined.
        alpha_low: Lower end of its 95% interval.
        alpha_high: Upper end of the interval.
    """

    images: int
    votes: int
    workers: int | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None


@dataclass(frozen=True, kw_only=True)
class HumanScoreColumn:
    """Human scores for one question, from one release.

    Scores of different releases are never combined in a column.

    Attributes:
        question: Name of the question, such as M1.
        measures: Meaning of the scores.
        campaign: Title of the campaign.
        release: Name of the release.
        source: Name of campaign and release, unique on the server.
        scores: Score of each judged system.
        differences: Tests of the difference between a system and the next one, by the name of the first.
        missing: The names among Human and Random that were not judged.
        notes: Notes on the intervals, and on the collection of answers that affects their interpretation.
        is_chosen: Whether adaptive sampling chose the compared systems.
        images: Ids of the judged images as text; empty if they are unknown.
        excluded: Number of the release's answers that no longer count; None if it was not counted.
    """

    question: str
    measures: str
    campaign: str
    release: str
    source: str
    scores: Mapping[str, HumanScore]
    differences: Mapping[str, HumanDifference]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    is_chosen: bool = False
    images: frozenset[str] = field(default=frozenset(), repr=False)
    excluded: int | None = None

    @cached_property
    def tied(self) -> dict[str, str]:
        """For systems that can't be distinguished from the next one, that next system."""
        return {
            system: found.next
            for system, found in self.differences.items()
            if not is_significant(found.p_value)
        }

    def get_p_value(self, first: HumanScore, second: HumanScore) -> float | None:
        """Return the p-value of the difference of two systems; None if they are not neighbors here."""
        for one, other in ((first, second), (second, first)):
            found = self.differences.get(one.system)
            if found is not None and found.next == other.system:
                return found.p_value
        return None

    @cached_property
    def by_submission(self) -> dict[str, HumanScore]:
        """Scores of the judged submissions, by the submission's id."""
        return {score.submission: score for score in self.scores.values() if score.submission}

    def get_score(self, submission: object, *, baseline: bool) -> HumanScore | None:
        """Return the score of a leaderboard's row, or None.

        Args:
            submission: The id of the submission.
            baseline: Whether the row is the human baseline.
        """
        return self.scores.get(HUMAN) if baseline else self.by_submission.get(str(submission))


def exclude_submissions(
    columns: Iterable[HumanScoreColumn], hidden: Collection[str]
) -> tuple[HumanScoreColumn, ...]:
    """Return columns without the scores of some submissions.

    Columns of which only Human and Random would remain are left out.

    Args:
        columns: The columns.
        hidden: The ids of the submissions.
    """
    found = []
    for column in columns:
        scores = {name: score for name, score in column.scores.items() if score.submission not in hidden}
        if len(scores) < len(column.scores) and scores.keys() <= {HUMAN, RANDOM}:
            continue
        differences = {
            name: each for name, each in column.differences.items() if {name, each.next} <= scores.keys()
        }
        found.append(replace(column, scores=scores, differences=differences))
    return tuple(found)


Source = Callable[[Challenge, datetime | None], tuple[HumanScoreColumn, ...]]
_sources: list[Source] = []


def register_judgments(source: Source) -> Source:
    """Add a source of judgments: a function that returns the columns of a challenge up to a time."""
    if source not in _sources:
        _sources.append(source)
    return source


def list_judgments(split: Split, as_of: datetime | None = None) -> tuple[HumanScoreColumn, ...]:
    """Return the columns of human judgments of a split, ordered by question.

    Judgments of the images of another split of the challenge are left out.

    Args:
        split: The split.
        as_of: Only releases up to this time count; None for no limit.
    """
    columns = [column for source in _sources for column in source(split.challenge, as_of)]
    if not any(column.images for column in columns):
        return tuple(columns)
    files = _list_reference_files(split.challenge)

    def contains(split: int, column: HumanScoreColumn) -> bool:
        return _contains(split, files[split], column.images)

    return tuple(
        column
        for column in columns
        if not column.images
        or contains(split.pk, column)
        or not any(contains(other, column) for other in files if other != split.pk)
    )


def _list_reference_files(challenge: Challenge) -> dict[int, tuple[str, ...]]:
    """Return the SHA-256 of the files with the current references of each split, by the split's key."""
    current = ReferenceVersion.objects.filter(
        reference_set__split__challenge=challenge, number=F("reference_set__version")
    )
    found: dict[int, list[str]] = {}
    for split, file in current.values_list("reference_set__split", "sha256").order_by("reference_set"):
        found.setdefault(split, []).append(file)
    return {split: tuple(files) for split, files in found.items()}


@lru_cache(maxsize=400)
def _contains(split: int, _files: tuple[str, ...], images: frozenset[str]) -> bool:
    """Return whether a split has some images.

    The images of a split only change together with the files of its references. The lists are long, so they
    are not read for each leaderboard.
    """
    return images <= set(map(str, Split.objects.values_list("image_ids", flat=True).get(pk=split)))
