"""The order in which rows are locked, so that none who lock them wait for each other.

References come first, then a challenge, a team, a submission. All are locked without their keys: rows that
point to them can be written meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Manager, Model, QuerySet

from capeval_server.challenges.models import Challenge, ReferenceSet

__all__ = ["held", "lock_references", "put"]

Row = TypeVar("Row", bound=Model)


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


def put(rows: Manager[Row], values: Mapping[str, Any], **key: Any) -> Row:
    """The row with a key, which has some values from now on; made where there is none.

    Other than Django's `update_or_create`, it locks no key: rows that point to this one can be written
    meanwhile, and none waits for the other.
    """
    row, made = rows.get_or_create(defaults=values, **key)
    if not made:
        row = rows.select_for_update(no_key=True).get(pk=row.pk)
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return row
