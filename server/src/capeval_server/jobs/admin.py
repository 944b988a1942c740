"""Jobs and workers, for the staff of the site: to see."""

from __future__ import annotations

from django.contrib import admin

from capeval_server.core.admin import ReadOnlyModelAdmin
from capeval_server.jobs.models import Job, Worker

__all__ = ["JobAdmin", "WorkerAdmin"]


@admin.register(Job)
class JobAdmin(ReadOnlyModelAdmin):
    """Jobs that wait or are being done: how often they were begun, and which worker has them."""

    list_display = fields = readonly_fields = (
        *("kind", "subject", "priority", "created"),
        *("attempt", "owner", "available_from"),
    )
    list_filter = ("kind",)
    search_fields = ("subject", "owner")


@admin.register(Worker)
class WorkerAdmin(ReadOnlyModelAdmin):
    """Workers, and when they were last seen."""

    list_display = fields = readonly_fields = ("name", "started", "seen")
    search_fields = ("name",)
