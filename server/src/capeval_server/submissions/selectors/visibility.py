"""Access to submissions: own teams' submissions, and published ones of others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.challenges.selectors.access import is_organizer, list_organized_challenges
from capeval_server.submissions.models import Submission

__all__ = ["exclude_withheld", "get_scored", "get_visible", "list_own", "list_published", "withholds_scores"]


def list_own(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Return the submissions of a user's teams."""
    found = Submission.objects.none()
    if user.pk:
        found = Submission.objects.filter(team__memberships__user=user.pk, team__memberships__approved=True)
    return found.select_related("phase__challenge", "team", "user")


def list_published(now: datetime) -> QuerySet[Submission]:
    """Return the submissions on public leaderboards, including human baselines."""
    shown = Phase.filter_public(now)
    stands = Q(stands=True) & Exists(shown.filter(pk=OuterRef("phase_id")))
    ended = (Submission.State.FAILED, Submission.State.WITHDRAWN)
    baseline = (
        Q(baseline_of__isnull=False)
        & ~Q(state__in=ended)
        & Exists(shown.filter(splits__reference_sets=OuterRef("baseline_of_id")))
    )
    found = Submission.objects.filter(stands | baseline).exclude(mark=Submission.Mark.HIDDEN)
    return found.select_related("phase__challenge", "team", "baseline_of__split__challenge")


def get_visible(
    user: User | AnonymousUser, pk: Any, *, manages: bool = True
) -> tuple[Submission, bool] | None:
    """Return a submission with whether it is the user's own, or None if not visible.

    Args:
        user: The user.
        pk: The submission's id.
        manages: Whether the user may also see it as an organizer.
    """
    found = list_own(user).filter(pk=pk).first()
    if found is not None:
        return found, True
    found = list_published(timezone.now()).filter(pk=pk).first()
    if found is None and manages:
        found = _list_managed(user).filter(pk=pk).first()
    return None if found is None else (found, False)


def withholds_scores(user: User | AnonymousUser, submission: Submission, *, manages: bool = True) -> bool:
    """Return whether the scores of a submission are withheld from a user: of a blind phase, from teams.

    Args:
        user: The user.
        submission: A submission that the user may see.
        manages: Whether the user may see scores as an organizer.
    """
    phase = submission.phase
    if phase is None or not phase.withholds_scores:
        return False
    return not (manages and is_organizer(user, phase.challenge))


def exclude_withheld(
    found: QuerySet[Submission], user: User | AnonymousUser, challenge: Challenge
) -> QuerySet[Submission]:
    """Return submissions to a challenge without those with scores withheld from a user."""
    if is_organizer(user, challenge):
        return found
    return found.exclude(phase__blind=True, phase__published=None)


def get_scored(
    user: User | AnonymousUser, pk: Any, *, manages: bool = True
) -> tuple[Submission, bool] | None:
    """Return a submission as `get_visible` does, or None also if its scores are withheld."""
    found = get_visible(user, pk, manages=manages)
    if found is None or withholds_scores(user, found[0], manages=manages):
        return None
    return found


def _list_managed(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Return submissions on leaderboards, also hidden ones, that a user organizes."""
    standing = Submission.objects.filter(stands=True, phase__challenge__in=list_organized_challenges(user))
    return standing.select_related("phase__challenge", "team")
