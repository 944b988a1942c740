"""Questions: which leaderboard is asked for, and who may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, QuerySet
from django.utils import timezone

from capeval.checks import checked_choice
from capeval.metrics import METRICS
from capeval_server.challenges.access import organises
from capeval_server.challenges.models import Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.errors import NotFoundError, QuestionError

__all__ = ["Question", "ask", "may_see", "score_names"]

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a leaderboard is of, and how it is sorted.

    Attributes:
        phase: The phase.
        split: One of its splits.
        reference_set: One of the split's reference sets.
        version: The version of the references that scores are of.
        subset: One of the split's subsets; all images if there is no name.
        sort_by: The name of a score.
        best_first: Whether the highest score comes first.
        as_of: Only what was submitted until then counts; no such limit if None.
    """

    phase: Phase
    split: Split
    reference_set: ReferenceSet
    version: ReferenceVersion
    subset: str
    sort_by: str
    best_first: bool
    as_of: datetime | None

    @property
    def current(self) -> bool:
        """Whether the version of the references is the current one."""
        return self.version.number == self.reference_set.version


def score_names(split: Split) -> list[str]:
    """The names of the scores of a split, in order."""
    return [name for metric in split.metrics for name in METRICS[metric]().names]


def may_see(user: User | AnonymousUser, phase: Phase) -> bool:
    """Whether a user may see the leaderboard of a phase: it is public, or they organise the challenge."""
    return phase.shows_leaderboard(timezone.now()) or organises(user, phase.challenge)


def ask(
    phase: Phase,
    *,
    split: str = "",
    references: str = "",
    version: int | None = None,
    subset: str = "",
    sort_by: str = "",
    order: str = "",
    as_of: datetime | None = None,
) -> Question:
    """A question from names. By default it is the first split and reference set, and the current version.

    Raises:
        NotFoundError: Nothing has one of the names.
        QuestionError: A score or an order is not one that can be sorted by.
    """
    try:
        as_of = as_of and as_of.astimezone(UTC)
    except OverflowError:
        raise NotFoundError from None
    chosen, counted = _counted(phase, split, references, version)
    if subset and ("\0" in subset or not chosen.subsets.filter(name=subset).exists()):
        raise NotFoundError
    names = score_names(chosen)
    if sort_by:
        checked_choice("sort_by", sort_by, names, error=QuestionError)
    if order:
        checked_choice("order", order, ("best", "worst"), error=QuestionError)
    return Question(
        phase=phase,
        split=chosen,
        reference_set=counted.reference_set,
        version=counted,
        subset=subset,
        sort_by=sort_by or chosen.sort_by,
        best_first=order != "worst",
        as_of=as_of,
    )


def _counted(
    phase: Phase, split: str, references: str, version: int | None
) -> tuple[Split, ReferenceVersion]:
    """The split, and the version of its references, that have these names."""
    # PostgreSQL's text has no zero character, so nothing has a name with one.
    if "\0" in split + references:
        raise NotFoundError
    splits = phase.splits.defer("image_ids").order_by("pk")
    chosen = _named_or_first(splits, split)
    reference_set = _named_or_first(chosen.reference_sets.order_by("pk"), references)
    number = reference_set.version if version is None else version
    if not 0 <= number < 2**31:
        raise NotFoundError
    found = reference_set.versions.select_related("reference_set").filter(number=number).first()
    if found is None:
        raise NotFoundError
    return chosen, found


def _named_or_first(rows: QuerySet[Row], name: str) -> Row:
    row = (rows.filter(name=name) if name else rows).first()
    if row is None:
        raise NotFoundError
    return row
