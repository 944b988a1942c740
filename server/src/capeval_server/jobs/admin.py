"""Read-only admin pages of jobs and workers."""

from __future__ import annotations

from django.contrib import admin

from capeval_server.core.admin import ReadOnlyModelAdmin
from capeval_server.jobs.models import Job, Worker

__all__ = ["JobAdmin", "WorkerAdmin"]


@admin.register(Job)
class JobAdmin(ReadOnlyModelAdmin):
    """Waiting and running jobs, with their attempts and workers."""

    list_display = fields = readonly_fields = (
        *("kind", "subject", "priority", "created"),
        *("attempt", "owner", "available_from"),
    )
    list_filter = ("kind",)
    search_fields = ("subject", "owner")


@admin.register(Worker)
class WorkerAdmin(ReadOnlyModelAdmin):
    """Workers, with the time of their last heartbeat."""

    list_display = fields = readonly_fields = ("name", "started", "seen")
    search_fields = ("name",)
