"""Lookup of phases by name, and of challenges by organizer."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import NotFoundError

__all__ = [
    "get_organized_challenge",
    "get_phase",
    "is_organizer",
    "list_organized_challenges",
    "may_create_challenges",
]


def get_phase(slug: str, name: str) -> Phase:
    """Return the phase of a challenge by its name.

    Raises:
        NotFoundError: There is no such phase.
    """
    phase = Phase.objects.select_related("challenge").filter(challenge__slug=slug, name=name).first()
    if phase is None:
        raise NotFoundError
    return phase


def list_organized_challenges(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Challenge]:
    """Return the challenges that a user organizes; staff organize all."""
    if not isinstance(user, User) or not user.is_active:
        return Challenge.objects.none()
    return Challenge.objects.all() if user.is_staff else Challenge.objects.filter(organizers=user)


def is_organizer(user: AbstractBaseUser | AnonymousUser, challenge: Challenge) -> bool:
    """Return whether a user is an organizer of a challenge."""
    return list_organized_challenges(user).filter(pk=challenge.pk).exists()


def get_organized_challenge(user: AbstractBaseUser | AnonymousUser, slug: str) -> Challenge:
    """Return a challenge by its name, for one of its organizers.

    Raises:
        NotFoundError: The challenge does not exist, or the user is not an organizer of it.
    """
    challenge = list_organized_challenges(user).filter(slug=slug).first()
    if challenge is None:
        raise NotFoundError
    return challenge


def may_create_challenges(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Return whether a user may create challenges.

    Staff may, and users with the permission to add challenges.
    """
    return (
        isinstance(user, User)
        and user.is_active
        and (user.is_staff or user.has_perm("challenges.add_challenge"))
    )
