"""Joining a challenge, alone or in a team: codes that let others in, and approval by organizers."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import TeamError
from capeval_server.teams.models import Membership, Team, new_code
from capeval_server.teams.services.blocks import block_of

__all__ = [
    "LONGEST_INVITATION",
    "approve_all",
    "invite",
    "invited",
    "join",
    "make_team",
    "membership_of",
    "revoke_invitation",
    "team_of",
]

# For how many days a team's code is valid: at first, and at most.
_FIRST_INVITATION, LONGEST_INVITATION = 7, 90


def team_of(user: User, challenge: Challenge) -> Team | None:
    """The team by which a user takes part in a challenge, if they do."""
    return Team.objects.filter(challenge=challenge, memberships__user=user).first()


def membership_of(user: User, challenge: Challenge) -> Membership | None:
    """A user's membership in a team of a challenge, if they take part."""
    return Membership.objects.select_related("team").filter(challenge=challenge, user=user).first()


def invited(challenge: Challenge, code: str) -> Team | None:
    """The team that has a code which is valid now, if one has."""
    if "\0" in code:
        return None
    return Team.objects.filter(challenge=challenge, code=code, code_expires__gt=timezone.now()).first()


def make_team(user: User, challenge: Challenge, name: str = "") -> Team:
    """Makes a new team with a user, who owns it.

    Args:
        user: Who joins.
        challenge: The challenge.
        name: The team's name; the user's own by default.

    Raises:
        TeamError: The name is taken, looks like another, or is not valid; or the user already takes part or
            is blocked.
    """
    team = Team(challenge=challenge, name=" ".join((name or user.username).split()))
    _set_code(team, new_code(), _FIRST_INVITATION)
    try:
        team.clean_fields()
    except ValidationError as error:
        raise TeamError(f"'name' must be a name ({' '.join(error.messages)})") from None
    try:
        team.clean()
    except ValidationError as error:
        raise TeamError(" ".join(error.messages).replace("the name", "'name'", 1)) from None
    with transaction.atomic():
        now = _locked(challenge)
        try:
            with transaction.atomic():
                team.save()
        except IntegrityError:
            raise TeamError(f"'name' must be new in the challenge (got {team.name!r})") from None
        _add(user, team, now, owner=True)
    return team


def join(user: User, challenge: Challenge, code: str) -> Team:
    """Adds a user to the team that has a code.

    Raises:
        TeamError: No team has the code, or the user already takes part or is blocked.
    """
    with transaction.atomic():
        now = _locked(challenge)
        found = invited(challenge, code)
        # Locked, since its last member may leave at the same time, which deletes the team.
        team = found and Team.objects.select_for_update(no_key=True).filter(pk=found.pk).first()
        if team is None or team.code != code:
            raise TeamError(
                "'code' must be the code of a team of this challenge"
                " (got another, or one that has expired or was revoked)"
            )
        _add(user, team, now, owner=not team.memberships.exists())
    return team


def _locked(challenge: Challenge) -> Challenge:
    # An organizer may block the user, or begin to ask for approval, at the same time.
    return Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)


def _add(user: User, team: Team, challenge: Challenge, *, owner: bool) -> None:
    block = block_of(user, challenge)
    if block is not None:
        raise TeamError(f"the organizers have blocked you in this challenge ({block.reason})")
    try:
        with transaction.atomic():
            Membership.objects.create(
                team=team, challenge=challenge, user=user, owner=owner, approved=not challenge.approval
            )
    except IntegrityError:
        raise TeamError(f"{user.username!r} already takes part in this challenge") from None


def approve_all(challenge: Challenge) -> int:
    """Approves all who wait for that; returns how many."""
    return challenge.memberships.filter(approved=False).update(approved=True)


def invite(team: Team, days: int = _FIRST_INVITATION) -> None:
    """Gives a team a new code, which is valid for some days: the old one stops working.

    Raises:
        TeamError: The days are too few or too many.
    """
    if not 1 <= days <= LONGEST_INVITATION:
        raise TeamError(f"'days' must be 1 to {LONGEST_INVITATION} (got {days})")
    _set_code(team, new_code(), days)
    team.save(update_fields=["code", "code_expires"])


def revoke_invitation(team: Team) -> None:
    """Ends a team's code."""
    team.code = team.code_expires = None
    team.save(update_fields=["code", "code_expires"])


def _set_code(team: Team, code: str, days: int) -> None:
    team.code, team.code_expires = code, timezone.now() + timedelta(days=days)
