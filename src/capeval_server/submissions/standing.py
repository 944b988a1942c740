"""What a team decides of its submissions: which one stands on the leaderboard, which are withdrawn."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.http import Http404

from capeval_server.errors import StandingError
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team

__all__ = ["locked", "mark", "set_standing", "withdraw"]


def set_standing(submission: Submission, stands: bool) -> Submission:
    """Puts a scored submission on the leaderboard in place of any other of its team, or takes it off.

    Raises:
        StandingError: The submission is not scored.
    """
    with transaction.atomic():
        held = locked(submission, stands=stands)
        if stands and held.state != Submission.State.SCORED:
            raise StandingError(f"a submission must be scored to stand (it is {held.state})")
        if stands:
            Submission.objects.filter(team=held.team, phase=held.phase, stands=True).update(stands=False)
        held.stands = stands
        held.save(update_fields=["stands"])
    return held


def withdraw(submission: Submission) -> Submission:
    """Takes a submission back for good: it is not scored any more, and stands nowhere.

    What it cost of the quota it still costs. A worker that scores it finds its lease gone.

    Raises:
        StandingError: The submission failed.
    """
    with transaction.atomic():
        held = locked(submission)
        if held.state == Submission.State.FAILED:
            raise StandingError("a submission that failed can't be withdrawn: it cost nothing")
        held.state, held.stands = Submission.State.WITHDRAWN, False
        held.lease = held.lease_until = None
        held.save(update_fields=["state", "stands", "lease", "lease_until"])
    return held


def mark(submission: Submission, mark: str, reason: str) -> None:
    """Marks a submission for an organiser, or takes the mark away.

    Raises:
        StandingError: There is a mark and no reason.
    """
    if mark and not reason.strip():
        raise StandingError(f"'reason' must say why the submission is {mark} (got nothing)")
    submission.mark, submission.mark_reason = mark, reason.strip() if mark else ""
    submission.save(update_fields=["mark", "mark_reason"])


def locked(submission: Submission, *, stands: bool = False) -> Submission:
    """The submission as it is now, with its team's row locked: one change of a team comes after the other.

    If it is to stand, the one in whose place it does is locked too. Whoever locks many submissions does it in
    the order of their keys, so that no two wait for each other.

    Raises:
        Http404: It is gone, as a human baseline whose file changed.
    """
    Team.objects.select_for_update(of=("self",), no_key=True).filter(submissions=submission).first()
    wanted = Q(pk=submission.pk)
    if stands:
        wanted |= Q(team=submission.team_id, phase=submission.phase_id, stands=True)
    found = Submission.objects.select_for_update(no_key=True).filter(wanted).order_by("pk")
    held = next((one for one in found if one.pk == submission.pk), None)
    if held is None:
        raise Http404
    return held
