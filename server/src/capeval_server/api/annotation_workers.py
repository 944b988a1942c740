"""Operations on the workers of a campaign: invitations, blocks and payments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Schema, Status
from pydantic import Field

from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import LONGEST_NOTE, Campaign, Participation
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.review.review_requests import request_worker_reviews
from capeval_server.annotation.review.worker_signals import WorkerSignal
from capeval_server.annotation.review.worker_summaries import (
    Proportion,
    WorkerSummary,
    measure_consistency,
    summarize_workers,
)
from capeval_server.annotation.workers import enrollment, payments, training
from capeval_server.annotation.workers.bonuses import bonuses_csv
from capeval_server.annotation.workers.mailboxes import find_same_mailboxes
from capeval_server.annotation.workers.trust import is_trusted
from capeval_server.api.annotation_common import PAGE_SIZE, Start, create_router, find_row, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.core.errors import NotFoundError

__all__ = ["router"]

router = create_router()
Reason = Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")]


class Invites(RequestBody):
    """Number of invite tokens to create."""

    number: Annotated[int, Field(ge=1, le=enrollment.MOST_INVITES)] = 1


class Tokens(Schema):
    """Invite tokens, shown once."""

    tokens: list[str]


class CampaignWorker(Schema):
    """A worker, identified by pseudonym.

    `repeats` is the number of items that were shown to the worker again, mirrored. `repeated` is how many of
    them the worker answered as before. `same_mailbox` lists the pseudonyms of other workers whose accounts
    have an email address of the same mailbox.
    """

    pseudonym: str
    stage: str
    answered: int
    judged: int
    fine: int
    trusted: bool
    repeats: int
    repeated: int
    same_mailbox: list[str]


class Workers(Schema):
    """A range of the workers, in the order of arrival. `count` is their total number."""

    count: int
    workers: list[CampaignWorker]


@derived_from(Proportion)
class ProportionAnswer(Schema):
    """Share of some answers: `number` of `of`."""


@derived_from(WorkerSignal)
class WorkerSignalAnswer(Schema):
    """Reason to look at the answers of a worker. It never rejects an answer or blocks a worker."""


@derived_from(WorkerSummary, without=("participation",))
class WorkerStatistics(Schema):
    """Quality statistics of a worker."""

    pseudonym: str
    stage: str

    @staticmethod
    def resolve_pseudonym(summary: WorkerSummary) -> str:
        """Return the pseudonym."""
        return summary.participation.worker.pseudonym

    @staticmethod
    def resolve_stage(summary: WorkerSummary) -> str:
        """Return the stage."""
        return summary.participation.stage


class Statistics(Schema):
    """A range of the workers after consent. `count` is their total number."""

    count: int
    workers: list[WorkerStatistics]


class ActionReason(RequestBody):
    """Reason for an action on a worker."""

    reason: Reason


@derived_from(moderation.BlockEffect)
class BlockEffectAnswer(Schema):
    """Effect of a block."""


@derived_from(withdrawal.WithdrawalEffect)
class Removal(Schema):
    """Effect of a withdrawal: the numbers of answers removed and in frozen releases."""


class Account(RequestBody):
    """User account of a worker with an invite link or from a panel."""

    user: Slug


class LinkEffect(Schema):
    """Effect of linking an account.

    `blocked` is whether the worker was blocked, because the account takes part in the challenge whose
    captions are judged. `answers` is the number of answers excluded by the block.
    """

    blocked: bool
    answers: int


class SentToReview(Schema):
    """Number of answers that were sent to review."""

    answers: int


class Restored(Schema):
    """Number of answers that count again."""

    answers: int


def _get_worker(campaign: Campaign, pseudonym: str) -> Participation:
    rows = campaign.participations.select_related("worker", "campaign")
    return find_row(rows, f"worker {pseudonym!r}", worker__pseudonym=pseudonym)


def _serialize_worker(
    worker: Participation,
    repeats: Mapping[int, tuple[Proportion, int]],
    mailboxes: Mapping[int, list[str]],
) -> dict[str, Any]:
    again = repeats[worker.pk][0] if worker.pk in repeats else None
    return {
        "repeats": again.of if again else 0,
        "repeated": again.number if again else 0,
        "same_mailbox": mailboxes.get(worker.pk, []),
        "pseudonym": worker.worker.pseudonym,
        "trusted": is_trusted(worker, get_options(worker.campaign)),
        **{name: getattr(worker, name) for name in ("stage", "answered", "judged", "fine")},
    }


@router.get("/{slug}/payments", response={200: Any, (403, 404): Problem})
def payment_lines(request: HttpRequest, slug: Slug) -> Any:
    """Export the payments due to each worker as CSV.

    The download is recorded in the history.
    """
    text = payments.payments_csv(token_of(request).user, get_campaign(request, slug))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="payments-{slug}.csv"'
    return answer


@router.get("/{slug}/bonuses", response={200: Any, (403, 404, 422): Problem})
def bonus_lines(request: HttpRequest, slug: Slug) -> Any:
    """Export the bonuses due to workers of Mechanical Turk as CSV.

    The download is recorded in the history.
    """
    text = bonuses_csv(token_of(request).user, get_campaign(request, slug))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="bonuses-{slug}.csv"'
    return answer


@router.post("/{slug}/invites", response={201: Tokens, (403, 404, 422): Problem})
def invite(request: HttpRequest, slug: Slug, wanted: Invites) -> Any:
    """Create invite tokens, one per person. They are returned only once."""
    tokens = enrollment.invite(token_of(request).user, get_campaign(request, slug), wanted.number)
    return Status(201, {"tokens": tokens})


@router.get("/{slug}/workers", response={200: Workers, (403, 404): Problem})
def workers(request: HttpRequest, slug: Slug, start: Start = 0) -> Any:
    """List up to 200 workers from the position `start`."""
    campaign = get_campaign(request, slug)
    found = campaign.participations.select_related("worker", "campaign").order_by("pk")
    repeats, mailboxes = measure_consistency(campaign), find_same_mailboxes(campaign)
    rows = [_serialize_worker(one, repeats, mailboxes) for one in found[start : start + PAGE_SIZE]]
    return {"count": found.count(), "workers": rows}


@router.get("/{slug}/workers/statistics", response={200: Statistics, (403, 404): Problem})
def statistics(request: HttpRequest, slug: Slug, start: Start = 0) -> Any:
    """Return the quality statistics of up to 200 workers from the position `start`."""
    found = summarize_workers(get_campaign(request, slug))
    return {"count": len(found), "workers": found[start : start + PAGE_SIZE]}


@router.get("/{slug}/workers/{pseudonym}/block", response={200: BlockEffectAnswer, (403, 404): Problem})
def effect_of_blocking(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Return the effect that blocking a worker would have."""
    return moderation.effect_of_blocking(_get_worker(get_campaign(request, slug), pseudonym))


@router.post("/{slug}/workers/{pseudonym}/block", response={200: BlockEffectAnswer, (403, 404, 422): Problem})
def block(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Block a worker. Their answers no longer count."""
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    return moderation.block(token_of(request).user, worker, why.reason)[1]


@router.post("/{slug}/workers/{pseudonym}/lift", response={200: Restored, (403, 404, 422): Problem})
def lift(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Lift a block.

    The worker's answers count again if their items still need answers.
    """
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    return {"answers": moderation.unblock(token_of(request).user, moderation.get_block(worker), why.reason)}


@router.post("/{slug}/workers/{pseudonym}/resume", response={200: CampaignWorker, (403, 404, 422): Problem})
def resume(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Resume a worker after a pause for failed attention checks."""
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    resumed = training.resume(token_of(request).user, worker, why.reason)
    repeats = measure_consistency(worker.campaign, resumed)
    return _serialize_worker(resumed, repeats, find_same_mailboxes(worker.campaign))


@router.post("/{slug}/workers/{pseudonym}/reviews", response={200: SentToReview, (403, 404, 422): Problem})
def request_reviews(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Send the answers of a worker to review that have no verdict yet."""
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    return {"answers": request_worker_reviews(token_of(request).user, worker)}


@router.post("/{slug}/workers/{pseudonym}/revoke", response={204: None, (403, 404): Problem})
def revoke(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Revoke the invite link of a worker. Their answers are kept."""
    enrollment.revoke(token_of(request).user, _get_worker(get_campaign(request, slug), pseudonym))
    return Status(204, None)


@router.put("/{slug}/workers/{pseudonym}/account", response={200: LinkEffect, (403, 404, 422): Problem})
def link_account(request: HttpRequest, slug: Slug, pseudonym: Slug, known: Account) -> Any:
    """Link a worker to a user account.

    A worker who takes part in the challenge cannot judge its captions, and is blocked.
    """
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    account = User.objects.filter(username=known.user).first()
    if account is None:
        raise NotFoundError(f"there is no user {known.user!r}")
    effect = moderation.link_account(token_of(request).user, worker, account)
    return {"blocked": effect is not None, "answers": effect.answers if effect else 0}


@router.get("/{slug}/workers/{pseudonym}/withdraw", response={200: Removal, (403, 404): Problem})
def effect_of_withdrawing(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Return the effect that withdrawing a worker would have."""
    return withdrawal.effect_of_withdrawing(_get_worker(get_campaign(request, slug), pseudonym))


@router.post("/{slug}/workers/{pseudonym}/withdraw", response={200: Removal, (403, 404, 409): Problem})
def withdraw(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Withdraw a worker permanently, at their request.

    Texts that are not in a frozen release are removed.
    """
    worker = _get_worker(get_campaign(request, slug), pseudonym)
    return withdrawal.withdraw(token_of(request).user, worker)
