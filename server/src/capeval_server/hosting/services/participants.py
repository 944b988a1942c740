"""Actions of organizers on participants, with the audit log."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from capeval_server.accounts.services.reservations import confirmed
from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import TeamError
from capeval_server.submissions.models import LONGEST_REASON
from capeval_server.teams.models import Block, Membership, Team
from capeval_server.teams.services import blocks, enrollment
from capeval_server.teams.services.membership import remove_member

__all__ = ["approve", "approve_all", "block", "blocked", "participants", "remove", "unblock"]


def participants(challenge: Challenge) -> QuerySet[Membership]:
    """Return the participants, those waiting for approval first."""
    found = challenge.memberships.select_related("team", "user")
    return found.order_by("approved", "user__username")


def blocked(challenge: Challenge) -> QuerySet[Block]:
    """Return the blocks of users."""
    return challenge.blocks.order_by("who", "pk")


def approve(user: User | None, challenge: Challenge, name: str) -> None:
    """Approve a participant, which allows them to submit.

    Raises:
        TeamError: The user does not participate, or is already approved.
    """
    with lock_challenge(challenge):
        member = _get_member(challenge, name)
        if member.approved:
            raise TeamError(f"{name!r} is already approved")
        enrollment.approve(member)
        record(user, challenge, f"approved {name}", team=member.team)


def approve_all(user: User | None, challenge: Challenge) -> int:
    """Approve all waiting participants, and return their number."""
    with lock_challenge(challenge):
        number = enrollment.approve_all(challenge)
        if number:
            record(user, challenge, f"approved all participants who waited ({number})")
    return number


def remove(user: User | None, challenge: Challenge, name: str) -> None:
    """Remove a participant from their team, which keeps its submissions.

    The team's invitation code is revoked.

    Raises:
        TeamError: The user does not participate.
    """
    with lock_challenge(challenge):
        _remove(challenge, _get_member(challenge, name))
        record(user, challenge, f"removed the participant {name}")


def _remove(challenge: Challenge, member: Membership) -> None:
    remove_member(member.user, challenge)
    team = Team.objects.filter(pk=member.team_id).first()
    if team is not None:
        # The removed user knows the invitation code.
        enrollment.revoke_invitation(team)


def block(user: User | None, challenge: Challenge, name: str, reason: str) -> None:
    """Block a user from the challenge, and remove them from their team.

    Raises:
        TeamError: There is no such user, they organize the challenge, or the reason is missing.
    """
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON or "\0" in reason:
        raise TeamError(f"'reason' must be a text of 1 to {LONGEST_REASON} characters, which the user sees")
    found = confirmed(User.objects.filter(username=name)).first()
    if found is None:
        raise TeamError(f"no user has the name {name!r}")
    with lock_challenge(challenge):
        if challenge.organizers.filter(pk=found.pk).exists():
            raise TeamError(f"{name!r} organizes the challenge and can't be blocked")
        blocks.block(found, challenge, reason)
        member = enrollment.membership_of(found, challenge)
        if member is not None:
            _remove(challenge, member)
        record(user, challenge, f"blocked {name}: {reason}")


def unblock(user: User | None, challenge: Challenge, name: str) -> None:
    """Unblock a user; they may join again.

    Raises:
        TeamError: The user is not blocked.
    """
    with lock_challenge(challenge):
        if not challenge.blocks.filter(who=name).delete()[0]:
            raise TeamError(f"{name!r} is not blocked in this challenge")
        record(user, challenge, f"unblocked {name}")


def _get_member(challenge: Challenge, name: str) -> Membership:
    found = challenge.memberships.select_related("team", "user").filter(user__username=name).first()
    if found is None:
        raise TeamError(f"{name!r} does not participate in this challenge")
    return found
