"""Teams: a user takes part in a challenge as a member of one, possibly as its only member."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase

__all__ = ["Membership", "Raise", "Team", "new_code"]


def new_code() -> str:
    """A code that nobody can guess, with which others join a team."""
    return secrets.token_urlsafe(12)


class Team(models.Model):
    """Users who submit together: submissions and quotas belong to the team."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=60)
    code = models.CharField(max_length=32, unique=True, default=new_code)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="team_name_once")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user in a team. A user is in only one team of a challenge: several would add up their quotas."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    # The team's own, repeated here for the constraint.
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    joined = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "user"], name="one_team")]


class Raise(models.Model):
    """What a team may submit to a phase beyond the phase's quota."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="raises")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    per_day = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase"], name="raise_once")]
