"""Protection of a challenge's last organizer.

Pages, API, commands and the admin check this with their own messages. The checks here apply to every caller,
in the transaction of the change.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import SuccessorError

__all__ = ["check_deletion", "check_removal", "list_sole_challenges", "would_lose_organizers"]


def list_sole_challenges(user: User) -> QuerySet[Challenge]:
    """Return the challenges with no active organizer other than a user."""
    others = Challenge.organizers.through.objects.filter(user__is_active=True).exclude(user=user)
    return Challenge.objects.filter(organizers=user).exclude(pk__in=others.values("challenge"))


def would_lose_organizers(challenge: Challenge, gone: Iterable[int]) -> bool:
    """Return whether a challenge would lose its last active organizer.

    Args:
        challenge: The challenge.
        gone: The ids of the users to remove.
    """
    there = set(challenge.organizers.filter(is_active=True).values_list("pk", flat=True))
    return bool(there) and not there - set(gone)


def check_removal(*, instance: Challenge | User, action: str, pk_set: set[int] | None, **_: object) -> None:
    """Reject the removal of the last organizer; receiver of `m2m_changed`.

    Raises:
        SuccessorError: The challenge would have no organizer.
    """
    if action not in ("pre_remove", "pre_clear"):
        return
    if isinstance(instance, User):
        challenges = instance.challenges.all()
        if pk_set is not None:
            challenges = challenges.filter(pk__in=pk_set)
        for challenge in challenges.select_for_update(no_key=True).order_by("pk"):
            _check(challenge, {instance.pk})
    else:
        locked = Challenge.objects.select_for_update(no_key=True).get(pk=instance.pk)
        _check(locked, pk_set or set(locked.organizers.values_list("pk", flat=True)))


def check_deletion(*, instance: User, **_: object) -> None:
    """Reject the deletion of the last organizer's account; receiver of `pre_delete`.

    Raises:
        SuccessorError: A challenge would have no organizer.
    """
    for challenge in instance.challenges.select_for_update(no_key=True).order_by("pk"):
        _check(challenge, {instance.pk})


def _check(challenge: Challenge, gone: set[int]) -> None:
    if would_lose_organizers(challenge, gone):
        raise SuccessorError([challenge.slug])
