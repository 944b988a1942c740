"""What a leaderboard is asked for, and who may ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from capeval.checks import checked_choice
from capeval.metrics import METRICS
from capeval_server.challenges.access import organises
from capeval_server.challenges.models import Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.errors import QuestionError

__all__ = ["Question", "ask", "may_see", "score_names"]


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
        """Whether the version of the references is the one that counts now."""
        return self.version.number == self.reference_set.version


def score_names(split: Split) -> list[str]:
    """The names of the scores of a split, in order."""
    return [name for metric in split.metrics for name in METRICS[metric]().names]


def may_see(user: User | AnonymousUser, phase: Phase) -> bool:
    """Whether somebody may see the leaderboard of a phase: all may, or they manage the challenge."""
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
    """A question by names; what is not named is the first there is, and the version that counts now.

    Raises:
        Http404: Nothing has a name.
        QuestionError: A score or an order is not one that can be sorted by.
    """
    try:
        as_of = as_of and as_of.astimezone(UTC)
    except OverflowError:
        raise Http404 from None
    chosen, counted = _counted(phase, split, references, version)
    if subset and ("\0" in subset or not chosen.subsets.filter(name=subset).exists()):
        raise Http404
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
        raise Http404
    splits = phase.splits.defer("image_ids").order_by("pk")
    chosen = get_object_or_404(splits, name=split) if split else splits.first()
    if chosen is None:
        raise Http404
    sets = chosen.reference_sets.order_by("pk")
    found = get_object_or_404(sets, name=references) if references else sets.first()
    number = found.version if found is not None and version is None else version
    if found is None or number is None or not 0 <= number < 2**31:
        raise Http404
    return chosen, get_object_or_404(found.versions.select_related("reference_set"), number=number)
