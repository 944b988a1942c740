"""Order of row locks, which prevents deadlocks.

References are locked first, then a challenge, a team, a submission. All locks are `FOR NO KEY UPDATE`, so
rows that refer to the locked ones can be written in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Manager, Model, QuerySet

from capeval_server.challenges.models import Challenge, ReferenceSet

__all__ = ["lock_challenge", "lock_references", "upsert"]

Row = TypeVar("Row", bound=Model)


def lock_references(sets: QuerySet[ReferenceSet]) -> list[ReferenceSet]:
    """Lock reference sets until the end of the transaction.

    Transactions that write scores and transactions that change references wait for each other here.
    """
    return list(sets.order_by("pk").select_for_update(of=("self",), no_key=True))


@contextmanager
def lock_challenge(challenge: Challenge) -> Iterator[Challenge]:
    """Yield the current row of a challenge; it and its references are locked."""
    with transaction.atomic():
        lock_references(ReferenceSet.objects.filter(split__challenge=challenge))
        yield Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)


def upsert(rows: Manager[Row], values: Mapping[str, Any], **key: Any) -> Row:
    """Update the row with a key, or create it.

    In contrast to Django's `update_or_create`, the key is not locked: rows that refer to this one can be
    written without waiting.
    """
    row, made = rows.get_or_create(defaults=values, **key)
    if not made:
        row = rows.select_for_update(no_key=True).get(pk=row.pk)
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return row
