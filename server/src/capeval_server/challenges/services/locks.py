"""The order in which rows are locked, which prevents deadlocks.

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
    """Locks reference sets until the end of the transaction.

    Transactions that write scores and those that change references wait for each other here.
    """
    return list(sets.order_by("pk").select_for_update(of=("self",), no_key=True))


@contextmanager
def held(challenge: Challenge) -> Iterator[Challenge]:
    """The challenge as it is now. It and its references are locked until the end."""
    with transaction.atomic():
        lock_references(ReferenceSet.objects.filter(split__challenge=challenge))
        yield Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)


def put(rows: Manager[Row], values: Mapping[str, Any], **key: Any) -> Row:
    """Updates the row with a key, or makes it.

    Unlike Django's `update_or_create`, it locks no key: rows that point to this one can be written
    meanwhile, and none waits for the other.
    """
    row, made = rows.get_or_create(defaults=values, **key)
    if not made:
        row = rows.select_for_update(no_key=True).get(pk=row.pk)
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return row
