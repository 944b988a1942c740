"""What organizers see on the overview, in a fixed number of queries."""

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

__all__ = ["PhaseState", "TeamQuotaUsage", "phases_of", "states_of", "use_of"]


@dataclass(frozen=True, kw_only=True)
class PhaseState:
    """A phase, and how it goes.

    Attributes:
        phase: The phase.
        when: `upcoming`, `open` or `closed`.
        teams: How many teams submitted.
        submissions: How many submissions there are, withdrawn ones left out.
        waiting: How many of them wait or are being scored.
        failed: How many of them failed.
        standing: How many stand on the leaderboard.
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
    """A team, its members, and its use of each phase's quota."""

    team: Team
    members: list[str]
    uses: list[QuotaUsage]


def phases_of(challenge: Challenge) -> list[PhaseState]:
    """The phases, and how they go."""
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
            when=phase.when(now),
            teams=phase.teams_count,
            submissions=phase.all_count,
            waiting=phase.waiting_count,
            failed=phase.failed_count,
            standing=phase.standing_count,
        )
        for phase in phases.order_by("opens", "name")
    ]


def states_of(challenge: Challenge) -> dict[str, int]:
    """How many submissions of a challenge are in each state."""
    counted = of_challenge(challenge).order_by().values_list("state").annotate(Count("pk"))
    found = dict(counted)
    return {state: found.get(state, 0) for state in Submission.State.values}


def use_of(challenge: Challenge, teams: Iterable[Team]) -> list[TeamQuotaUsage]:
    """The members of teams, and their use of quotas.

    Args:
        challenge: The challenge.
        teams: Some of its teams, with their members prefetched (`memberships__user`).
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
