"""Quotas of teams in phases, and their usage. Only this module counts usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Q

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import QuotaError
from capeval_server.submissions.models import FormerUse, Submission
from capeval_server.submissions.quotas.windows import THIS_MONTH, WindowUsage, list_windows
from capeval_server.teams.models import Raise, Team

__all__ = ["Quota", "QuotaUsage", "allowance", "check_quota", "count_submissions", "quota", "uses"]


@dataclass(frozen=True, kw_only=True)
class QuotaUsage:
    """A team's usage of a phase's quota, today and in total, with the limits.

    Attributes:
        phase: The phase.
        today: The number of submissions since midnight, UTC.
        per_day: The limit per day.
        used: The number of submissions in total.
        total: The limit in total.
        raised: The team's extra quota, which the limits include; None if it has none.
    """

    phase: Phase
    today: int
    per_day: int
    used: int
    total: int
    raised: Raise | None


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A team's remaining quota in a phase.

    Attributes:
        left_today: The number of submissions left until midnight, UTC, by all limits.
        left_this_month: The number left of the limit per calendar month, UTC; None without such a limit.
        left_in_window: The number left of the limit within the last days; None without such a limit.
        left: The number of submissions left in total.
        allowed_from: The time of the next allowed submission, possibly now; None if never.
        used_up: The limit that is used up, such as `5 per month`; empty if a submission is allowed.
        windows: The usage of the limits per month and within the last days.
    """

    left_today: int
    left_this_month: int | None
    left_in_window: int | None
    left: int
    allowed_from: datetime | None
    used_up: str
    windows: Sequence[WindowUsage]


def _get_midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _filter_day(now: datetime) -> Q:
    # Bounded on both sides: an upload from after midnight may be counted before one from before midnight.
    return Q(created__gte=_get_midnight(now), created__lt=_get_midnight(now) + timedelta(days=1))


def uses(teams: Iterable[Team], phases: Iterable[Phase], now: datetime) -> dict[int, list[QuotaUsage]]:
    """Return each team's usage of each phase's quota by team id, in three queries."""
    keys, phases = [team.pk for team in teams], list(phases)
    used = count_submissions(keys, phases, now)
    for place, (total, today) in _list_brought_usage(keys, phases, now):
        before = used.get(place, (0, 0))
        used[place] = (before[0] + total, before[1] + today)
    rows = Raise.objects.filter(team__in=keys, phase__in=phases)
    raises = {(row.team_id, row.phase_id): row for row in rows}
    return {
        key: [
            _build_usage(phase, used.get((key, phase.pk), (0, 0)), raises.get((key, phase.pk)))
            for phase in phases
        ]
        for key in keys
    }


def count_submissions(
    teams: Iterable[int], phases: Iterable[Phase], now: datetime
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the teams' own numbers of submissions, in total and today.

    The keys are pairs of team id and phase id.
    """
    rows = (
        Submission.objects.filter(team__in=list(teams), phase__in=phases, counts_for_quota=True)
        .order_by()
        .values_list("team_id", "phase_id")
        .annotate(used=Count("pk"), today=Count("pk", filter=_filter_day(now)))
    )
    return {(team, phase): (total, today) for team, phase, total, today in rows if team and phase}


def _list_brought_usage(
    teams: Iterable[int], phases: Iterable[Phase], now: datetime
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the usage that members brought from former teams, in total and today.

    Each item has the ids of the member's current team and of the phase. Usage that several members brought
    from one team is counted once.
    """
    rows = FormerUse.objects.filter(member__team__in=teams, phase__in=phases)
    by_source: dict[tuple[int, int, int], tuple[int, int]] = {}
    for row in rows.exclude(source=F("member__team")).select_related("member").order_by("pk"):
        # Rows of deleted teams can't be matched, so each one counts separately.
        source = row.source_id or -row.pk
        key = (row.member.team_id or 0, row.phase_id, source)
        before = by_source.get(key, (0, 0))
        today = row.today if row.day == now.date() else 0
        by_source[key] = (max(before[0], row.used), max(before[1], today))
    for (team, phase, _), use in by_source.items():
        yield (team, phase), use


def _build_usage(phase: Phase, used: tuple[int, int], raised: Raise | None) -> QuotaUsage:
    return QuotaUsage(
        phase=phase,
        today=used[1],
        per_day=phase.quota_per_day + (raised.per_day if raised else 0),
        used=used[0],
        total=phase.quota_total + (raised.total if raised else 0),
        raised=raised,
    )


def _get_usage(team: Team, phase: Phase, now: datetime) -> QuotaUsage:
    (use,) = uses([team], [phase], now)[team.pk]
    return use


def allowance(team: Team, phase: Phase, now: datetime) -> tuple[int, int]:
    """Return a team's limits of submissions per day and in total."""
    use = _get_usage(team, phase, now)
    return use.per_day, use.total


def quota(team: Team, phase: Phase, now: datetime) -> Quota:
    """Return a team's remaining quota in a phase."""
    use = _get_usage(team, phase, now)
    extra = use.raised.total if use.raised else 0
    return _compute_remaining(use, list_windows(team.pk, phase, now, extra=extra), now)


def _compute_remaining(use: QuotaUsage, windows: list[WindowUsage], now: datetime) -> Quota:
    phase = use.phase
    left = max(use.total - use.used, 0)
    midnight = _get_midnight(now) + timedelta(days=1)
    day = WindowUsage(
        period="today",
        text=f"{use.per_day} per day",
        most=use.per_day,
        used=use.today,
        allowed_from=midnight,
    )
    limits = [day, *windows]
    full = [limit for limit in limits if not limit.left]
    # The limit that lasts longest.
    last = max(full, key=lambda limit: limit.allowed_from, default=None)
    allowed = max(now if last is None else last.allowed_from, phase.opens)
    used_up = "" if last is None else last.text
    return Quota(
        left_today=min(left, *(limit.left for limit in limits)),
        left_this_month=next((limit.left for limit in windows if limit.period == THIS_MONTH), None),
        left_in_window=next((limit.left for limit in windows if limit.period != THIS_MONTH), None),
        left=left,
        allowed_from=allowed if left and allowed < phase.closes else None,
        used_up=used_up if left else f"{use.total} in total",
        windows=windows,
    )


def check_quota(team: Team, phase: Phase, now: datetime) -> None:
    """Check that a team may make a submission now; the team's row must be locked.

    Raises:
        QuotaError: The quota is used up.
    """
    there = quota(team, phase, now)
    if there.left_today:
        return
    then = (
        f"the next submission is allowed from {there.allowed_from.isoformat()}"
        if there.allowed_from
        else "no more submissions are allowed"
    )
    raise QuotaError(f"the quota of {there.used_up} is used up; {then}", allowed_from=there.allowed_from)
