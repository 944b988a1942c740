"""The page where users say what they want mail about."""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from capeval_server.accounts.services.users import user_of
from capeval_server.notifications.models import Preferences
from capeval_server.web.participant.common import TEMPLATES

__all__ = ["notices"]


class _Form(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Preferences
        fields = ("submissions", "phases", "announcements")
        labels: ClassVar[dict[str, str]] = {
            "submissions": "My submission is scored or failed",
            "phases": "A phase of a challenge that I take part in opens, or closes within a day",
            "announcements": "Organizers announce something in a challenge that I take part in",
        }


@login_required
@never_cache
def notices(request: HttpRequest) -> HttpResponse:
    """What the user wants mail about."""
    found, _ = Preferences.objects.get_or_create(user=user_of(request))
    form = _Form(request.POST or None, instance=found)
    if request.method == "POST":
        # Nothing chosen is no field sent.
        form = _Form(request.POST, instance=found)
        form.save()
        messages.success(request, "Saved.")
        return redirect("notices")
    return render(request, f"{TEMPLATES}/notices.html", {"form": form})
