"""Page of email notification settings."""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from capeval_server.accounts.services.users import get_user
from capeval_server.notifications.models import Preferences
from capeval_server.web.participant.common import TEMPLATES

__all__ = ["notices"]


class _PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Preferences
        fields = ("submissions", "phases", "announcements", "campaigns")
        labels: ClassVar[dict[str, str]] = {
            "submissions": "Scoring of my submission has finished or failed",
            "phases": "A phase of my challenges opens, closes within a day, or has published results",
            "announcements": "Organizers of my challenges publish an announcement",
            "campaigns": "A campaign that I manage is paused, stuck or complete",
        }


@login_required
@never_cache
def notices(request: HttpRequest) -> HttpResponse:
    """Show and change the email notifications of the user."""
    found, _ = Preferences.objects.get_or_create(user=get_user(request))
    form = _PreferencesForm(request.POST or None, instance=found)
    if request.method == "POST":
        # If no option is checked, browsers send no fields, so the form must be bound explicitly.
        form = _PreferencesForm(request.POST, instance=found)
        form.save()
        messages.success(request, "Saved.")
        return redirect("notices")
    return render(request, f"{TEMPLATES}/notices.html", {"form": form})
