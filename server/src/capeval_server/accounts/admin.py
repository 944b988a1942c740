"""Admin pages of users, groups, email addresses, API tokens and second factors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from allauth.account.admin import EmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from capeval_server.accounts.models import Token
from capeval_server.accounts.services.users import check_name
from capeval_server.challenges.services.organizers import list_sole_challenges
from capeval_server.core.admin import AuditedModelAdmin, ReadOnlyModelAdmin
from capeval_server.core.errors import SuccessorError

__all__ = ["AccountAdmin", "AddressAdmin", "FactorAdmin", "RightsAdmin", "TokenAdmin"]


class _NewUserForm(AdminUserCreationForm):  # type: ignore[type-arg]
    def clean_username(self) -> str:
        name = super().clean_username()
        # None if the name is taken; the form reports that itself.
        if name:
            check_name(name)
        return name


class _UserForm(UserChangeForm):  # type: ignore[type-arg]
    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        # An unchanged name may predate these checks.
        if name != self.initial.get("username"):
            check_name(name, self.instance)
        return name

    def clean_is_active(self) -> bool:
        active: bool = self.cleaned_data["is_active"]
        if not active and self.instance.is_active and (alone := list_sole_challenges(self.instance)):
            raise ValidationError(str(SuccessorError([challenge.slug for challenge in alone])))
        return active


admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(AuditedModelAdmin, UserAdmin):  # type: ignore[type-arg]
    """Users. New names pass the same checks as at sign-up."""

    add_form, form = _NewUserForm, _UserForm
    told = ("username", "is_active", "is_staff", "is_superuser", "groups")

    def get_deleted_objects(
        self, objs: Iterable[User], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """Return the objects to delete; the last organizers of challenges are protected."""
        found, count, lacking, protected = super().get_deleted_objects(list(objs), request)
        for user in objs:
            protected += [
                f"{user}, the last organizer of challenge {one.slug}" for one in list_sole_challenges(user)
            ]
        return found, count, lacking, protected


admin.site.unregister(Group)


@admin.register(Group)
class RightsAdmin(AuditedModelAdmin, GroupAdmin):
    """Groups of users with permissions."""

    told = ("name", "permissions")


admin.site.unregister(EmailAddress)


@admin.register(EmailAddress)
class AddressAdmin(AuditedModelAdmin, EmailAddressAdmin):  # type: ignore[misc]
    """Email addresses of users. The audit log does not contain the addresses."""

    told = ("verified", "primary")

    def called(self, row: Model) -> str:
        """Return the name of the row in the audit log, without the address."""
        return f"an email address of {cast(EmailAddress, row).user}"

    @admin.action(description="Mark selected email addresses as verified")
    def make_verified(self, request: HttpRequest, queryset: QuerySet[EmailAddress]) -> None:
        """Mark addresses as verified."""
        for row in queryset.filter(verified=False):
            self.tell(request, row, f"verified {self.called(row)}")
        super().make_verified(request, queryset)


@admin.register(Token)
class TokenAdmin(ReadOnlyModelAdmin):
    """API tokens, which can be revoked. Neither tokens nor their digests are shown."""

    list_display = ("name", "user", "scope", "created", "expires", "revoked")
    list_filter = ("scope", ("revoked", admin.EmptyFieldListFilter), "created")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = list_display
    actions = ("revoke",)

    def has_delete_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:
        """Return whether the user has the permission; deleting a token invalidates it."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject lookups by digest, which would reveal it character by character."""
        return not lookup.startswith("digest") and super().lookup_allowed(lookup, value, request)

    def called(self, row: Model) -> str:
        """Return the name of the token in the audit log, with its user."""
        return f"the token {row} of {cast(Token, row).user}"

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        """Revoke tokens."""
        valid = queryset.filter(revoked=None).select_related("user")
        with transaction.atomic():
            for token in valid:
                self.tell(request, token, f"revoked {self.called(token)}")
                token.revoke()
        self.message_user(request, f"{len(valid)} revoked.")


# allauth's own page shows the secrets of second factors.
admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class FactorAdmin(ReadOnlyModelAdmin):
    """Second factors by user; they can be deleted for users with a lost factor."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__username",)
    fields = readonly_fields = list_display

    def called(self, row: Model) -> str:
        """Return the name of the factor in the audit log, with its user."""
        return f"a second factor of {row.user}"  # type: ignore[attr-defined]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user has the permission."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject lookups by secret."""
        return not lookup.startswith("data") and super().lookup_allowed(lookup, value, request)
