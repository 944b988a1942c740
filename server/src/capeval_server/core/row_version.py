"""Row versions: a random number per row, new after every update.

The count of some rows and the sum of their stamps show whether any of them changed. The database computes
both much faster than it returns the rows. Stamps are random, so concurrent transactions do not wait for a
shared counter.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

from django.db import models

__all__ = ["RowVersionedModel", "new_stamp"]

Row = TypeVar("Row", bound=models.Model)

# A new random stamp. The sum of a million stamps still fits in a 64-bit integer.
# A partial of a standard library function, because migrations refer to it and must not import our modules.
new_stamp = partial(secrets.randbelow, 2**40)


class RowVersionedQuerySet(models.QuerySet[Row]):
    """QuerySet with bulk updates that set a new stamp."""

    def update(self, **values: Any) -> int:
        """Update all rows, with a new stamp."""
        return super().update(**{"stamp": new_stamp(), **values})


class RowVersionedModel(models.Model):
    """Model with a stamp. Only raw SQL can change a row without changing its stamp."""

    stamp = models.BigIntegerField(default=new_stamp, editable=False)

    objects = RowVersionedQuerySet.as_manager()

    class Meta:  # noqa: D106 - part of Django.
        abstract = True

    def save(self, *arguments: Any, update_fields: Iterable[str] | None = None, **named: Any) -> None:
        """Save the row with a new stamp."""
        self.stamp = new_stamp()
        if update_fields is not None:
            update_fields = {*update_fields, "stamp"}
        super().save(*arguments, update_fields=update_fields, **named)
