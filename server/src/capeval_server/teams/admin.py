"""Teams, for the staff of the site: their names can be changed. The code that lets one in is not shown."""

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
    """A team with its members and raises."""

    list_display = ("name", "challenge", "created")
    list_filter = ("challenge",)
    list_select_related = ("challenge",)
    search_fields = ("name", "memberships__user__username")
    fields = ("name", "challenge", "created")
    readonly_fields = ("challenge", "created")
    inlines = (_Members, _Raises)
    told = ("name",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Users make teams."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A team ends with its last member."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nobody searches for codes, which would tell them letter by letter."""
        return not lookup.startswith("code") and super().lookup_allowed(lookup, value, request)
