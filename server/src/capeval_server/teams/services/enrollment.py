"""Joining a challenge: new teams, invitation codes, and approval by organizers."""

from __future__ import annotations

from datetime import timedelta

from allauth.account.models import EmailAddress
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import list_organized_challenges
from capeval_server.core.errors import TeamError
from capeval_server.teams.models import Membership, Team, new_code
from capeval_server.teams.services.blocks import block_of

__all__ = [
    "LONGEST_INVITATION",
    "approve",
    "approve_all",
    "approved",
    "invite",
    "invited",
    "join",
    "list_challenges",
    "make_team",
    "membership_of",
    "revoke_invitation",
    "team_of",
]

# Sent with `membership`, after an organizer approved a member, in the same transaction.
approved = Signal()
# Validity of a team's code in days: the default and the maximum.
_FIRST_INVITATION, LONGEST_INVITATION = 7, 90


def team_of(user: User, challenge: Challenge) -> Team | None:
    """Return the team of a user in a challenge, or None."""
    return Team.objects.filter(challenge=challenge, memberships__user=user).first()


def list_challenges(user: User | AnonymousUser) -> QuerySet[Challenge]:
    """Return the challenges that are listed for a user.

    These are public and archived challenges, challenges that the user organizes, and unlisted challenges that
    the user takes part in.
    """
    visibility = Challenge.Visibility
    listed = Q(visibility__in=(visibility.PUBLIC, visibility.ARCHIVED))
    own = Q(pk__in=list_organized_challenges(user).values("pk"))
    if user.pk:
        joined = Membership.objects.filter(user=user.pk).values("challenge")
        own |= Q(visibility=visibility.UNLISTED, pk__in=joined)
    return Challenge.objects.filter(listed | own)


def membership_of(user: User, challenge: Challenge) -> Membership | None:
    """Return the membership of a user in a challenge, or None."""
    return Membership.objects.select_related("team").filter(challenge=challenge, user=user).first()


def invited(challenge: Challenge, code: str) -> Team | None:
    """Return the team with a valid invitation code, or None."""
    if "\0" in code:
        return None
    return Team.objects.filter(challenge=challenge, code=code, code_expires__gt=timezone.now()).first()


def make_team(user: User, challenge: Challenge, name: str = "", *, invited: bool = True) -> Team:
    """Create a team with a user as its owner.

    Args:
        user: The user.
        challenge: The challenge.
        name: The team's name; by default the username.
        invited: Whether the organizers invited the user, if only invited people can join.

    Raises:
        TeamError: The name is invalid, taken or looks like another; or the user already participates or is
            blocked.
    """
    team = Team(challenge=challenge, name=" ".join((name or user.username).split()))
    _set_code(team, new_code(), _FIRST_INVITATION)
    with transaction.atomic():
        now = _lock(user, challenge)
        if now.invitation_only and not invited:
            raise TeamError(
                "only invited people can join this challenge: open the link that the organizers sent you,"
                " or enter the code of a team"
            )
        _validate_name(team)
        try:
            with transaction.atomic():
                team.save()
        except IntegrityError:
            raise TeamError(f"'name' must be new in the challenge (got {team.name!r})") from None
        _add(user, team, now, owner=True)
    return team


def _validate_name(team: Team) -> None:
    try:
        team.clean_fields()
    except ValidationError as error:
        raise TeamError(f"'name' is invalid: {' '.join(error.messages)}") from None
    try:
        team.clean()
    except ValidationError as error:
        raise TeamError(" ".join(error.messages).replace("the name", "'name'", 1)) from None


def join(user: User, challenge: Challenge, code: str) -> Team:
    """Add a user to the team with an invitation code.

    Raises:
        TeamError: The code is invalid, or the user already participates or is blocked.
    """
    with transaction.atomic():
        now = _lock(user, challenge)
        found = invited(challenge, code)
        # Locked, because its last member may leave at the same time, which deletes the team.
        team = found and Team.objects.select_for_update(no_key=True).filter(pk=found.pk).first()
        if team is None or team.code != code:
            raise TeamError(
                "'code' must be the valid code of a team of this challenge"
                " (it may have expired or been revoked: ask the team's owner for a new one)"
            )
        _add(user, team, now, owner=not team.memberships.exists())
    return team


def _lock(user: User, challenge: Challenge) -> Challenge:
    """Lock a challenge that a user joins, and check that the user does not participate yet."""
    # An organizer may block the user or start to require approval at the same time.
    now = Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)
    if (own := team_of(user, challenge)) is not None:
        raise TeamError(f"{user.username!r} already participates in this challenge, in team {own.name!r}")
    return now


def _add(user: User, team: Team, challenge: Challenge, *, owner: bool) -> None:
    if challenge.is_archived:
        raise TeamError(f"challenge {challenge.slug!r} is archived: nobody can join it")
    _check_rules(user, team, challenge)
    block = block_of(user, challenge)
    if block is not None:
        raise TeamError(f"the organizers have blocked you in this challenge ({block.reason})")
    Membership.objects.create(
        team=team, challenge=challenge, user=user, owner=owner, approved=not challenge.approval
    )


def _check_rules(user: User, team: Team, challenge: Challenge) -> None:
    """Check the rules of a challenge for members of teams; the team is locked."""
    if challenge.team_size is not None and team.memberships.count() >= challenge.team_size:
        members = f"{challenge.team_size} member{'' if challenge.team_size == 1 else 's'}"
        raise TeamError(f"team {team.name!r} is full: a team may have at most {members}")
    if challenge.email_domains:
        addresses = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
        domains = [address.lower().rpartition("@")[2] for address in addresses]
        if not any(
            domain == allowed or domain.endswith(f".{allowed}")
            for domain in domains
            for allowed in challenge.email_domains
        ):
            allowed = " or ".join(challenge.email_domains)
            raise TeamError(
                f"to join, add and verify an email address of {allowed} on the page of your account"
            )


def approve_all(challenge: Challenge) -> int:
    """Approve all waiting members, and return their number."""
    waiting = list(challenge.memberships.filter(approved=False).select_related("user", "team"))
    for member in waiting:
        approve(member)
    return len(waiting)


def approve(member: Membership) -> None:
    """Approve a waiting member, in the caller's transaction."""
    member.approved = True
    member.save(update_fields=["approved"])
    approved.send(Membership, membership=member)


def invite(team: Team, days: int = _FIRST_INVITATION) -> None:
    """Create a new invitation code of a team, which replaces the previous one.

    Args:
        team: The team.
        days: The validity of the code in days.

    Raises:
        TeamError: The number of days is too small or too large.
    """
    if not 1 <= days <= LONGEST_INVITATION:
        raise TeamError(f"'days' must be 1 to {LONGEST_INVITATION} (got {days})")
    _set_code(team, new_code(), days)
    team.save(update_fields=["code", "code_expires"])


def revoke_invitation(team: Team) -> None:
    """Revoke a team's invitation code."""
    team.code = team.code_expires = None
    team.save(update_fields=["code", "code_expires"])


def _set_code(team: Team, code: str, days: int) -> None:
    team.code, team.code_expires = code, timezone.now() + timedelta(days=days)
