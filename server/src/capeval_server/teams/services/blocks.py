"""Blocking users: they can't take part in a challenge, also not by a new account with the same address."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from capeval_server.challenges.models import Challenge
from capeval_server.teams.address_digests import digests, known_digests
from capeval_server.teams.models import Block, BlockedAddress

__all__ = ["block", "block_of", "keep_addresses"]


def block_of(user: User, challenge: Challenge) -> Block | None:
    """The block by which a user can't take part in a challenge, if there is one."""
    same = Q(user=user) | Q(addresses__digest__in=known_digests(user, challenge))
    return Block.objects.filter(same, challenge=challenge).order_by("pk").first()


def block(user: User, challenge: Challenge, reason: str) -> Block:
    """Blocks a user, or gives the reason of a block anew. The caller has locked the challenge."""
    values = {"reason": reason, "who": user.username}
    made, _ = Block.objects.update_or_create(challenge=challenge, user=user, defaults=values)
    _keep(made, user)
    return made


def keep_addresses(*, instance: User, **_: object) -> None:
    """Keeps the hashes of a user's addresses with the user's blocks, before the user is deleted."""
    for made in Block.objects.filter(user=instance).select_related("challenge"):
        _keep(made, instance)


def _keep(made: Block, user: User) -> None:
    with transaction.atomic():
        BlockedAddress.objects.bulk_create(
            (BlockedAddress(block=made, digest=digest) for digest in digests(user, made.challenge)),
            ignore_conflicts=True,
        )
