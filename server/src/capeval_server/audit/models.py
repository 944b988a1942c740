"""Audit log of challenges (actor, action, time, object), and challenge exports."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team

__all__ = ["COMMAND_LINE", "Action", "Export", "record", "record_done"]

# Actor of changes made on the command line. Usernames contain no spaces.
COMMAND_LINE = "the command line"


class Action(models.Model):
    """Audit log entry of an organizer's or staff member's action; immutable.

    It is written in the transaction of the action.
    """

    # None for actions outside of challenges, such as changes of accounts.
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, null=True, related_name="actions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # The username at that time; kept when the account is deleted.
    who = models.CharField(max_length=150)
    time = models.DateTimeField(default=timezone.now)
    what = models.TextField()
    submission = models.ForeignKey(Submission, on_delete=models.SET_NULL, null=True, related_name="actions")
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="actions")

    class Meta:
        indexes = [models.Index(fields=["challenge", "-time"], name="action_latest")]

    def __str__(self) -> str:
        return f"{self.who} {self.what}"


class Export(models.Model):
    """Export archive of a challenge, requested or ready."""

    class State(models.TextChoices):
        """State of an export."""

        WAITING = "waiting", "being prepared"
        READY = "ready", "ready"
        FAILED = "failed", "not made, since the system failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    challenge = models.OneToOneField(Challenge, on_delete=models.CASCADE, related_name="export")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created = models.DateTimeField(default=timezone.now)
    finished = models.DateTimeField(null=True)
    size = models.PositiveBigIntegerField(default=0)

    @property
    def file(self) -> str:
        """Name of the stored file."""
        return f"exports/{self.pk}.zip"


def record(
    user: User | None,
    challenge: Challenge | None,
    what: str,
    *,
    submission: Submission | None = None,
    team: Team | None = None,
) -> None:
    """Record an action in the audit log, in the transaction of the action.

    Args:
        user: The actor; None for the command line.
        challenge: The challenge; None for an action outside of challenges.
        what: The action, to follow the username: "hid a submission: copied".
        submission: The affected submission, if any.
        team: The affected team, if any; by default the submission's team.
    """
    if submission is not None and team is None:
        team = submission.team
    who = COMMAND_LINE if user is None else user.username
    Action.objects.create(
        challenge=challenge, user=user, who=who, what=what, submission=submission, team=team
    )


def record_done(*, user: User, row: models.Model, what: str, **_: object) -> None:
    """Record a change made in the admin, in the audit log of its challenge."""
    team = row if isinstance(row, Team) else None
    challenge = team.challenge if team else row if isinstance(row, Challenge) else None
    record(user, challenge, what, team=team)
