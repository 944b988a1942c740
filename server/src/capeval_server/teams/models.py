"""Teams: a user takes part in a challenge as a member of one, possibly as its only member."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from capeval_server.accounts.name_validation import LONGEST_KEY, keys_of, problem_of
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.row_version import RowVersionedModel

__all__ = ["Block", "BlockedAddress", "Membership", "Raise", "Team", "new_code"]


def new_code() -> str:
    """A code that nobody can guess, with which others join a team."""
    return secrets.token_urlsafe(12)


class Team(RowVersionedModel):
    """Users who submit together: submissions and quotas belong to the team."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=60)
    # The keys by which its name looks like others. A team from before there were keys, whose name looks like
    # that of an earlier one, has none.
    folded = models.CharField(max_length=LONGEST_KEY, null=True, editable=False)
    look = models.CharField(max_length=LONGEST_KEY, null=True, editable=False)
    # With which others join until it expires; none if there is no invitation.
    code = models.CharField(max_length=32, unique=True, null=True)
    code_expires = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)
    # Whether it agreed that everybody may read the captions of its submissions on leaderboards.
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
        """Checks that the name can be had, and looks like no other team's of the challenge.

        Raises:
            ValidationError: It can't, or does.
        """
        if problem := problem_of(self.name):
            raise ValidationError({"name": f"the name {problem}"})
        folded, look = keys_of(self.name)
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
        """Stores it, with the keys of its name."""
        if update_fields is None or "name" in update_fields:
            self.folded, self.look = keys_of(self.name)
            update_fields = update_fields and {*update_fields, "folded", "look"}
        super().save(*args, update_fields=update_fields, **kwargs)


class Membership(models.Model):
    """A user in a team. A user is in only one team of a challenge: several would add up their quotas."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    # The team's own, repeated here for the constraint.
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    joined = models.DateTimeField(default=timezone.now)
    # Whether they may submit and see what the team submitted. In some challenges, an organizer says so.
    approved = models.BooleanField(default=True)
    # Whether they invite and remove members. A team with members has one owner.
    owner = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["challenge", "user"], name="one_team"),
            models.UniqueConstraint(fields=["team"], condition=models.Q(owner=True), name="one_owner"),
        ]


class Raise(models.Model):
    """What a team may submit to a phase beyond the phase's quota."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="raises")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    per_day = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase"], name="raise_once")]


class Block(models.Model):
    """Somebody who can't take part in a challenge, also not by another account with the same address."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="blocks")
    # None once the account is deleted.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # The user's name at that time.
    who = models.CharField(max_length=150)
    # Which the user sees.
    reason = models.CharField(max_length=500)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "user"], name="block_once")]

    def __str__(self) -> str:
        return self.who


class BlockedAddress(models.Model):
    """A keyed hash of a challenge and an address of who is blocked in it."""

    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="addresses")
    digest = models.CharField(max_length=64, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "digest"], name="blocked_address_once")]
