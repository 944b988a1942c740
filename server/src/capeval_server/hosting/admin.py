"""Read-only admin pages of submissions, which can be scored again.

States, leases and scores can't be edited, because only workers change them.
"""

from __future__ import annotations

from typing import cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from capeval_server.core.admin import ReadOnlyInline, ReadOnlyModelAdmin
from capeval_server.core.errors import SubmissionStateError
from capeval_server.hosting.services import moderation
from capeval_server.submissions.models import Result, Submission

__all__ = ["SubmissionAdmin"]


class _Results(ReadOnlyInline):
    model = Result
    fields = ("reference", "metric", "signature", "failure")
    readonly_fields = ("reference",)

    @admin.display(description="References")
    def reference(self, result: Result) -> str:
        """Return the name and version of the references."""
        version = result.reference_version
        return f"{version.reference_set.name} (version {version.number})"


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyModelAdmin):
    """Submissions with their results."""

    list_display = ("id", "entrant", "phase_name", "state", "marked", "stands", "created")
    list_filter = ("state", "mark", "stands", "phase__challenge", "created")
    list_select_related = ("team", "phase")
    search_fields = ("id__exact", "team__name", "user__username", "algorithm")
    ordering = ("-created", "id")
    date_hierarchy = "created"
    fields = (
        *("id", "entrant", "user", "phase_name", "created", "algorithm", "declared", "sha256"),
        *("state", "finished", "reason", "log"),
        *("counts_for_quota", "stands", "mark", "mark_reason"),
    )
    readonly_fields = fields
    inlines = (_Results,)
    actions = ("rerun",)

    @admin.display(description="Mark", ordering="mark")
    def marked(self, submission: Submission) -> str:
        """Return the mark."""
        return submission.mark

    @admin.display(description="Phase")
    def phase_name(self, submission: Submission) -> str:
        """Return the name of the phase."""
        return submission.phase.name if submission.phase else ""

    @admin.action(description="Score again", permissions=["change"])
    def rerun(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Score submissions again, except withdrawn ones."""
        number = 0
        for submission in queryset.select_related("phase__challenge", "baseline_of__split__challenge"):
            try:
                moderation.rerun(cast(User, request.user), submission.challenge, submission)
                number += 1
            except SubmissionStateError as error:
                self.message_user(request, f"{submission.pk}: {error}", messages.WARNING)
        self.message_user(request, f"{number} waiting to be scored again.")
