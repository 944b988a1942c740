"""Admin page of teams, with editable names and without invitation codes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from capeval_server.core.admin import AuditedModelAdmin, ReadOnlyInline
from capeval_server.teams.models import Membership, Raise, Team

__all__ = ["TeamAdmin"]


class _Members(ReadOnlyInline):
    model = Membership
    fields = ("user", "joined", "owner", "approved")


class _Raises(ReadOnlyInline):
    model = Raise
    fields = ("phase", "per_day", "total")


@admin.register(Team)
class TeamAdmin(AuditedModelAdmin):
    """Teams with their members and extra quota."""

    list_display = ("name", "challenge", "created")
    list_filter = ("challenge",)
    list_select_related = ("challenge",)
    search_fields = ("name", "memberships__user__username")
    fields = ("name", "challenge", "created")
    readonly_fields = ("challenge", "created")
    inlines = (_Members, _Raises)
    told = ("name",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: users create teams."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a team ends with its last member."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject lookups by code, which would reveal it character by character."""
        return not lookup.startswith("code") and super().lookup_allowed(lookup, value, request)
