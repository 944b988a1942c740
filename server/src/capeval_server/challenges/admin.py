"""Admin page of challenges, where staff change the organizers.

Organizers' own pages change everything else.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from capeval_server.challenges.models import Challenge, Phase, ReferenceSet
from capeval_server.core.admin import AuditedModelAdmin, ReadOnlyInline

__all__ = ["ChallengeAdmin"]


class _Phases(ReadOnlyInline):
    model = Phase
    fields = ("name", "opens", "closes", "quota_per_day", "quota_total", "leaderboard")


class _OrganizersForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form that rejects the removal of the last organizer."""

    def clean_organizers(self) -> QuerySet[User]:
        chosen: QuerySet[User] = self.cleaned_data["organizers"]
        if not chosen.filter(is_active=True).exists() and self.instance.organizers.exists():
            raise forms.ValidationError("A challenge needs an active organizer: select another user first.")
        return chosen


@admin.register(Challenge)
class ChallengeAdmin(AuditedModelAdmin):
    """Challenges, with their phases and editable organizers."""

    list_display = ("slug", "title", "organized_by", "pages")
    search_fields = ("slug", "title")
    fields = ("slug", "title", "reference_sets", "pages", "organizers")
    readonly_fields = ("slug", "title", "reference_sets", "pages")
    autocomplete_fields = ("organizers",)
    inlines = (_Phases,)
    told = ("organizers",)

    form = _OrganizersForm

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Add new organizers before removing others, so that there is always one."""
        form.instance.organizers.add(*form.cleaned_data.get("organizers", ()))
        super().save_related(request, form, formsets, change)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the challenges with their organizers."""
        return super().get_queryset(request).prefetch_related("organizers")

    @admin.display(description="Organizers")
    def organized_by(self, challenge: Challenge) -> str:
        """Return the usernames of the organizers."""
        return ", ".join(sorted(user.get_username() for user in challenge.organizers.all()))

    @admin.display(description="References")
    def reference_sets(self, challenge: Challenge) -> str:
        """Return the names and versions of the reference sets."""
        found = ReferenceSet.objects.filter(split__challenge=challenge).order_by("split__name", "name")
        sets = found.values_list("split__name", "name", "version")
        return ", ".join(f"{split} {name} (version {version})" for split, name, version in sets)

    @admin.display(description="Pages")
    def pages(self, challenge: Challenge) -> SafeString:
        """Return the link to the organizers' pages."""
        return format_html('<a href="{}">organize</a>', reverse("organizer_overview", args=[challenge.slug]))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: challenges are created from files or on the hosting pages."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: submissions may have been cited."""
        return False
