"""Announcements and webhooks, for the staff of the site: to see. Secrets are not shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from capeval_server.core.admin import ReadOnlyModelAdmin
from capeval_server.notifications.models import Announcement, Delivery, Webhook

__all__ = ["AnnouncementAdmin", "DeliveryAdmin", "WebhookAdmin"]


@admin.register(Announcement)
class AnnouncementAdmin(ReadOnlyModelAdmin):
    """What organizers announced."""

    list_display = ("created", "title", "challenge")
    list_filter = ("challenge",)
    fields = readonly_fields = ("created", "title", "challenge", "text")


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyModelAdmin):
    """Which addresses are told what happens."""

    list_display = fields = readonly_fields = ("url", "challenge", "created")
    list_filter = ("challenge",)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """No lookups by secret."""
        return not lookup.startswith("secret") and super().lookup_allowed(lookup, value, request)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyModelAdmin):
    """What webhooks were told, and what came of it."""

    list_display = ("created", "webhook", "event", "attempts", "due", "outcome")
    list_filter = ("event",)
    fields = readonly_fields = (*list_display, "body")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """No lookups by a webhook's secret."""
        return "secret" not in lookup and super().lookup_allowed(lookup, value, request)
