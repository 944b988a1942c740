"""The order in which rows are locked, so that none who lock them wait for each other.

References come first, then a challenge, a team, a submission. All are locked without their keys: rows that
point to them can be written meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge, ReferenceSet

__all__ = ["held", "lock_references"]


def lock_references(sets: QuerySet[ReferenceSet]) -> list[ReferenceSet]:
    """Keeps reference sets as they are until the end of the transaction.

    Who writes scores and who changes references come one after the other by this.
    """
    return list(sets.order_by("pk").select_for_update(of=("self",), no_key=True))


@contextmanager
def held(challenge: Challenge) -> Iterator[Challenge]:
    """The challenge as it is now, which nobody else changes until the end, nor its references."""
    with transaction.atomic():
        lock_references(ReferenceSet.objects.filter(split__challenge=challenge))
        yield Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)
