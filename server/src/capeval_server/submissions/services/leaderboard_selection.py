"""Selection of leaderboard submissions, and organizers' marks."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import NotFoundError, SubmissionStateError
from capeval_server.submissions.models import Submission
from capeval_server.submissions.services.standing import lock_siblings, update_standing

__all__ = ["mark", "set_standing"]


def set_standing(submission: Submission, stands: bool | None) -> Submission:
    """Choose a scored submission for the leaderboard, take it off, or leave the choice to the scores.

    A chosen submission replaces the team's other one. In a blind phase, a team may choose several, of which
    the best one is on the leaderboard.

    Args:
        submission: A submission of the team to the phase.
        stands: Whether it is on the leaderboard; None to drop all choices of the team in the phase, as
            before the first one.

    Raises:
        SubmissionStateError: The submission is not scored, too many are chosen, the phase requires a choice,
            or its results are published or final.
    """
    with transaction.atomic():
        siblings = lock_siblings(submission.pk)
        held = next((row for row in siblings if row.pk == submission.pk), None)
        if held is None:
            raise NotFoundError
        # Read again, with a lock: the results may become final at the same time.
        phase = Phase.objects.select_for_update(no_key=True).filter(submissions=held).first()
        if phase is not None and phase.challenge.is_archived:
            raise SubmissionStateError(f"challenge {phase.challenge.slug!r} is archived")
        if phase is not None and phase.final is not None:
            raise SubmissionStateError(f"the results of phase {phase.name!r} are final")
        if phase is not None and phase.blind and phase.published is not None:
            raise SubmissionStateError(f"the results of phase {phase.name!r} are published")
        if stands and held.state != Submission.State.SCORED:
            raise SubmissionStateError(
                f"a submission must be scored to be on the leaderboard (it is {held.state})"
            )
        if phase is not None and stands is None:
            _drop_choices(phase, siblings)
        elif phase is not None:
            _choose(phase, siblings, held, chosen=bool(stands))
        if phase is not None:
            update_standing(phase, siblings)
    return held


def _choose(phase: Phase, siblings: Sequence[Submission], held: Submission, *, chosen: bool) -> None:
    others = [row for row in siblings if row.choice == Submission.Choice.CHOSEN and row != held]
    if chosen and phase.final_submissions == 1:
        for row in others:
            row.choice = Submission.Choice.NONE
            row.save(update_fields=["choice"])
    elif chosen and len(others) >= phase.final_submissions:
        raise SubmissionStateError(
            f"a team may choose at most {phase.final_submissions} submissions: take one off first"
        )
    held.choice = Submission.Choice.CHOSEN if chosen else Submission.Choice.DECLINED
    held.save(update_fields=["choice"])


def _drop_choices(phase: Phase, siblings: Sequence[Submission]) -> None:
    if phase.requires_choice:
        raise SubmissionStateError(f"phase {phase.name!r} requires a choice of the team")
    for row in siblings:
        if row.choice != Submission.Choice.NONE:
            row.choice = Submission.Choice.NONE
            row.save(update_fields=["choice"])


def mark(submission: Submission, mark: str, reason: str) -> None:
    """Set or remove an organizer's mark of a submission.

    Raises:
        SubmissionStateError: A mark has no reason.
    """
    if mark and not reason.strip():
        raise SubmissionStateError(f"'reason' is required for a submission that is {mark}")
    submission.mark, submission.mark_reason = mark, reason.strip() if mark else ""
    submission.save(update_fields=["mark", "mark_reason"])
