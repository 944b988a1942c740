"""Limits of submissions per calendar month, and within the last days."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, QuerySet

from capeval_server.challenges.models import Phase
from capeval_server.submissions.models import FormerUse, Submission

__all__ = ["THIS_MONTH", "WindowUsage", "count_windows", "list_windows"]

THIS_MONTH = "this month"
"""The period of the limit per month."""


@dataclass(frozen=True, kw_only=True)
class WindowUsage:
    """A team's usage of a limit.

    Attributes:
        period: The period in words, such as `this month`.
        text: The limit in words, such as `5 per month`.
        most: The limit.
        used: The number of submissions.
        allowed_from: The time from which a submission is allowed again if the limit is used up.
    """

    period: str
    text: str
    most: int
    used: int
    allowed_from: datetime

    @property
    def left(self) -> int:
        """The number of submissions left of this limit."""
        return max(self.most - self.used, 0)


def list_windows(team: int, phase: Phase, now: datetime, *, extra: int = 0) -> list[WindowUsage]:
    """Return a team's usage of the limits of a phase per month and within the last days.

    Usage that members brought from former teams counts as if it was made on the day on which they left.

    Args:
        team: The id of the team.
        phase: The phase.
        now: The current time.
        extra: The team's extra submissions in total, which raise these limits too.
    """
    found = []
    month, window = count_windows(team, phase, now)
    brought = list(_list_brought(team, phase, now))
    if phase.quota_per_month is not None:
        most = phase.quota_per_month + extra
        found.append(
            WindowUsage(
                period=THIS_MONTH,
                text=f"{most} per month",
                most=most,
                used=month + sum(use.month for use in brought if _is_same_month(use, now)),
                allowed_from=_get_next_month(now),
            )
        )
    if phase.quota_per_window is not None and phase.quota_window_days is not None:
        most, days = phase.quota_per_window + extra, timedelta(days=phase.quota_window_days)
        recent = [use for use in brought if now.date() - use.day <= days]
        period = f"within {phase.quota_window_days} day{'s' if days.days > 1 else ''}"
        found.append(
            WindowUsage(
                period=period,
                text=f"{most} {period}",
                most=most,
                used=window + sum(use.window for use in recent),
                allowed_from=_find_end(team, phase, now, recent, most),
            )
        )
    return found


def count_windows(team: int, phase: Phase, now: datetime) -> tuple[int, int]:
    """Return a team's own submissions in this month, and within the last days of the phase's limit."""
    own = _filter_own(team, phase, now)
    month = own.filter(created__gte=_get_month(now)).count() if phase.quota_per_month is not None else 0
    days = phase.quota_window_days
    window = 0 if days is None else own.filter(created__gt=now - timedelta(days=days)).count()
    return month, window


def _filter_own(team: int, phase: Phase, now: datetime) -> QuerySet[Submission]:
    return Submission.objects.filter(team=team, phase=phase, counts_for_quota=True, created__lte=now)


def _get_month(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _get_next_month(now: datetime) -> datetime:
    return _get_month(_get_month(now) + timedelta(days=31))


def _is_same_month(use: FormerUse, now: datetime) -> bool:
    return (use.day.year, use.day.month) == (now.year, now.month)


def _list_brought(team: int, phase: Phase, now: datetime) -> Iterator[FormerUse]:
    """Yield the usage brought from other teams, once for each of those teams."""
    rows = FormerUse.objects.filter(
        member__team=team, phase=phase, day__gte=(now - timedelta(days=366)).date()
    )
    by_source: dict[int, FormerUse] = {}
    for row in rows.exclude(source=F("member__team")).order_by("pk"):
        # Rows of deleted teams can't be matched, so each one counts separately.
        by_source[row.source_id or -row.pk] = row
    yield from by_source.values()


def _find_end(team: int, phase: Phase, now: datetime, brought: list[FormerUse], most: int) -> datetime:
    """Return the time at which the window again has room for a submission."""
    days = timedelta(days=phase.quota_window_days or 0)
    own = _filter_own(team, phase, now).filter(created__gt=now - days)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [*own.values_list("created", flat=True)]
    for use in brought:
        left = midnight - (now.date() - use.day) + timedelta(days=1)
        times += [left] * use.window
    return sorted(times, reverse=True)[most - 1] + days if len(times) >= most else now
