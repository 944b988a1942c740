"""Who organises which challenge."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.http import Http404

from capeval_server.challenges.models import Challenge

__all__ = ["makes_challenges", "organised", "organises"]


def organises(user: AbstractBaseUser | AnonymousUser, challenge: Challenge) -> bool:
    """Whether a user is an organiser of a challenge: staff are of all."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_staff or challenge.organisers.filter(pk=user.pk).exists()


def organised(user: AbstractBaseUser | AnonymousUser, slug: str) -> Challenge:
    """The challenge with a name, for one of its organisers.

    Raises:
        Http404: There is none, or the user is none of its organisers: who isn't can't tell which.
    """
    challenge = Challenge.objects.filter(slug=slug).first()
    if challenge is None or not organises(user, challenge):
        raise Http404
    return challenge


def makes_challenges(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether a user may make new challenges: staff, and who has the permission to add them."""
    return (
        isinstance(user, User)
        and user.is_active
        and (user.is_staff or user.has_perm("challenges.add_challenge"))
    )
