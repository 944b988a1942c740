"""Submissions, for the staff of the site: to see.

Submissions can be scored again. Their states, leases and scores can't be edited: only workers change them.
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
        """The version of references."""
        version = result.reference_version
        return f"{version.reference_set.name} (version {version.number})"


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyModelAdmin):
    """A submission and its results."""

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
        """The mark, in a word."""
        return submission.mark

    @admin.display(description="Phase")
    def phase_name(self, submission: Submission) -> str:
        """The name of the phase."""
        return submission.phase.name if submission.phase else ""

    @admin.action(description="Score again", permissions=["change"])
    def rerun(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Has submissions scored again; withdrawn ones can't be."""
        number = 0
        for submission in queryset.select_related("phase__challenge", "baseline_of__split__challenge"):
            try:
                moderation.rerun(cast(User, request.user), submission.challenge, submission)
                number += 1
            except SubmissionStateError as error:
                self.message_user(request, f"{submission.pk}: {error}", messages.WARNING)
        self.message_user(request, f"{number} wait to be scored again.")
