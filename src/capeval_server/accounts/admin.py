"""Users and tokens, for the staff of the site."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from capeval_server.accounts.models import Token
from capeval_server.staff import ReadOnly

__all__ = ["FactorAdmin", "TokenAdmin"]


@admin.register(Token)
class TokenAdmin(ReadOnly):
    """Tokens, which can be revoked. Neither a token nor its digest is shown."""

    list_display = ("name", "user", "scope", "created", "expires", "revoked")
    list_filter = ("scope", ("revoked", admin.EmptyFieldListFilter), "created")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = list_display
    actions = ("revoke",)

    def has_delete_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:
        """Whoever has the permission; a deleted token is not valid any more."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """No lookups by digest: they would reveal it letter by letter."""
        return not lookup.startswith("digest") and super().lookup_allowed(lookup, value, request)

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        """Revokes tokens."""
        number = queryset.filter(revoked=None).update(revoked=timezone.now())
        self.message_user(request, f"{number} revoked.")


# The package's own shows the secrets of second factors.
admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class FactorAdmin(ReadOnly):
    """Second factors: who has which; deleted for somebody who lost theirs."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__username",)
    fields = readonly_fields = list_display

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever has the permission."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """No lookups by secret."""
        return not lookup.startswith("data") and super().lookup_allowed(lookup, value, request)
