"""Team members: leaving, removal, and transfer of ownership.

A team keeps its submissions. Its used quota also counts for members who left; apps that count it receive the
signal `left`.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.dispatch import Signal

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import TeamError
from capeval_server.teams.models import Membership, Team
from capeval_server.teams.services.enrollment import revoke_invitation

__all__ = [
    "get_owned_team",
    "leave",
    "leave_all",
    "left",
    "remove",
    "remove_member",
    "set_captions_consent",
    "transfer_ownership",
]

# Sent with `membership`, before a member leaves a team or is removed, in the same transaction.
left = Signal()


def get_owned_team(user: User, challenge: Challenge) -> Team:
    """Return the team of a challenge that a user owns.

    Raises:
        TeamError: The user owns no team.
    """
    found = Team.objects.filter(
        challenge=challenge, memberships__in=Membership.objects.filter(user=user, owner=True)
    ).first()
    if found is None:
        raise TeamError("only the owner of a team can do this")
    return found


def set_captions_consent(owner: User, challenge: Challenge, *, shows_captions: bool) -> None:
    """Set whether the captions of a team's submissions on leaderboards are public.

    If the organizers publish the captions of all teams, this has no effect.

    Raises:
        TeamError: The user owns no team.
    """
    with transaction.atomic():
        team = _lock(get_owned_team(owner, challenge))
        # Read again: the ownership may have been transferred in the meantime.
        if team is None or not team.memberships.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        team.shows_captions = shows_captions
        team.save(update_fields=["shows_captions"])


def leave(user: User, challenge: Challenge) -> None:
    """Remove a user from their team, which keeps its submissions.

    Raises:
        TeamError: The user is in no team.
    """
    with transaction.atomic():
        if not remove_member(user, challenge):
            raise TeamError(f"{user.username!r} does not participate in this challenge")


def remove(owner: User, challenge: Challenge, name: str) -> None:
    """Remove a member from a team, and revoke the team's code, which the member knows.

    Raises:
        TeamError: The user owns no team, or the member is not in it or is its owner.
    """
    with transaction.atomic():
        team = _lock(get_owned_team(owner, challenge))
        # Read again: the ownership may have been transferred in the meantime.
        if team is None or not team.memberships.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        if name == owner.username:
            raise TeamError("the owner of a team can't be removed: leave the team instead")
        member = team.memberships.select_related("user").filter(user__username=name).first()
        if member is None:
            raise TeamError(f"{name!r} is not a member of team {team.name!r}")
        remove_member(member.user, challenge)
        revoke_invitation(team)


def transfer_ownership(owner: User, challenge: Challenge, name: str) -> None:
    """Transfer the ownership of a team to another member.

    Raises:
        TeamError: The user owns no team, or the other user is not a member of it.
    """
    with transaction.atomic():
        team = _lock(get_owned_team(owner, challenge))
        members = Membership.objects.filter(team=team)
        if not members.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        if not members.filter(user__username=name).exists():
            raise TeamError(f"{name!r} is not a member of your team")
        members.filter(owner=True).update(owner=False)
        members.filter(user__username=name).update(owner=True)


def remove_member(user: User, challenge: Challenge) -> bool:
    """Remove a user from their team, in the caller's transaction.

    The ownership passes to the next member. A team without submissions is deleted with its last member.

    Returns:
        Whether the user was in a team.
    """
    # A concurrent submission holds this lock, or waits for it.
    team = _lock(Team.objects.filter(challenge=challenge, memberships__user=user).first())
    member = team and team.memberships.select_related("team", "challenge", "user").filter(user=user).first()
    if team is None or member is None:
        return False
    left.send(Membership, membership=member)
    member.delete()
    _settle_ownership(team)
    return True


def leave_all(*, instance: User, **_: object) -> None:
    """Remove a user from all teams, before the user is deleted."""
    for challenge in Challenge.objects.filter(memberships__user=instance).order_by("memberships__team"):
        remove_member(instance, challenge)


def _settle_ownership(team: Team) -> None:
    """Transfer the ownership after a member left, or delete an empty team."""
    members = team.memberships.order_by("-owner", "-approved", "joined", "pk")
    heir = members.first()
    if heir is not None and not heir.owner:
        heir.owner = True
        heir.save(update_fields=["owner"])
    elif heir is None and not team.submissions.exists():
        team.delete()
    elif heir is None:
        # Nobody may join and take over the submissions of former members.
        revoke_invitation(team)


def _lock(team: Team | None) -> Team | None:
    return team and Team.objects.select_for_update(no_key=True).filter(pk=team.pk).first()
