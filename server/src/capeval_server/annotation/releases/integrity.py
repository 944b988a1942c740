"""Integrity checks of campaigns, computed from the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)

from capeval.errors import CapevalError
from capeval_server.annotation.core import triggers
from capeval_server.annotation.core.digests import compute_digest
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import count_free_slots, find_ended_items, select_countable
from capeval_server.annotation.models import (
    EXCLUDED,
    Assignment,
    Campaign,
    CheckResult,
    Item,
    Response,
    Review,
    Slot,
)
from capeval_server.annotation.releases.release_files import verify
from capeval_server.annotation.responses.adaptive_sampling import replay
from capeval_server.annotation.workers.trust import judged

__all__ = ["IntegrityViolation", "audit"]

# Maximum number of rows named in a violation.
_MOST_NAMED = 5
_State = Assignment.State


@dataclass(frozen=True, kw_only=True)
class IntegrityViolation:
    """Violation of an integrity rule.

    Attributes:
        rule: Text of the rule.
        number: Number of rows that violate it.
        rows: Keys of some of these rows.
    """

    rule: str
    number: int
    rows: tuple[int, ...]

    def __str__(self) -> str:
        named = ", ".join(map(str, self.rows)) + (", ..." if self.number > len(self.rows) else "")
        return f"{self.rule}: violated by {self.number:,} rows ({named})" if self.rows else self.rule


def audit(campaign: Campaign) -> Iterator[IntegrityViolation]:
    """Yield the violations of the integrity rules in a campaign.

    The tables must not change meanwhile, so call it in a transaction that holds the campaign (see
    `locks.py`).
    """
    missing = triggers.expected() - triggers.present()
    if missing:
        names = ", ".join(sorted(missing))
        yield IntegrityViolation(
            rule=f"the database must have the triggers {names}", number=len(missing), rows=()
        )
    for rule, broken in _RULES.items():
        yield from _report_violation(rule, broken(campaign))
    yield from _report_violation(
        "the hash of each answer must match the answer", _find_wrong_digests(campaign)
    )
    for release in campaign.releases.order_by("pk"):
        try:
            verify(release)
        except CapevalError as error:
            yield IntegrityViolation(rule=f"a release must not change: {error}", number=1, rows=())


def _report_violation(rule: str, broken: QuerySet[Any] | Iterable[int]) -> Iterator[IntegrityViolation]:
    keys = broken.values_list("pk", flat=True) if isinstance(broken, QuerySet) else broken
    found = list(keys)
    if found:
        yield IntegrityViolation(rule=rule, number=len(found), rows=tuple(found[:_MOST_NAMED]))


def _list_slots(campaign: Campaign) -> QuerySet[Slot]:
    return Slot.objects.filter(item__campaign=campaign)


def _list_filled_slots(campaign: Campaign) -> QuerySet[Slot]:
    return _list_slots(campaign).exclude(filled_by=None)


def _list_held(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__campaign=campaign, state=_State.HELD)


def _list_responses(campaign: Campaign) -> QuerySet[Response]:
    return Response.objects.filter(item__campaign=campaign)


def _find_surplus_slots(campaign: Campaign) -> QuerySet[Item]:
    most = get_options(campaign).answers
    filled = Count("slots", filter=Q(slots__closed=False))
    return campaign.items.annotate(found=filled).filter(found__gt=most)


def _find_missing_slots(campaign: Campaign) -> Iterable[int]:
    least = get_options(campaign).answers
    slots = Count("slots", filter=Q(slots__closed=False))
    rows = campaign.items.filter(is_check=False).annotate(found=slots).filter(found__lt=least)
    found = set(rows.values_list("pk", flat=True))
    return sorted(found - find_ended_items(campaign).items)


def _find_open_slots_of_ended(campaign: Campaign) -> Iterable[int]:
    over = find_ended_items(campaign).items
    held = Assignment.objects.filter(slot=OuterRef("pk"), state=_State.HELD)
    empty = _list_slots(campaign).filter(closed=False, filled_by=None).filter(~Exists(held))
    return [slot for slot, item in empty.values_list("pk", "item_id") if item in over] if over else []


def _find_same_worker(campaign: Campaign) -> Iterable[int]:
    rows = (
        _list_filled_slots(campaign)
        .values("item", "filled_by__participation__worker")
        .annotate(number=Count("pk"))
    )
    return list(rows.filter(number__gt=1).values_list("item", flat=True))


def _find_uncountable(campaign: Campaign) -> QuerySet[Slot]:
    return _list_filled_slots(campaign).filter(~Exists(select_countable().filter(pk=OuterRef("filled_by"))))


def _find_counted_checks(campaign: Campaign) -> QuerySet[Response]:
    return (
        _list_responses(campaign).filter(item__is_check=True).filter(Q(may_count=True) | ~Q(filled_slot=None))
    )


def _find_revision_gaps(campaign: Campaign) -> Iterable[int]:
    rows = _list_responses(campaign).values("assignment").annotate(number=Count("pk"), last=Max("revision"))
    return list(rows.exclude(number=F("last")).values_list("assignment", flat=True))


def _find_wrong_states(campaign: Campaign) -> QuerySet[Assignment]:
    answered = Exists(Response.objects.filter(assignment=OuterRef("pk")))
    rows = Assignment.objects.filter(item__campaign=campaign)
    return rows.filter((Q(state=_State.SUBMITTED) & ~answered) | (~Q(state=_State.SUBMITTED) & answered))


def _find_wrong_free_counts(campaign: Campaign) -> QuerySet[Item]:
    given = campaign.items.filter(held=False, is_check=False)
    counts = {
        "free": count_free_slots(trusted_only=False),
        "free_trusted": count_free_slots(trusted_only=True),
    }
    wrong = given.annotate(**{f"is_{name}": count for name, count in counts.items()}).exclude(
        free=F("is_free"), free_trusted=F("is_free_trusted")
    )
    not_given = campaign.items.filter(Q(held=True) | Q(is_check=True)).exclude(free=0, free_trusted=0)
    return Item.objects.filter(Q(pk__in=wrong.values("pk")) | Q(pk__in=not_given.values("pk")))


def _count_rows(rows: QuerySet[Any]) -> Subquery:
    """Return an expression for the number of rows of each participation."""
    counted = rows.order_by().values("participation").annotate(number=Count("pk")).values("number")
    return Subquery(counted, output_field=IntegerField())


def _find_wrong_answer_counts(campaign: Campaign) -> Iterable[int]:
    first = Response.objects.filter(participation=OuterRef("pk"), revision=1)
    rows = campaign.participations.annotate(found=_count_rows(first)).values_list("pk", "answered", "found")
    return [pk for pk, answered, found in rows if answered != (found or 0)]


def _find_wrong_judged_counts(campaign: Campaign) -> Iterable[int]:
    return [one.pk for one in campaign.participations.all() if (one.judged, one.fine) != judged(one)]


def _find_wrong_digests(campaign: Campaign) -> Iterator[int]:
    rows = _list_responses(campaign).filter(redacted="").values_list("pk", "answer", "digest")
    for pk, answer, digest in rows.iterator(chunk_size=5000):
        if compute_digest(answer) != digest:
            yield pk


def _find_wrong_repeats(campaign: Campaign) -> QuerySet[Assignment]:
    """Return repetitions of items that the worker never had, or that are not mirrored."""
    before = Assignment.objects.filter(
        participation=OuterRef("participation"), item=OuterRef("item__repeats")
    ).exclude(mirrored=OuterRef("mirrored"))
    again = Assignment.objects.filter(item__campaign=campaign, item__repeats__isnull=False)
    return again.filter(~Exists(before))


def _find_wrong_choices(campaign: Campaign) -> Iterable[int]:
    """Return the choices of next items that a replay of their answers doesn't confirm."""
    return [again.choice.pk for again in replay(campaign) if again.differs]


def _find_wrong_chosen_marks(campaign: Campaign) -> Iterable[int]:
    """Return the items that are marked as chosen, or in a choice, but not both."""
    chosen = {
        key
        for pairs in campaign.next_pairs.values_list("pairs", flat=True)
        for pair in pairs
        for key in pair["items"]
    }
    return sorted(chosen ^ set(campaign.items.filter(up_next=True).values_list("pk", flat=True)))


_RULES: dict[str, Callable[[Campaign], QuerySet[Any] | Iterable[int]]] = {
    "an item must have at most as many counted answers as it needs": _find_surplus_slots,
    "an item must have as many slots as it needs answers": _find_missing_slots,
    "an item that ended early must not wait for answers": _find_open_slots_of_ended,
    "the counted answers of an item must be by different workers": _find_same_worker,
    "a counted answer must be the newest of its worker, and neither rejected, excluded nor redacted": (
        _find_uncountable
    ),
    "a counted answer must fill a slot of its own item": lambda campaign: _list_filled_slots(
        campaign
    ).exclude(filled_by__item=F("item")),
    "an answer to a check must not count": _find_counted_checks,
    "check results must belong to checks": lambda campaign: CheckResult.objects.filter(
        response__item__campaign=campaign, response__item__is_check=False
    ),
    "a repeated item must be mirrored, for a worker who had it before": _find_wrong_repeats,
    "a worker must hold items of only the latest batch": lambda campaign: _list_held(campaign).exclude(
        batch=F("participation__batch")
    ),
    "a held slot must be empty, and belong to the held item": lambda campaign: _list_held(campaign).filter(
        Q(slot__filled_by__isnull=False) | (Q(slot__isnull=False) & ~Q(slot__item=F("item")))
    ),
    "a worker must not hold items on hold, or of a closed campaign": lambda campaign: _list_held(
        campaign
    ).filter(Q(item__held=True) | Q(item__campaign__state=Campaign.State.CLOSED)),
    "a blocked worker must not hold items": lambda campaign: _list_held(campaign).filter(
        participation__stage__in=EXCLUDED
    ),
    "a choice of adaptive sampling must follow from the answers at its time": _find_wrong_choices,
    "an item must be marked as chosen if and only if it was chosen": _find_wrong_chosen_marks,
    "the revisions of an answer must be numbered 1, 2, ...": _find_revision_gaps,
    "an assignment must be submitted if and only if it has an answer": _find_wrong_states,
    "reviewers must not review their own answers": lambda campaign: Review.objects.filter(
        response__item__campaign=campaign
    ).filter(
        Q(reviewer=F("response__participation__worker__user"))
        | Q(reviewer=F("response__participation__worker__account"))
    ),
    "the counts of free slots must be correct": _find_wrong_free_counts,
    "the counts of answers of each worker must be correct": _find_wrong_answer_counts,
    "the counts of judged answers of each worker must be correct": _find_wrong_judged_counts,
}
