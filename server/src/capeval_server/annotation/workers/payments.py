"""Payments that are due to workers, as CSV. The server transfers no money."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db.models import OuterRef, QuerySet, Subquery
from pydantic import ValidationError

from capeval.toolkit import escape_row
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, Identity, Participation, Response, Review, Session
from capeval_server.annotation.workers.mailboxes import find_same_mailboxes
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError
from capeval_server.core.validation_problems import list_problems

__all__ = ["PaymentRow", "lines", "measure_work", "payments_csv", "set_rate"]


@dataclass(frozen=True, kw_only=True)
class PaymentRow:
    """Work of a worker in a session, or in total for workers without a panel.

    Attributes:
        worker: Pseudonym.
        panel: Panel that sent the worker; empty for workers without a panel, and after a withdrawal.
        panel_id: The panel's id of the worker.
        study: The panel's id of the study.
        session: The panel's id of the session.
        outcome: Outcome of the session; for workers without a panel, their stage.
        answers: Number of answered items, including checks and items answered too late to count.
        rejected: Number of these answers that a reviewer rejected.
        seconds: Time from the assignment of each batch to its last answer, in seconds.
        amount: Payment for the answers at the campaign's rate; empty if it has none.
        currency: Currency of the rate.
        same_mailbox: Pseudonyms of other workers whose accounts have an address of the same mailbox.
    """

    worker: str
    panel: str
    panel_id: str
    study: str
    session: str
    outcome: str
    answers: int
    rejected: int
    seconds: int
    amount: str
    currency: str
    same_mailbox: str


@dataclass(frozen=True)
class _Answer:
    batch: int
    opened: datetime
    received: datetime
    rejected: bool


def set_rate(user: User | None, campaign: Campaign, pay_per_answer: str, currency: str) -> Campaign:
    """Set the pay per answer.

    Raises:
        CampaignError: The amount or the currency is invalid.
    """
    with held(campaign) as now:
        wanted = {**now.settings, "pay_per_answer": pay_per_answer, "currency": currency}
        try:
            now.settings = CampaignOptions.model_validate(wanted).model_dump()
        except ValidationError as error:
            raise CampaignError("; ".join(list_problems(error))) from None
        now.save(update_fields=["settings"])
        what = f"set the pay per answer in the campaign {now.slug} to {pay_per_answer} {currency}"
        record(user, now.challenge, what)
    return now


def payments_csv(user: User | None, campaign: Campaign) -> str:
    """Return the payments of all workers with answers as CSV, and log the download."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([field.name for field in fields(PaymentRow)])
    for line in lines(campaign):
        # The ids come from URLs that anybody can write, so formulas are escaped.
        writer.writerow(escape_row(asdict(line).values()))
    record(user, campaign.challenge, f"downloaded the payments of the campaign {campaign.slug}")
    return out.getvalue()


def lines(campaign: Campaign) -> Iterator[PaymentRow]:
    """Yield the payment rows of a campaign, by worker and session in order of arrival."""
    options = get_options(campaign)
    answers = _load_answers(Response.objects.filter(item__campaign=campaign))
    mailboxes = find_same_mailboxes(campaign)
    workers = campaign.participations.select_related("worker").prefetch_related("sessions")
    identities: dict[int, Identity] = {}
    for identity in Identity.objects.filter(worker__participations__campaign=campaign).order_by("pk"):
        identities.setdefault(identity.worker_id, identity)
    for one in workers.order_by("pk"):
        mine, same = answers.get(one.pk, []), " ".join(mailboxes.get(one.pk, []))
        sessions = sorted(one.sessions.all(), key=lambda session: session.pk)
        if not sessions and mine:
            yield _build_row(one, None, None, mine, options, same)
        for place, session in enumerate(sessions):
            until = sessions[place + 1].entered if place + 1 < len(sessions) else None
            within = [
                answer
                for answer in mine
                if session.entered <= answer.received and (until is None or answer.received < until)
            ]
            yield _build_row(one, session, identities.get(one.worker_id), within, options, same)


def measure_work(participation: Participation) -> tuple[int, str]:
    """Return the time of a worker in a campaign, in seconds, and the pay at the campaign's rate.

    The pay contains its currency. It is empty without a rate.
    """
    options = get_options(participation.campaign)
    answers = _load_answers(Response.objects.filter(participation=participation)).get(participation.pk, [])
    pay = ""
    if options.pay_per_answer and answers:
        pay = f"{len(answers) * Decimal(options.pay_per_answer)} {options.currency}".strip()
    return _sum_seconds(answers, options), pay


def _load_answers(responses: QuerySet[Response]) -> dict[int, list[_Answer]]:
    """Return the first answers to items among responses, by participation."""
    verdicts = Review.objects.filter(response__assignment=OuterRef("assignment")).order_by("-pk")
    rows = responses.filter(revision=1)
    names = ("participation_id", "assignment__batch", "assignment__opened", "received", "verdict")
    found: dict[int, list[_Answer]] = {}
    named = rows.annotate(verdict=Subquery(verdicts.values("verdict")[:1])).order_by("pk")
    for participation, batch, opened, received, verdict in named.values_list(*names).iterator():
        rejected = verdict == Review.Verdict.REJECTED
        found.setdefault(participation, []).append(_Answer(batch, opened, received, rejected))
    return found


def _build_row(
    participation: Participation,
    session: Session | None,
    identity: Identity | None,
    answers: list[_Answer],
    options: CampaignOptions,
    same_mailbox: str,
) -> PaymentRow:
    rate = options.pay_per_answer
    return PaymentRow(
        worker=participation.worker.pseudonym,
        panel=identity.panel if identity else "",
        panel_id=identity.panel_id if identity else "",
        study=(session.study or "") if session else "",
        session=(session.session or "") if session else "",
        outcome=session.outcome if session else participation.stage,
        answers=len(answers),
        rejected=sum(answer.rejected for answer in answers),
        seconds=_sum_seconds(answers, options),
        amount=str(len(answers) * Decimal(rate)) if rate else "",
        currency=options.currency,
        same_mailbox=same_mailbox,
    )


def _sum_seconds(answers: list[_Answer], options: CampaignOptions) -> int:
    """Return the total time of all batches, in seconds.

    Each batch counts at most as the longest lease, because the work after that time is unknown.
    """
    batches: dict[int, tuple[datetime, datetime]] = {}
    for answer in answers:
        first, last = batches.get(answer.batch, (answer.opened, answer.received))
        batches[answer.batch] = (min(first, answer.opened), max(last, answer.received))
    longest = options.longest_lease_seconds
    return sum(
        min(max(round((last - first).total_seconds()), 0), longest) for first, last in batches.values()
    )
