"""Quotas: how often teams may submit to a phase, and how often they have. They are counted only here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Q

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import QuotaError
from capeval_server.submissions.models import FormerUse, Submission
from capeval_server.teams.models import Raise, Team

__all__ = ["Quota", "QuotaUsage", "allowance", "counted", "quota", "spend", "uses"]


@dataclass(frozen=True, kw_only=True)
class QuotaUsage:
    """What a team used of a phase's quota, today and in all, and what it may use.

    Attributes:
        phase: The phase.
        today: How many submissions it made since midnight, UTC.
        per_day: How many it may make a day.
        used: How many it made in all.
        total: How many it may make in all.
        raised: What the team was given beyond the phase's quota; none if nothing.
    """

    phase: Phase
    today: int
    per_day: int
    used: int
    total: int
    raised: Raise | None


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What a team may still submit to a phase.

    Attributes:
        left_today: How many more until midnight, UTC.
        left: How many more in all.
        allowed_from: When the next one is allowed: now, a later time, or never (none).
    """

    left_today: int
    left: int
    allowed_from: datetime | None


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _on_the_day_of(now: datetime) -> Q:
    # What arrived after midnight may be counted before what arrived before it.
    return Q(created__gte=_midnight(now), created__lt=_midnight(now) + timedelta(days=1))


def uses(teams: Iterable[Team], phases: Iterable[Phase], now: datetime) -> dict[int, list[QuotaUsage]]:
    """The use of the quota of each phase by each team, by the teams' keys, in three queries."""
    keys, phases = [team.pk for team in teams], list(phases)
    used = counted(keys, phases, now)
    for place, (total, today) in _brought(keys, phases, now):
        before = used.get(place, (0, 0))
        used[place] = (before[0] + total, before[1] + today)
    rows = Raise.objects.filter(team__in=keys, phase__in=phases)
    raises = {(row.team_id, row.phase_id): row for row in rows}
    return {
        key: [_use(phase, used.get((key, phase.pk), (0, 0)), raises.get((key, phase.pk))) for phase in phases]
        for key in keys
    }


def counted(
    teams: Iterable[int], phases: Iterable[Phase], now: datetime
) -> dict[tuple[int, int], tuple[int, int]]:
    """How often teams themselves submitted to phases, in all and today, by the keys of both."""
    rows = (
        Submission.objects.filter(team__in=list(teams), phase__in=phases, counts_for_quota=True)
        .order_by()
        .values_list("team_id", "phase_id")
        .annotate(used=Count("pk"), today=Count("pk", filter=_on_the_day_of(now)))
    )
    return {(team, phase): (total, today) for team, phase, total, today in rows if team and phase}


def _brought(
    teams: Iterable[int], phases: Iterable[Phase], now: datetime
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """What members used before, in all and today, by the keys of their team now and of the phase.

    What several of them used in one team is counted once.
    """
    rows = FormerUse.objects.filter(member__team__in=teams, phase__in=phases)
    by_source: dict[tuple[int, int, int], tuple[int, int]] = {}
    for row in rows.exclude(source=F("member__team")).select_related("member").order_by("pk"):
        # What is of a team that is gone can't be told apart, and so is counted on its own.
        source = row.source_id or -row.pk
        key = (row.member.team_id or 0, row.phase_id, source)
        before = by_source.get(key, (0, 0))
        today = row.today if row.day == now.date() else 0
        by_source[key] = (max(before[0], row.used), max(before[1], today))
    for (team, phase, _), use in by_source.items():
        yield (team, phase), use


def _use(phase: Phase, used: tuple[int, int], raised: Raise | None) -> QuotaUsage:
    return QuotaUsage(
        phase=phase,
        today=used[1],
        per_day=phase.quota_per_day + (raised.per_day if raised else 0),
        used=used[0],
        total=phase.quota_total + (raised.total if raised else 0),
        raised=raised,
    )


def _use_of(team: Team, phase: Phase, now: datetime) -> QuotaUsage:
    (use,) = uses([team], [phase], now)[team.pk]
    return use


def allowance(team: Team, phase: Phase, now: datetime) -> tuple[int, int]:
    """How many submissions a team may make a day, and in all."""
    use = _use_of(team, phase, now)
    return use.per_day, use.total


def quota(team: Team, phase: Phase, now: datetime) -> Quota:
    """What a team may still submit to a phase."""
    return _left(_use_of(team, phase, now), now)


def _left(use: QuotaUsage, now: datetime) -> Quota:
    phase = use.phase
    left = max(use.total - use.used, 0)
    today = max(min(left, use.per_day - use.today), 0)
    allowed = max(now if today else _midnight(now) + timedelta(days=1), phase.opens)
    return Quota(
        left_today=today, left=left, allowed_from=allowed if left and allowed < phase.closes else None
    )


def spend(team: Team, phase: Phase, now: datetime) -> None:
    """Checks that a team may make a submission now; its row must be locked.

    Raises:
        QuotaError: The quota is used up.
    """
    use = _use_of(team, phase, now)
    there = _left(use, now)
    if there.left_today:
        return
    which = f"{use.per_day} a day" if there.left else f"{use.total} in all"
    then = f"the next is allowed from {there.allowed_from.isoformat()}" if there.allowed_from else "no more"
    raise QuotaError(f"the quota of {which} is used up; {then}", allowed_from=there.allowed_from)
