"""Quotas of who deletes their account and signs up again: what they had used still counts."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.crypto import salted_hmac

from capeval_server.challenges.models import Challenge
from capeval_server.submissions.models import FormerAddress, FormerMember, FormerUse
from capeval_server.submissions.quotas import uses
from capeval_server.teams.models import Membership

__all__ = ["forget", "note_departure", "note_return"]


def note_departure(*, instance: User, **_: object) -> None:
    """Notes what the teams of a user have used, before the user is deleted."""
    now = timezone.now()
    for membership in instance.memberships.select_related("team", "challenge"):
        digests = _digests(instance, membership.challenge, settings.SECRET_KEY)
        phases = membership.challenge.phases.all()
        used = [use for use in uses([membership.team], phases, now)[membership.team_id] if use.used]
        if not used or not digests:
            continue
        member = FormerMember.objects.create(challenge=membership.challenge)
        FormerAddress.objects.bulk_create(FormerAddress(member=member, digest=digest) for digest in digests)
        FormerUse.objects.bulk_create(
            FormerUse(member=member, phase=use.phase, used=use.used, day=now.date(), today=use.today)
            for use in used
        )


def note_return(*, instance: Membership, created: bool, raw: bool = False, **_: object) -> None:
    """Has what a deleted account had used count for the team that its owner joins with a new one."""
    if not created or raw:
        return
    # An earlier key of the server counts until it is forgotten.
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [digest for key in keys for digest in _digests(instance.user, instance.challenge, key)]
    # The last one: what those before it used is part of what its team had used.
    found = FormerMember.objects.filter(challenge=instance.challenge, addresses__digest__in=digests)
    member = found.order_by("-pk").first()
    if member is not None:
        member.team = instance.team
        member.save(update_fields=["team"])


def forget() -> None:
    """Deletes what can't count any more, since all phases of the challenge are closed."""
    going_on = Challenge.objects.filter(phases__closes__gt=timezone.now())
    FormerMember.objects.exclude(challenge__in=going_on).delete()


def _digests(user: User, challenge: Challenge, key: str) -> list[str]:
    """Hashes of a user's addresses, which say nothing without the server's key and differ by challenge."""
    addresses = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    texts = [f"{challenge.pk} {address.lower()}" for address in addresses]
    return [salted_hmac(__name__, text, key, algorithm="sha256").hexdigest() for text in texts]
