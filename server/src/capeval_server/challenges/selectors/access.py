"""Phases by their names, and who organizes which challenge."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import NotFoundError

__all__ = ["makes_challenges", "organized", "organized_by", "organizes", "phase_named"]


def phase_named(slug: str, name: str) -> Phase:
    """The phase of a challenge with a name.

    Raises:
        NotFoundError: There is none.
    """
    phase = Phase.objects.select_related("challenge").filter(challenge__slug=slug, name=name).first()
    if phase is None:
        raise NotFoundError
    return phase


def organized_by(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Challenge]:
    """The challenges that a user is an organizer of; staff are of all."""
    if not isinstance(user, User) or not user.is_active:
        return Challenge.objects.none()
    return Challenge.objects.all() if user.is_staff else Challenge.objects.filter(organizers=user)


def organizes(user: AbstractBaseUser | AnonymousUser, challenge: Challenge) -> bool:
    """Whether a user is an organizer of a challenge."""
    return organized_by(user).filter(pk=challenge.pk).exists()


def organized(user: AbstractBaseUser | AnonymousUser, slug: str) -> Challenge:
    """The challenge with a name, for one of its organizers.

    Raises:
        NotFoundError: There is none, or the user is not an organizer of it.
    """
    challenge = organized_by(user).filter(slug=slug).first()
    if challenge is None:
        raise NotFoundError
    return challenge


def makes_challenges(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether a user may make new challenges: staff, and who has the permission to add them."""
    return (
        isinstance(user, User)
        and user.is_active
        and (user.is_staff or user.has_perm("challenges.add_challenge"))
    )
