"""Quota used by former members of teams, including deleted accounts.

It still counts when they join another team or sign up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from capeval_server.challenges.models import Challenge
from capeval_server.submissions.models import FormerAddress, FormerMember, FormerUse, Submission
from capeval_server.submissions.quotas.limits import count_submissions
from capeval_server.submissions.quotas.windows import count_windows
from capeval_server.teams.address_digests import digests, known_digests
from capeval_server.teams.models import Membership

__all__ = ["forget", "note_deletion", "note_leaving", "note_return"]


def note_leaving(*, membership: Membership, **_: object) -> None:
    """Store the quota used by a member's team, before the member leaves it."""
    user, team, challenge = membership.user, membership.team, membership.challenge
    # In another team, the same upload with the same key is a new submission.
    Submission.objects.filter(team=team, user=user).update(idempotency_key=None)
    uses = list(_list_uses(membership))
    if uses:
        member = FormerMember.objects.create(challenge=challenge, user=user)
        _store_addresses(member, user)
        for use in uses:
            use.member = member
        FormerUse.objects.bulk_create(uses)


def _list_uses(membership: Membership) -> Iterator[FormerUse]:
    """Yield the quota that a team used, and the quota that its members brought along."""
    now, team = timezone.now(), membership.team
    phases = {phase.pk: phase for phase in membership.challenge.phases.all()}
    for (_, phase), (used, today) in count_submissions([team.pk], phases.values(), now).items():
        month, window = count_windows(team.pk, phases[phase], now)
        counts = {"used": used, "today": today, "month": month, "window": window}
        yield FormerUse(phase_id=phase, source=team, day=now.date(), **counts)
    before = FormerUse.objects.filter(member__team=team)
    for use in before.exclude(source=team):
        counts = {name: getattr(use, name) for name in ("used", "day", "today", "month", "window")}
        yield FormerUse(phase_id=use.phase_id, source_id=use.source_id, **counts)


def note_deletion(*, instance: User, **_: object) -> None:
    """Replace a user's stored quota usage by address hashes before a deletion."""
    members = FormerMember.objects.filter(user=instance)
    for member in members.select_related("challenge"):
        _store_addresses(member, instance)
    # Without an address, nothing identifies the person later.
    members.filter(addresses=None).delete()
    members.update(user=None)


def _store_addresses(member: FormerMember, user: User) -> None:
    known = set(member.addresses.values_list("digest", flat=True))
    new = [digest for digest in digests(user, member.challenge) if digest not in known]
    FormerAddress.objects.bulk_create(FormerAddress(member=member, digest=digest) for digest in new)


def note_return(*, instance: Membership, created: bool, raw: bool = False, **_: object) -> None:
    """Carry over used quota to the team that a user joins.

    It may come from a former team, or from a deleted account with the same address.
    """
    if not created or raw:
        return
    user, challenge = instance.user, instance.challenge
    same = Q(user=user) | Q(addresses__digest__in=known_digests(user, challenge))
    found = FormerMember.objects.filter(same, challenge=challenge)
    # The last row includes the usage of the earlier ones.
    members = FormerMember.objects.filter(pk__in=found.values("pk")).order_by("-pk")
    member = members.first()
    if member is not None:
        members.exclude(pk=member.pk).update(team=None)
        member.team = instance.team
        member.save(update_fields=["team"])


def forget(now: datetime) -> None:
    """Delete stored usage of challenges without open or upcoming phases."""
    going_on = Challenge.objects.filter(phases__closes__gt=now)
    FormerMember.objects.exclude(challenge__in=going_on).delete()
