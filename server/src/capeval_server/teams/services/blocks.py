"""Blocks of users in a challenge.

They also apply to new accounts with the same address.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from capeval_server.challenges.models import Challenge
from capeval_server.teams.address_digests import digests, known_digests
from capeval_server.teams.models import Block, BlockedAddress

__all__ = ["block", "block_of", "keep_addresses"]


def block_of(user: User, challenge: Challenge) -> Block | None:
    """Return the block of a user in a challenge, or None."""
    same = Q(user=user) | Q(addresses__digest__in=known_digests(user, challenge))
    return Block.objects.filter(same, challenge=challenge).order_by("pk").first()


def block(user: User, challenge: Challenge, reason: str) -> Block:
    """Block a user, or update the reason of a block.

    The caller has locked the challenge.
    """
    values = {"reason": reason, "who": user.username}
    made, _ = Block.objects.update_or_create(challenge=challenge, user=user, defaults=values)
    _store_addresses(made, user)
    return made


def keep_addresses(*, instance: User, **_: object) -> None:
    """Store the address hashes of a blocked user, before the user is deleted."""
    for made in Block.objects.filter(user=instance).select_related("challenge"):
        _store_addresses(made, instance)


def _store_addresses(made: Block, user: User) -> None:
    with transaction.atomic():
        BlockedAddress.objects.bulk_create(
            (BlockedAddress(block=made, digest=digest) for digest in digests(user, made.challenge)),
            ignore_conflicts=True,
        )
