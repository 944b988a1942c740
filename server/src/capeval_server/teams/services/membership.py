"""Members of teams: they leave or are removed at any time, and the ownership of a team passes on.

What a team submitted stays with the team. What it used of the quotas counts for who left it as well: `left`
tells the rooms above, which count it.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.dispatch import Signal

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import TeamError
from capeval_server.teams.models import Membership, Team
from capeval_server.teams.services.enrollment import revoke_invitation

__all__ = ["agree", "depart", "leave", "leave_all", "left", "owned", "pass_on", "remove"]

# Sent with `membership`, in the transaction in which somebody leaves a team or is removed, before they do.
left = Signal()


def owned(user: User, challenge: Challenge) -> Team:
    """The team of a challenge that a user owns.

    Raises:
        TeamError: They own none.
    """
    found = Team.objects.filter(
        challenge=challenge, memberships__in=Membership.objects.filter(user=user, owner=True)
    ).first()
    if found is None:
        raise TeamError("only the owner of a team can do this")
    return found


def agree(owner: User, challenge: Challenge, *, shows_captions: bool) -> None:
    """Says whether everybody may read the captions of a team's submissions on leaderboards.

    Where the organizers show the captions of all teams, they are shown in any case.

    Raises:
        TeamError: Who asks does not own a team.
    """
    with transaction.atomic():
        team = _locked(owned(owner, challenge))
        # As it is now: the ownership may have passed on meanwhile.
        if team is None or not team.memberships.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        team.shows_captions = shows_captions
        team.save(update_fields=["shows_captions"])


def leave(user: User, challenge: Challenge) -> None:
    """Removes a user from their team, which keeps what it submitted.

    Raises:
        TeamError: The user is in no team.
    """
    with transaction.atomic():
        if not depart(user, challenge):
            raise TeamError(f"{user.username!r} does not take part in this challenge")


def remove(owner: User, challenge: Challenge, name: str) -> None:
    """Removes a member from a team, and ends the team's code, which the member knows.

    Raises:
        TeamError: Who asks does not own a team, or the member is none of it or its owner.
    """
    with transaction.atomic():
        team = _locked(owned(owner, challenge))
        # As it is now: the ownership may have passed on meanwhile.
        if team is None or not team.memberships.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        if name == owner.username:
            raise TeamError("the owner of a team leaves it in place of being removed")
        member = team.memberships.select_related("user").filter(user__username=name).first()
        if member is None:
            raise TeamError(f"{name!r} is no member of team {team.name!r}")
        depart(member.user, challenge)
        revoke_invitation(team)


def pass_on(owner: User, challenge: Challenge, name: str) -> None:
    """Makes another member the owner of a team.

    Raises:
        TeamError: Who asks does not own a team, or the other is no member of it.
    """
    with transaction.atomic():
        team = _locked(owned(owner, challenge))
        members = Membership.objects.filter(team=team)
        if not members.filter(user=owner, owner=True).exists():
            raise TeamError("only the owner of a team can do this")
        if not members.filter(user__username=name).exists():
            raise TeamError(f"{name!r} is no member of your team")
        members.filter(owner=True).update(owner=False)
        members.filter(user__username=name).update(owner=True)


def depart(user: User, challenge: Challenge) -> bool:
    """Takes a user out of their team, in a transaction of the caller's; says whether they were in one.

    The ownership passes on. A team that has not submitted ends with its last member.
    """
    # A submission that comes in at the same time holds this lock, or waits for it.
    team = _locked(Team.objects.filter(challenge=challenge, memberships__user=user).first())
    member = team and team.memberships.select_related("team", "challenge", "user").filter(user=user).first()
    if team is None or member is None:
        return False
    left.send(Membership, membership=member)
    member.delete()
    _after(team)
    return True


def leave_all(*, instance: User, **_: object) -> None:
    """Takes a user out of all teams, before the user is deleted."""
    for challenge in Challenge.objects.filter(memberships__user=instance).order_by("memberships__team"):
        depart(instance, challenge)


def _after(team: Team) -> None:
    """What follows when a member is gone: the next one owns the team, or it ends."""
    members = team.memberships.order_by("-owner", "-approved", "joined", "pk")
    heir = members.first()
    if heir is not None and not heir.owner:
        heir.owner = True
        heir.save(update_fields=["owner"])
    elif heir is None and not team.submissions.exists():
        team.delete()
    elif heir is None:
        # Nobody takes over what its former members submitted.
        revoke_invitation(team)


def _locked(team: Team | None) -> Team | None:
    return team and Team.objects.select_for_update(no_key=True).filter(pk=team.pk).first()
