"""Tokens in the administration: staff see that they are there, and may revoke them."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from capeval_server.accounts.models import Token

__all__ = ["TokenAdmin"]


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Nobody makes or changes another's token."""

    list_display = ("name", "user", "scope", "created", "expires", "revoked")
    list_filter = ("scope",)
    search_fields = ("name", "user__username")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description="Revoke", permissions=["delete"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[Token]) -> None:
        """Revokes the chosen tokens."""
        for token in chosen.filter(revoked=None):
            token.revoke()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: a token's text is only for its user."""
        return False

    def has_change_permission(self, request: HttpRequest, token: Token | None = None) -> bool:
        """Nobody: a token that changed would not be what its user made."""
        return False
