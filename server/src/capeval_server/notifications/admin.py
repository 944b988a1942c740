"""Read-only admin pages of announcements and webhooks, without secrets."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from capeval_server.core.admin import ReadOnlyModelAdmin
from capeval_server.notifications.models import Announcement, Delivery, Webhook

__all__ = ["AnnouncementAdmin", "DeliveryAdmin", "WebhookAdmin"]


@admin.register(Announcement)
class AnnouncementAdmin(ReadOnlyModelAdmin):
    """Announcements of organizers."""

    list_display = ("created", "title", "challenge")
    list_filter = ("challenge",)
    fields = readonly_fields = ("created", "title", "challenge", "text")


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyModelAdmin):
    """Webhooks, without their secrets."""

    list_display = fields = readonly_fields = ("url", "challenge", "campaign", "created")
    list_filter = ("challenge",)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject lookups by secret."""
        return not lookup.startswith("secret") and super().lookup_allowed(lookup, value, request)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyModelAdmin):
    """Webhook deliveries and their outcomes."""

    list_display = ("created", "webhook", "event", "attempts", "due", "outcome")
    list_filter = ("event",)
    fields = readonly_fields = (*list_display, "body")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject lookups by a webhook's secret."""
        return "secret" not in lookup and super().lookup_allowed(lookup, value, request)
