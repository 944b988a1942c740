"""Leaving a campaign for good: the person's texts are removed, and so is what ties the rest to the person.

What is part of a frozen release stays in its files, which never change, under a pseudonym that names nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from capeval_server.annotation.core.departures import check_here, departure_digest
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
from capeval_server.annotation.review.moderation import take_out
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
    """What the withdrawal of a worker would do."""
    return WithdrawalEffect(
        removed=_removable(participation).count(),
        frozen=participation.responses.filter(releases__isnull=False).distinct().count(),
    )


def _removable(participation: Participation) -> QuerySet[Response]:
    return participation.responses.filter(releases=None, redacted="")


def withdraw(user: User | None, participation: Participation, *, by_worker: bool = False) -> WithdrawalEffect:
    """Takes a worker out of a campaign for good.

    None of their answers counts any more, and their slots are free again. The text of each answer that is in
    no frozen release is removed; so are drafts and notes. Account, link and panel identity are taken off the
    pseudonym.

    Args:
        user: Who does it for the worker; none for the command line.
        participation: The worker in the campaign.
        by_worker: Whether the worker does it themselves; then nobody else is named.

    Raises:
        AssignmentError: They have left already.
    """
    with transaction.atomic():
        others = _locked_others(participation)
        now = lock_participation(participation)
        check_here(now)
        effect = effect_of_withdrawing(now)
        who = f"worker {now.worker}" if by_worker else COMMAND_LINE if user is None else user.username
        _exclude(now, None if by_worker else user, who)
        _remove_texts(now)
        _forget(now, others)
        what = f"withdrew the worker {now.worker} from the campaign {now.campaign.slug}"
        counts = f"{effect.removed} answers removed, {effect.frozen} in frozen releases"
        Action.objects.create(
            challenge=now.campaign.challenge,
            user=None if by_worker else user,
            who=who,
            what=f"{what} ({counts})",
        )
    return effect


def _locked_others(participation: Participation) -> list[Participation]:
    """The worker's participations in other campaigns; all are locked, in their order, with this one."""
    while True:
        worker = Participation.objects.values("worker").get(pk=participation.pk)["worker"]
        rows = Participation.objects.select_for_update(no_key=True).filter(worker=worker)
        found = {one.pk: one for one in rows.order_by("pk")}
        # While the rows were awaited, another withdrawal may have given this one to another worker.
        if found.pop(participation.pk, None) is not None:
            return list(found.values())


def _exclude(participation: Participation, user: User | None, who: str) -> None:
    """Takes all their answers out of what counts; somebody who is blocked stays excluded by that."""
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
    take_out(participation)


def _remove_texts(participation: Participation) -> None:
    _removable(participation).update(answer={}, rules={}, events={}, redacted=_REASON)
    Draft.objects.filter(assignment__participation=participation).delete()
    Report.objects.filter(assignment__participation=participation).exclude(note="").update(note="")
    participation.assignments.exclude(reason="").update(reason="")


def _forget(participation: Participation, others: list[Participation]) -> None:
    """Takes what names the person off their pseudonym.

    What they do in other campaigns goes on under a new pseudonym, which nothing ties to the old one: the old
    one stands in files that are frozen.
    """
    worker = participation.worker
    Departure.objects.bulk_create(
        (Departure(campaign=participation.campaign, digest=digest) for digest in _digests(participation)),
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


def _digests(participation: Participation) -> Iterator[str]:
    worker, campaign = participation.worker, participation.campaign
    if worker.user_id is not None:
        yield departure_digest(campaign, f"user {worker.user_id}")
    if worker.digest is not None:
        yield departure_digest(campaign, f"link {worker.digest}")
    for identity in worker.identities.all():
        yield departure_digest(campaign, f"panel {identity.panel} {identity.panel_id}")
