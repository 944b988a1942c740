"""Base classes of the admin: read-only by default, with an audit log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.dispatch import Signal
from django.http import HttpRequest

__all__ = ["AuditedModelAdmin", "ReadOnlyInline", "ReadOnlyModelAdmin", "done"]

admin.site.site_header = admin.site.site_title = "capeval administration"

# Sent with `user`, `row` and `what`, in the transaction of a change in the admin.
done = Signal()


class AuditedModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """ModelAdmin that reports every change to the audit log.

    Attributes:
        told: The fields whose old and new values are logged. Of other fields, only the name is logged.
    """

    told: tuple[str, ...] = ()

    def called(self, row: Model) -> str:
        """Return the name of a row in the audit log."""
        return f"{row._meta.verbose_name} {row}"

    def tell(self, request: HttpRequest, row: Model, what: str) -> None:
        """Report a change of a row to the audit log; `what` follows the username."""
        done.send(type(row), user=request.user, row=row, what=f"{what}, in the administration")

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Iterable[Any] | None, add: bool = False
    ) -> Any:
        """Return Django's change message, and collect the changes for the audit log."""
        found = super().construct_change_message(request, form, formsets, add)  # type: ignore[arg-type]
        if not add:
            # Password forms have a `user` instead of an `instance`.
            row = form.instance if hasattr(form, "instance") else form.user
            row._told = [_describe_change(form, name, shown=name in self.told) for name in form.changed_data]
        return found

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Log the addition of a row."""
        self.tell(request, obj, f"added {self.called(obj)}")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Log the changes of a row."""
        changes = getattr(obj, "_told", [message] if isinstance(message, str) else [])
        if changes:
            self.tell(request, obj, f"changed {self.called(obj)}: {'; '.join(changes)}")
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Log the deletion of rows."""
        for row in queryset:
            self.tell(request, row, f"deleted {self.called(row)}")
        return super().log_deletions(request, queryset)


def _describe_change(form: Any, name: str, *, shown: bool) -> str:
    field = name.replace("_", " ")
    if not shown:
        return field
    return f"{field} from {_format_value(form.initial.get(name))} to {_format_value(form.cleaned_data[name])}"


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple | QuerySet):
        return f"({', '.join(sorted(map(str, value)))})"
    return repr(value) if isinstance(value, str) else str(value)


class ReadOnlyModelAdmin(AuditedModelAdmin):
    """ModelAdmin without adding, editing or deleting. Actions need change permission."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for a row; for the list, the user's permission."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]
    """Related rows, shown read-only on the page of their parent."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False
