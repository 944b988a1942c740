"""Row versions: a number of a row that differs after each change of the row.

The number of some rows and the sum of their stamps tell whether any of them changed, and the database has
these much sooner than the rows. Stamps are drawn at random, so that two changes at the same time need no
common counter, for whose row transactions would wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

from django.db import models

__all__ = ["RowVersionedModel", "new_stamp"]

Row = TypeVar("Row", bound=models.Model)

# A stamp that no row had before. The sum of a million of them is still a whole number of 64 bits.
# A partial of the standard library, because migrations refer to it: they must not depend on our modules.
new_stamp = partial(secrets.randbelow, 2**40)


class RowVersionedQuerySet(models.QuerySet[Row]):
    """Rows that get a new stamp when they are changed together."""

    def update(self, **values: Any) -> int:
        """Changes all rows, and gives them a new stamp."""
        return super().update(**{"stamp": new_stamp(), **values})


class RowVersionedModel(models.Model):
    """A row with a stamp. Only SQL of one's own can change the row and leave its stamp."""

    stamp = models.BigIntegerField(default=new_stamp, editable=False)

    objects = RowVersionedQuerySet.as_manager()

    class Meta:  # noqa: D106 - Django's own.
        abstract = True

    def save(self, *arguments: Any, update_fields: Iterable[str] | None = None, **named: Any) -> None:
        """Stores the row with a new stamp."""
        self.stamp = new_stamp()
        if update_fields is not None:
            update_fields = {*update_fields, "stamp"}
        super().save(*arguments, update_fields=update_fields, **named)
