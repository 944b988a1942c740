"""Base classes of the administration: rows that are shown and not changed by hand."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

__all__ = ["ReadOnly", "ReadOnlyInline"]

admin.site.site_header = admin.site.site_title = "capeval administration"


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
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
