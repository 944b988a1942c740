"""Base classes of the administration: what is done in it is told, and most rows are not changed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.dispatch import Signal
from django.http import HttpRequest

__all__ = ["AuditedModelAdmin", "ReadOnlyInline", "ReadOnlyModelAdmin", "done"]

admin.site.site_header = admin.site.site_title = "capeval administration"

# Sent with `user`, `row` and `what`, in the transaction in which something is done in the administration.
done = Signal()


class AuditedModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows of which all that is done with them in the administration is told.

    Attributes:
        told: The fields of which the old and the new value are told; others are only named.
    """

    told: tuple[str, ...] = ()

    def called(self, row: Model) -> str:
        """What a row is called where it is told of."""
        return f"{row._meta.verbose_name} {row}"

    def tell(self, request: HttpRequest, row: Model, what: str) -> None:
        """Tells what was done with a row, as it follows the user's name."""
        done.send(type(row), user=request.user, row=row, what=f"{what}, in the administration")

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Iterable[Any] | None, add: bool = False
    ) -> Any:
        """What changed in a form: Django's own message, with the values that may be told."""
        found = super().construct_change_message(request, form, formsets, add)  # type: ignore[arg-type]
        if not add:
            # The form of a password has its user in place of a row.
            row = form.instance if hasattr(form, "instance") else form.user
            row._told = [_change(form, name, shown=name in self.told) for name in form.changed_data]
        return found

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Tells that a row was added."""
        self.tell(request, obj, f"added {self.called(obj)}")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Tells what was changed of a row."""
        changes = getattr(obj, "_told", [message] if isinstance(message, str) else [])
        if changes:
            self.tell(request, obj, f"changed {self.called(obj)}: {'; '.join(changes)}")
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Tells which rows are deleted."""
        for row in queryset:
            self.tell(request, row, f"deleted {self.called(row)}")
        return super().log_deletions(request, queryset)


def _change(form: Any, name: str, *, shown: bool) -> str:
    field = name.replace("_", " ")
    if not shown:
        return field
    return f"{field} from {_text(form.initial.get(name))} to {_text(form.cleaned_data[name])}"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | QuerySet):
        return f"({', '.join(sorted(map(str, value)))})"
    return repr(value) if isinstance(value, str) else str(value)


class ReadOnlyModelAdmin(AuditedModelAdmin):
    """Rows that nobody adds, edits or deletes. Users with the permission to change have the actions."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a row in its form."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]
    """Rows that are shown with what they belong to, and not changed there."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False
