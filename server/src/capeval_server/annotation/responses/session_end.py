"""End of a session by the worker: return, no consent, unsuitable, or nothing left."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext

from capeval_server.annotation.core.departures import check_not_withdrawn
from capeval_server.annotation.core.locks import lock_participation
from capeval_server.annotation.models import Assignment, Participation, Session
from capeval_server.annotation.responses.assignment import has_work, set_aside
from capeval_server.annotation.workers.panels import end, open_session
from capeval_server.core.errors import AssignmentError

__all__ = ["BY_WORKER", "end_session"]

_Outcome = Session.Outcome
# Outcomes that workers may report themselves.
BY_WORKER = (_Outcome.NO_CONSENT, _Outcome.UNSUITABLE, _Outcome.RETURNED, _Outcome.NOTHING_LEFT)


def end_session(participation: Participation, outcome: str) -> None:
    """End the session of a worker, and return the held items.

    A session that has already ended remains as it is.

    Raises:
        AssignmentError: The worker did not come from a panel, or may not report this outcome.
    """
    with transaction.atomic():
        now = lock_participation(participation)
        check_not_withdrawn(now)
        session = open_session(now)
        if session is None:
            raise AssignmentError(gettext("only workers from a panel have a session to end"))
        if session.outcome:
            return
        if outcome not in BY_WORKER:
            raise AssignmentError(f"'outcome' must be one of {', '.join(BY_WORKER)} (got {outcome!r})")
        if outcome == _Outcome.NO_CONSENT and now.stage != Participation.Stage.INVITED:
            raise AssignmentError(gettext("you have agreed to take part: you can withdraw under 'Your data'"))
        if outcome == _Outcome.NOTHING_LEFT and has_work(now):
            raise AssignmentError(gettext("there is still work for you"))
        for held in now.assignments.filter(state=Assignment.State.HELD):
            set_aside(held, Assignment.State.RETURNED)
        end(session, outcome)
