"""Actions of organizers on submissions, quotas and organizers, with the audit log."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from capeval_server.accounts.services.reservations import confirmed
from capeval_server.audit.models import record
from capeval_server.challenges.models import MOST_IN_ALL, MOST_PER_DAY, Challenge, Phase, ReferenceSet
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import SubmissionStateError, TeamError
from capeval_server.submissions.models import LONGEST_REASON, Submission
from capeval_server.submissions.services import leaderboard_selection, lifecycle
from capeval_server.teams.models import Raise, Team

__all__ = [
    "add_organizer",
    "mark",
    "of_challenge",
    "raise_quota",
    "remove_organizer",
    "repeatable",
    "rerun",
    "rerun_all",
    "take_off",
]

_DONE = {
    "": "took the mark off a submission",
    "flagged": "flagged a submission",
    "hidden": "hid a submission",
}


def of_challenge(challenge: Challenge) -> QuerySet[Submission]:
    """Return all submissions of a challenge, including its human baselines."""
    sets = ReferenceSet.objects.filter(split__challenge=challenge)
    of_it = Q(phase__in=challenge.phases.all()) | Q(baseline_of__in=sets)
    return (
        Submission.objects.filter(of_it)
        .select_related("team", "phase", "user", "baseline_of__split")
        .defer("baseline_of__split__image_ids")
    )


def repeatable(
    challenge: Challenge, *, phase: Phase | None = None, failed: bool = False
) -> QuerySet[Submission]:
    """Return the submissions that can be scored again.

    Args:
        challenge: The challenge.
        phase: Only submissions of this phase.
        failed: Only submissions that failed completely or in a metric.
    """
    found = of_challenge(challenge).exclude(state=Submission.State.WITHDRAWN)
    if phase is not None:
        found = found.filter(phase=phase)
    if failed:
        part = Submission.objects.filter(results__failure__gt="").values("pk")
        found = found.filter(Q(state=Submission.State.FAILED) | Q(pk__in=part))
    return found


def rerun(user: User | None, challenge: Challenge, submission: Submission) -> None:
    """Delete the results of a submission and score it again.

    Raises:
        SubmissionStateError: The submission is withdrawn.
    """
    # Imports of challenge files also delete results; the lock makes one wait for the other.
    with lock_challenge(challenge):
        lifecycle.rerun(submission)
        record(user, challenge, "had a submission scored again", submission=submission)


def rerun_all(user: User, challenge: Challenge, *, phase: Phase | None = None, failed: bool = False) -> int:
    """Score many submissions again; see `repeatable`.

    Returns:
        The number of submissions.
    """
    # Only one transaction at a time changes many submissions; publishing references also does.
    with lock_challenge(challenge):
        pks = repeatable(challenge, phase=phase, failed=failed).values("pk")
        number = lifecycle.rerun_all(Submission.objects.filter(pk__in=pks))
        which = "failed submissions" if failed else "submissions"
        where = f" of phase {phase.name}" if phase else ""
        record(user, challenge, f"had all {which}{where} scored again ({number})")
    return number


def mark(user: User, challenge: Challenge, submission: Submission, wanted: str, reason: str) -> None:
    """Flag or hide a submission, with a reason that its team sees, or remove the mark.

    Raises:
        SubmissionStateError: A mark has no reason, or the reason is too long.
    """
    if wanted not in Submission.Mark.values:
        raise SubmissionStateError(f"'mark' must be '', flagged or hidden (got {wanted[:20]!r})")
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise SubmissionStateError(f"'reason' must be a text of at most {LONGEST_REASON} characters")
    with transaction.atomic():
        now = lifecycle.lock_submission(submission)
        if (now.mark, now.mark_reason) == (wanted, reason.strip() if wanted else ""):
            return
        leaderboard_selection.mark(now, wanted, reason)
        done = _DONE[wanted] + (f": {now.mark_reason}" if wanted else "")
        record(user, challenge, done, submission=now)


def take_off(user: User, challenge: Challenge, submission: Submission) -> None:
    """Remove a submission from the leaderboard; its team may show it again."""
    with transaction.atomic():
        leaderboard_selection.set_standing(submission, False)
        record(user, challenge, "took a submission off the leaderboard", submission=submission)


def raise_quota(user: User, team: Team, phase: Phase, *, per_day: int, total: int) -> None:
    """Set the extra quota of a team in a phase; 0 and 0 remove it.

    Args:
        user: The organizer.
        team: The team.
        phase: The phase.
        per_day: The additional submissions per day.
        total: The additional submissions in total.

    Raises:
        TeamError: The numbers are too large, or negative.
    """
    if not 0 <= per_day <= MOST_PER_DAY or not 0 <= total <= MOST_IN_ALL:
        limits = f"0 to {MOST_PER_DAY:,} per day and 0 to {MOST_IN_ALL:,} in total"
        raise TeamError(f"the extra quota must be {limits} (got {per_day:,} and {total:,})")
    with transaction.atomic():
        # Submissions also lock the team's row, so the quota does not change during one.
        now = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        if per_day or total:
            Raise.objects.update_or_create(
                team=now, phase=phase, defaults={"per_day": per_day, "total": total}
            )
        else:
            Raise.objects.filter(team=now, phase=phase).delete()
        what = f"set the raise of a team in phase {phase.name} to {per_day} more a day, {total} more in all"
        record(user, team.challenge, what, team=now)


def add_organizer(user: User | None, challenge: Challenge, name: str) -> User:
    """Add a user to the organizers.

    Raises:
        TeamError: There is no such user, or they are already an organizer.
    """
    found = confirmed(User.objects.filter(username=name, is_active=True)).first()
    if found is None:
        raise TeamError(f"no user has the name {name!r}")
    with lock_challenge(challenge):
        if challenge.organizers.filter(pk=found.pk).exists():
            raise TeamError(f"{name!r} is already an organizer")
        challenge.organizers.add(found)
        record(user, challenge, f"made {name} an organizer")
    return found


def remove_organizer(user: User | None, challenge: Challenge, organizer: User) -> None:
    """Remove a user from the organizers.

    Raises:
        TeamError: The user is not an organizer.
        SuccessorError: No organizer would be left.
    """
    with lock_challenge(challenge):
        if not challenge.organizers.filter(pk=organizer.pk).exists():
            raise TeamError(f"{organizer.username!r} is not an organizer of {challenge.slug!r}")
        challenge.organizers.remove(organizer)
        record(user, challenge, f"removed {organizer.username} from the organizers")
