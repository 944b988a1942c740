"""What organisers did, for the staff of the site: to see."""

from __future__ import annotations

from django.contrib import admin

from capeval_server.organising.models import Action
from capeval_server.staff import Seen

__all__ = ["ActionAdmin"]


@admin.register(Action)
class ActionAdmin(Seen):
    """Who did what, and when."""

    list_display = ("time", "who", "what", "challenge")
    list_filter = ("challenge", "time")
    list_select_related = ("challenge",)
    search_fields = ("who", "what")
    fields = readonly_fields = ("time", "who", "what", "challenge", "submission", "team")
