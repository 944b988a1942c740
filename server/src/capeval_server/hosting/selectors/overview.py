"""Data of the organizers' overview page, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.hosting.services.moderation import of_challenge
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.submissions.quotas.limits import QuotaUsage, uses
from capeval_server.teams.models import Team

__all__ = ["PhaseState", "TeamQuotaUsage", "list_quota_usage", "phases_of", "states_of"]


@dataclass(frozen=True, kw_only=True)
class PhaseState:
    """Phase with the counts of its teams and submissions.

    Attributes:
        phase: The phase.
        when: `upcoming`, `open` or `closed`.
        teams: The number of teams with submissions.
        submissions: The number of submissions that are not withdrawn.
        waiting: The number of submissions that wait or are being scored.
        failed: The number of failed submissions.
        standing: The number of submissions on the leaderboard.
    """

    phase: Phase
    when: str
    teams: int
    submissions: int
    waiting: int
    failed: int
    standing: int


@dataclass(frozen=True, kw_only=True)
class TeamQuotaUsage:
    """Team with its members and its use of each phase's quota."""

    team: Team
    members: list[str]
    uses: list[QuotaUsage]


def phases_of(challenge: Challenge) -> list[PhaseState]:
    """Return the phases with their counts."""
    now = timezone.now()
    there = ~Q(submissions__state=Submission.State.WITHDRAWN) & Q(submissions__isnull=False)
    phases = challenge.phases.prefetch_related("splits").annotate(
        teams_count=Count("submissions__team", distinct=True, filter=there),
        all_count=Count("submissions", filter=there),
        waiting_count=Count("submissions", filter=Q(submissions__state__in=UNFINISHED)),
        failed_count=Count("submissions", filter=Q(submissions__state=Submission.State.FAILED)),
        standing_count=Count("submissions", filter=Q(submissions__stands=True)),
    )
    return [
        PhaseState(
            phase=phase,
            when=phase.get_state(now),
            teams=phase.teams_count,
            submissions=phase.all_count,
            waiting=phase.waiting_count,
            failed=phase.failed_count,
            standing=phase.standing_count,
        )
        for phase in phases.order_by("opens", "name")
    ]


def states_of(challenge: Challenge) -> dict[str, int]:
    """Return the number of a challenge's submissions in each state."""
    counted = of_challenge(challenge).order_by().values_list("state").annotate(Count("pk"))
    found = dict(counted)
    return {state: found.get(state, 0) for state in Submission.State.values}


def list_quota_usage(challenge: Challenge, teams: Iterable[Team]) -> list[TeamQuotaUsage]:
    """Return the members of teams, and their use of quotas.

    Args:
        challenge: The challenge.
        teams: Some of its teams, with prefetched members (`memberships__user`).
    """
    teams = list(teams)
    used = uses(teams, challenge.phases.order_by("opens", "name"), timezone.now())
    return [
        TeamQuotaUsage(
            team=team,
            members=[membership.user.username for membership in team.memberships.all()],
            uses=used[team.pk],
        )
        for team in teams
    ]
