"""Withdrawal from a campaign: removal of the person's texts and identity.

Frozen releases keep their answers, because their files never change, under a pseudonym that identifies
nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from capeval_server.annotation.core.departures import check_not_withdrawn, departure_digest
from capeval_server.annotation.core.locks import lock_participation
from capeval_server.annotation.models import (
    Departure,
    Draft,
    Exclusion,
    Participation,
    Report,
    Response,
    Session,
    Worker,
)
from capeval_server.annotation.review.moderation import exclude_answers
from capeval_server.annotation.workers.panels import end, open_session
from capeval_server.audit.models import COMMAND_LINE, Action
from capeval_server.jobs.leases import database_time

__all__ = ["WithdrawalEffect", "effect_of_withdrawing", "withdraw"]

_REASON = "withdrew"


@dataclass(frozen=True, kw_only=True)
class WithdrawalEffect:
    """Effect of a withdrawal.

    Attributes:
        removed: Number of answers whose text is removed, including replaced revisions.
        frozen: Number of answers in frozen releases, which stay there without an identity.
    """

    removed: int
    frozen: int


def effect_of_withdrawing(participation: Participation) -> WithdrawalEffect:
    """Return the expected effect of a worker's withdrawal."""
    return WithdrawalEffect(
        removed=_list_removable(participation).count(),
        frozen=participation.responses.filter(releases__isnull=False).distinct().count(),
    )


def _list_removable(participation: Participation) -> QuerySet[Response]:
    return participation.responses.filter(releases=None, redacted="")


def withdraw(user: User | None, participation: Participation, *, by_worker: bool = False) -> WithdrawalEffect:
    """Withdraw a worker from a campaign permanently.

    None of their answers counts any more, and their slots are freed. The text of each answer that is in no
    frozen release is removed, as are drafts and notes. Account, invite link and panel identity are detached
    from the pseudonym.

    Args:
        user: The user who does it for the worker; None for the command line.
        participation: The worker in the campaign.
        by_worker: Whether the worker does it; then no user is recorded.

    Raises:
        AssignmentError: The worker has already withdrawn.
    """
    with transaction.atomic():
        others = _lock_others(participation)
        now = lock_participation(participation)
        check_not_withdrawn(now)
        effect = effect_of_withdrawing(now)
        who = f"worker {now.worker}" if by_worker else COMMAND_LINE if user is None else user.username
        _exclude(now, None if by_worker else user, who)
        _remove_texts(now)
        _detach_identity(now, others)
        what = f"withdrew the worker {now.worker} from the campaign {now.campaign.slug}"
        counts = f"{effect.removed} answers removed, {effect.frozen} in frozen releases"
        Action.objects.create(
            challenge=now.campaign.challenge,
            user=None if by_worker else user,
            who=who,
            what=f"{what} ({counts})",
        )
    return effect


def _lock_others(participation: Participation) -> list[Participation]:
    """Lock all participations of the worker in order, and return the other ones."""
    while True:
        worker = Participation.objects.values("worker").get(pk=participation.pk)["worker"]
        rows = Participation.objects.select_for_update(no_key=True).filter(worker=worker)
        found = {one.pk: one for one in rows.order_by("pk")}
        # While the locks were awaited, another withdrawal may have moved this participation to a different
        # worker.
        if found.pop(participation.pk, None) is not None:
            return list(found.values())


def _exclude(participation: Participation, user: User | None, who: str) -> None:
    """Exclude all answers of the worker; an existing block remains in force."""
    if not Exclusion.objects.filter(participation=participation, lifted=None).exists():
        Exclusion.objects.create(
            campaign=participation.campaign,
            participation=participation,
            reason=_REASON,
            person=user,
            who=who,
            time=database_time(),
        )
    participation.stage = Participation.Stage.WITHDREW
    participation.save(update_fields=["stage"])
    session = open_session(participation)
    if session is not None:
        end(session, Session.Outcome.WITHDREW)
    exclude_answers(participation)


def _remove_texts(participation: Participation) -> None:
    _list_removable(participation).update(answer={}, rules={}, events={}, redacted=_REASON)
    Draft.objects.filter(assignment__participation=participation).delete()
    Report.objects.filter(assignment__participation=participation).exclude(note="").update(note="")
    participation.assignments.exclude(reason="").update(reason="")


def _detach_identity(participation: Participation, others: list[Participation]) -> None:
    """Detach the person's identity from the pseudonym.

    The work in other campaigns continues under a new pseudonym that can't be linked to the old one, which
    frozen files may contain.
    """
    worker = participation.worker
    Departure.objects.bulk_create(
        (
            Departure(campaign=participation.campaign, digest=digest)
            for digest in _iterate_digests(participation)
        ),
        ignore_conflicts=True,
    )
    known = {"user": worker.user, "account": worker.account, "digest": worker.digest}
    Worker.objects.filter(pk=worker.pk).update(user=None, account=None, digest=None)
    participation.sessions.update(study=None, session=None)
    if others:
        heir = Worker.objects.create(**known)
        Participation.objects.filter(pk__in=[one.pk for one in others]).update(worker=heir)
        worker.identities.update(worker=heir)
    else:
        worker.identities.all().delete()


def _iterate_digests(participation: Participation) -> Iterator[str]:
    worker, campaign = participation.worker, participation.campaign
    if worker.user_id is not None:
        yield departure_digest(campaign, f"user {worker.user_id}")
    if worker.digest is not None:
        yield departure_digest(campaign, f"link {worker.digest}")
    for identity in worker.identities.all():
        yield departure_digest(campaign, f"panel {identity.panel} {identity.panel_id}")
