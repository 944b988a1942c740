"""Who organises which challenge."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import QuerySet

from capeval_server.challenges.models import Challenge
from capeval_server.errors import NotFoundError

__all__ = ["makes_challenges", "organised", "organised_by", "organises"]


def organised_by(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Challenge]:
    """The challenges that a user is an organiser of; staff are of all."""
    if not isinstance(user, User) or not user.is_active:
        return Challenge.objects.none()
    return Challenge.objects.all() if user.is_staff else Challenge.objects.filter(organisers=user)


def organises(user: AbstractBaseUser | AnonymousUser, challenge: Challenge) -> bool:
    """Whether a user is an organiser of a challenge."""
    return organised_by(user).filter(pk=challenge.pk).exists()


def organised(user: AbstractBaseUser | AnonymousUser, slug: str) -> Challenge:
    """The challenge with a name, for one of its organisers.

    Raises:
        NotFoundError: There is none, or the user is not an organiser of it.
    """
    challenge = organised_by(user).filter(slug=slug).first()
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
