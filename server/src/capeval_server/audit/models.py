"""The history of a challenge: who did what, when, and to which submission or team."""

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

# The history's name for the command line. No user's name has spaces.
COMMAND_LINE = "the command line"


class Action(models.Model):
    """One thing that an organizer or staff did, written in the transaction that did it; it never changes."""

    # None for what is of no challenge, as what is done with accounts.
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, null=True, related_name="actions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # The user's name at that time, which is kept when the account is deleted.
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
    """Everything of a challenge in a file, or the wish for one."""

    class State(models.TextChoices):
        """What happens with an export."""

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
        """The name of the stored file."""
        return f"exports/{self.pk}.zip"


def record(
    user: User | None,
    challenge: Challenge | None,
    what: str,
    *,
    submission: Submission | None = None,
    team: Team | None = None,
) -> None:
    """Records what a user did as an organizer, in the transaction that does it.

    Args:
        user: Who; none for the command line.
        challenge: Of which challenge; none for what is of none.
        what: What, as it follows the user's name: "hid a submission: copied".
        submission: The submission it was done to, if it was to one.
        team: The team it was done to, if it was to one; a submission's team by default.
    """
    if submission is not None and team is None:
        team = submission.team
    who = COMMAND_LINE if user is None else user.username
    Action.objects.create(
        challenge=challenge, user=user, who=who, what=what, submission=submission, team=team
    )


def record_done(*, user: User, row: models.Model, what: str, **_: object) -> None:
    """Records what staff did in the administration, in the history of the challenge that it is part of."""
    team = row if isinstance(row, Team) else None
    challenge = team.challenge if team else row if isinstance(row, Challenge) else None
    record(user, challenge, what, team=team)
