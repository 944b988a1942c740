"""The organizers of a challenge: the last one can't go without a successor, by whatever way.

The pages, the API, commands and the administration say so in their own words. What is here refuses it
whoever tries, in the transaction that would do it.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import SuccessorError

__all__ = ["alone_in", "check_deletion", "check_removal", "stay_without"]


def alone_in(user: User) -> QuerySet[Challenge]:
    """The challenges that have no other organizer than a user whose account is active."""
    others = Challenge.organizers.through.objects.filter(user__is_active=True).exclude(user=user)
    return Challenge.objects.filter(organizers=user).exclude(pk__in=others.values("challenge"))


def stay_without(challenge: Challenge, gone: Iterable[int]) -> bool:
    """Whether a challenge that has an organizer would have none without some users."""
    there = set(challenge.organizers.filter(is_active=True).values_list("pk", flat=True))
    return bool(there) and not there - set(gone)


def check_removal(*, instance: Challenge | User, action: str, pk_set: set[int] | None, **_: object) -> None:
    """Refuses to remove the last organizer; a receiver of the signal of changes.

    Raises:
        SuccessorError: There would be none.
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
    """Refuses to delete the account of the last organizer of a challenge.

    Raises:
        SuccessorError: A challenge would have none.
    """
    for challenge in instance.challenges.select_for_update(no_key=True).order_by("pk"):
        _check(challenge, {instance.pk})


def _check(challenge: Challenge, gone: set[int]) -> None:
    if stay_without(challenge, gone):
        raise SuccessorError([challenge.slug])
