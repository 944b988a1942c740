"""Teams: a user participates in a challenge as a member of a team, possibly alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from capeval_server.accounts.name_validation import LONGEST_KEY, compute_name_keys, find_name_problem
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.row_version import RowVersionedModel

__all__ = ["Block", "BlockedAddress", "Membership", "Raise", "Team", "new_code"]


def new_code() -> str:
    """Return a random invitation code, with which others join a team."""
    return secrets.token_urlsafe(12)


class Team(RowVersionedModel):
    """Team of users; submissions and quotas belong to the team."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=60)
    # Confusable keys of the name. A team created before the keys existed has none if its name looks like that
    # of an earlier team.
    folded = models.CharField(max_length=LONGEST_KEY, null=True, editable=False)
    look = models.CharField(max_length=LONGEST_KEY, null=True, editable=False)
    # The invitation code, with which others join until it expires; None without an invitation.
    code = models.CharField(max_length=32, unique=True, null=True)
    code_expires = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)
    # Whether the team agreed to publish the captions of its submissions on leaderboards.
    shows_captions = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["challenge", "name"], name="team_name_once"),
            models.UniqueConstraint(fields=["challenge", "folded"], name="team_folded_once"),
            models.UniqueConstraint(fields=["challenge", "look"], name="team_look_once"),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Validate the name, including its similarity to other teams of the challenge.

        Raises:
            ValidationError: The name is invalid, taken, or looks like another team's name.
        """
        if problem := find_name_problem(self.name):
            raise ValidationError({"name": f"the name {problem}"})
        folded, look = compute_name_keys(self.name)
        others = Team.objects.filter(challenge=self.challenge).exclude(pk=self.pk)
        alike = others.filter(models.Q(folded=folded) | models.Q(look=look)).first()
        if alike is not None and alike.name == self.name:
            raise ValidationError({"name": f"the name must be new in the challenge (got {self.name!r})"})
        if alike is not None:
            raise ValidationError(
                {
                    "name": f"the name must not look like that of another team, {alike.name!r}"
                    f" (got {self.name!r})"
                }
            )

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save the team with the keys of its name."""
        if update_fields is None or "name" in update_fields:
            self.folded, self.look = compute_name_keys(self.name)
            update_fields = update_fields and {*update_fields, "folded", "look"}
        super().save(*args, update_fields=update_fields, **kwargs)


class Membership(models.Model):
    """Membership of a user in a team.

    A user can be in only one team of a challenge, because quotas of several would add up.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    # The team's challenge, repeated here for the constraint.
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    joined = models.DateTimeField(default=timezone.now)
    # Whether the member may submit and see the team's submissions. Some challenges require an organizer's
    # approval.
    approved = models.BooleanField(default=True)
    # Whether the member may invite and remove members. A team with members has one owner.
    owner = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["challenge", "user"], name="one_team"),
            models.UniqueConstraint(fields=["team"], condition=models.Q(owner=True), name="one_owner"),
        ]


class Raise(models.Model):
    """Extra quota of a team in a phase."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="raises")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    per_day = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase"], name="raise_once")]


class Block(models.Model):
    """Block of a user in a challenge.

    The block also applies to other accounts with the same address.
    """

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="blocks")
    # None once the account is deleted.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # The username at that time.
    who = models.CharField(max_length=150)
    # Shown to the user.
    reason = models.CharField(max_length=500)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "user"], name="block_once")]

    def __str__(self) -> str:
        return self.who


class BlockedAddress(models.Model):
    """Keyed hash of a challenge and an address of a blocked user."""

    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="addresses")
    digest = models.CharField(max_length=64, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "digest"], name="blocked_address_once")]
