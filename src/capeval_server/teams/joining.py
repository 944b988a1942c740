"""Joining a challenge, alone or in a team, and leaving a team that has not submitted."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from capeval_server.challenges.models import Challenge
from capeval_server.errors import TeamError
from capeval_server.teams.models import Membership, Team, new_code

__all__ = ["invited", "join", "leave", "make_team", "renew_code", "team_of"]


def team_of(user: User, challenge: Challenge) -> Team | None:
    """The team by which a user takes part in a challenge, if they do."""
    return Team.objects.filter(challenge=challenge, memberships__user=user).first()


def invited(challenge: Challenge, code: str) -> Team | None:
    """The team that has a code, if one has."""
    return Team.objects.filter(challenge=challenge, code=code).first() if "\0" not in code else None


def make_team(user: User, challenge: Challenge, name: str = "") -> Team:
    """Makes a new team with a user.

    Args:
        user: Who joins.
        challenge: The challenge.
        name: The team's name; the user's own by default.

    Raises:
        TeamError: The name is taken, looks like another, or is not valid; or the user already takes part.
    """
    team = Team(challenge=challenge, name=" ".join((name or user.username).split()))
    try:
        team.clean_fields()
    except ValidationError as error:
        raise TeamError(f"'name' must be a name ({' '.join(error.messages)})") from None
    try:
        team.clean()
    except ValidationError as error:
        raise TeamError(" ".join(error.messages).replace("the name", "'name'", 1)) from None
    with transaction.atomic():
        try:
            with transaction.atomic():
                team.save()
        except IntegrityError:
            raise TeamError(f"'name' must be new in the challenge (got {team.name!r})") from None
        _add(user, team)
    return team


def join(user: User, challenge: Challenge, code: str) -> Team:
    """Adds a user to the team that has a code.

    Raises:
        TeamError: No team has the code, or the user already takes part.
    """
    with transaction.atomic():
        found = invited(challenge, code)
        # Locked, since its last member may leave at the same time, which deletes the team.
        team = found and Team.objects.select_for_update(no_key=True).filter(pk=found.pk).first()
        if team is None:
            raise TeamError("'code' must be the code of a team of this challenge (got another)")
        _add(user, team)
    return team


def _add(user: User, team: Team) -> None:
    try:
        with transaction.atomic():
            Membership.objects.create(team=team, challenge=team.challenge, user=user)
    except IntegrityError:
        raise TeamError(f"{user.username!r} already takes part in this challenge") from None


def leave(user: User, challenge: Challenge) -> None:
    """Removes a user from their team, which is deleted with its last member.

    Raises:
        TeamError: The user is in no team, or the team has submitted: by leaving they could
            submit for another team, beyond the quota.
    """
    with transaction.atomic():
        # A submission that comes in at the same time holds this lock, or waits for it.
        team = Team.objects.select_for_update(no_key=True).filter(
            pk__in=Membership.objects.filter(challenge=challenge, user=user).values("team")
        )
        found = team.first()
        if found is None:
            raise TeamError(f"{user.username!r} does not take part in this challenge")
        if found.submissions.exists():
            raise TeamError(f"team {found.name!r} has submitted, so its members can't leave it")
        found.memberships.filter(user=user).delete()
        if not found.memberships.exists():
            found.delete()


def renew_code(team: Team) -> None:
    """Gives a team a new code: the old one stops working."""
    team.code = new_code()
    team.save(update_fields=["code"])
