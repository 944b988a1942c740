"""Read-only admin page of the audit log."""

from django.contrib import admin

from capeval_server.audit.models import Action
from capeval_server.core.admin import ReadOnlyModelAdmin

__all__ = ["ActionAdmin"]


@admin.register(Action)
class ActionAdmin(ReadOnlyModelAdmin):
    """Audit log entries: time, user, action and object."""

    list_display = ("time", "who", "what", "challenge")
    list_filter = ("challenge", "time")
    list_select_related = ("challenge",)
    search_fields = ("who", "what")
    fields = readonly_fields = ("time", "who", "what", "challenge", "submission", "team")
