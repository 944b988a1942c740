"""Selection of leaderboard submissions, and organizers' marks."""

from __future__ import annotations

from django.db import transaction

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import SubmissionStateError
from capeval_server.submissions.models import Submission
from capeval_server.submissions.services.lifecycle import lock_submission

__all__ = ["mark", "set_standing"]


def set_standing(submission: Submission, stands: bool) -> Submission:
    """Show a scored submission on the leaderboard, or remove it from there.

    A shown submission replaces the team's other one.

    Raises:
        SubmissionStateError: The submission is not scored, or the results of its phase are final.
    """
    with transaction.atomic():
        held = lock_submission(submission, stands=stands)
        # Read again, with a lock: the results may become final at the same time.
        phase = Phase.objects.select_for_update(no_key=True).filter(submissions=held).first()
        if phase is not None and phase.final is not None:
            raise SubmissionStateError(f"the results of phase {phase.name!r} are final")
        if stands and held.state != Submission.State.SCORED:
            raise SubmissionStateError(
                f"a submission must be scored to be on the leaderboard (it is {held.state})"
            )
        if stands:
            Submission.objects.filter(team=held.team, phase=held.phase, stands=True).update(stands=False)
        held.stands = stands
        held.save(update_fields=["stands"])
    return held


def mark(submission: Submission, mark: str, reason: str) -> None:
    """Set or remove an organizer's mark of a submission.

    Raises:
        SubmissionStateError: A mark has no reason.
    """
    if mark and not reason.strip():
        raise SubmissionStateError(f"'reason' is required for a submission that is {mark}")
    submission.mark, submission.mark_reason = mark, reason.strip() if mark else ""
    submission.save(update_fields=["mark", "mark_reason"])
