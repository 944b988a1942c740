"""Operations for campaign managers. They return 404 to everyone else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field, create_model

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.consent import change_texts
from capeval_server.annotation.campaigns.creation import make_from_texts
from capeval_server.annotation.campaigns.definition import LONGEST_MARKDOWN
from capeval_server.annotation.campaigns.progress import CampaignProgress, get_progress
from capeval_server.annotation.core.options import (
    MOST_ANSWERS,
    QUALITY_SETTINGS,
    CampaignOptions,
    get_options,
)
from capeval_server.annotation.models import LONGEST_NOTE, Campaign, Exclusion, Item, Participation, Response
from capeval_server.annotation.responses.content_warnings import LONGEST_WARNING, set_warning
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.review.worker_summaries import Proportion, measure_consistency
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.annotation.text_rules.validation import settings_of
from capeval_server.annotation.workers import enrollment, panels, payments, training
from capeval_server.annotation.workers.trust import is_trusted, trust_warnings
from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Number, Slug
from capeval_server.api.schemas import Problem
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Campaigns"])
_PAGE_SIZE = 200
Reason = Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")]
Start = Annotated[int, Query(ge=0, le=10**9)]


class Files(Schema):
    """Contents of a campaign's files: `campaign.toml`, and the files that it names."""

    files: dict[str, str]


class CampaignAnswer(Schema):
    """A campaign.

    `warnings` lists settings that conflict with the number of items or attention checks.
    """

    slug: str
    title: str
    kind: str
    state: str
    settings: dict[str, Any]
    warnings: list[str]

    @staticmethod
    def resolve_warnings(campaign: Campaign) -> list[str]:
        """Return the warnings about a campaign."""
        return trust_warnings(campaign)


@derived_from(CampaignProgress)
class CampaignStatus(Schema):
    """Progress of a campaign."""


class CampaignStateChange(Schema):
    """State of a campaign. Reopening a closed campaign requires a reason."""

    state: Literal["draft", "pilot", "open", "paused", "closing", "closed"]
    reason: Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")] = ""


def _describe_option(name: str) -> dict[str, Any]:
    """Return the title and the description of an option."""
    about = CampaignOptions.described()[name]
    return {"title": about["title"], "description": about["description"]}


def _optional_field(name: str) -> tuple[Any, Any]:
    """Return the optional schema field of a campaign option."""
    kind: Any = CampaignOptions.model_fields[name].annotation
    return kind | None, Field(None, **_describe_option(name))


def with_quality_settings(schema: type[Schema]) -> type[Schema]:
    """Add the quality settings to a schema as optional fields."""
    fields: dict[str, Any] = {name: _optional_field(name) for name in QUALITY_SETTINGS}
    return create_model(
        schema.__name__, __base__=schema, __doc__=schema.__doc__, __module__=schema.__module__, **fields
    )


class Answers(Schema):
    """Number of answers that each item needs."""

    answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS, **_describe_option("answers"))]


@with_quality_settings
class QualitySettingsChange(Schema):
    """New values of quality settings. Omitted settings keep their values."""

    model_config = ConfigDict(extra="forbid")


class QualityChange(Schema):
    """A change of quality settings, with old and new values."""

    time: datetime
    who: str
    what: str


class QualityAnswer(Schema):
    """All quality settings, with warnings and the change history, latest first."""

    settings: dict[str, Any]
    warnings: list[str]
    changes: list[QualityChange]


class RuleChange(Schema):
    """Rules for captions.

    `rules` contains the levels that differ from the defaults, by rule, and the word lists `known_words` and
    `blocked_words`.
    """

    rules: dict[str, Literal["off", "hint", "confirm", "block"] | list[str]]


class RulesAnswer(Schema):
    """Rules for captions with their version, and the level of each rule."""

    version: int
    rules: dict[str, Any]
    levels: dict[str, str]


class Invites(Schema):
    """Number of invite tokens to create."""

    number: Annotated[int, Field(ge=1, le=enrollment.MOST_INVITES)] = 1


class Tokens(Schema):
    """Invite tokens, shown once."""

    tokens: list[str]


class CampaignWorker(Schema):
    """A worker, identified by pseudonym.

    `repeats` is the number of items that were shown to the worker again, mirrored. `repeated` is how many of
    them the worker answered as before.
    """

    pseudonym: str
    stage: str
    answered: int
    judged: int
    fine: int
    trusted: bool
    repeats: int
    repeated: int


class Workers(Schema):
    """A range of the workers, in the order of arrival. `count` is their total number."""

    count: int
    workers: list[CampaignWorker]


class ActionReason(Schema):
    """Reason for an action on a worker."""

    reason: Reason


@derived_from(moderation.BlockEffect)
class BlockEffectAnswer(Schema):
    """Effect of a block."""


class Texts(Schema):
    """A version of the instructions and the consent text, in Markdown."""

    number: int
    instructions: str
    consent: str


class NewTexts(Schema):
    """New instructions or consent text. Omitted texts stay unchanged."""

    instructions: Annotated[str, Field(max_length=LONGEST_MARKDOWN)] | None = None
    consent: Annotated[str, Field(max_length=LONGEST_MARKDOWN)] | None = None


@derived_from(withdrawal.WithdrawalEffect)
class Removal(Schema):
    """Effect of a withdrawal: the numbers of answers removed and in frozen releases."""


class Rate(Schema):
    """Pay per answer with its currency, such as 0.12 and EUR."""

    pay_per_answer: Annotated[str, Field(max_length=20, **_describe_option("pay_per_answer"))]
    currency: Annotated[str, Field(max_length=3, **_describe_option("currency"))]


class ContentWarning(Schema):
    """Content warning of an image. An empty text means no warning."""

    image: Annotated[str, Field(max_length=200)]
    warning: Annotated[str, Field(max_length=LONGEST_WARNING)]


class HoldChange(Schema):
    """An item by its key, whether to put it on hold, and the reason for a hold."""

    item: Annotated[str, Field(max_length=100)]
    held: bool
    reason: Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")] = ""


class ItemOnHold(Schema):
    """An item on hold, the reason, and the releases that contain answers to it."""

    item: str = Field(validation_alias="key")
    is_check: bool
    reason: str = Field(validation_alias="held_reason")
    releases: list[str]

    @staticmethod
    def resolve_releases(item: Item) -> tuple[str, ...]:
        """Return the names of the releases that contain answers to the item."""
        return moderation.releases_of(item)


class ItemsOnHold(Schema):
    """The first 200 items on hold. `count` is their total number."""

    count: int
    items: list[ItemOnHold]


class Account(Schema):
    """User account of a worker with an invite link or from a panel."""

    user: Slug


class LinkEffect(Schema):
    """Effect of linking an account.

    `blocked` is whether the worker was blocked, because the account takes part in the challenge whose
    captions are judged. `answers` is the number of answers excluded by the block.
    """

    blocked: bool
    answers: int


class Restored(Schema):
    """Number of answers that count again."""

    answers: int


class ReviewItem(Schema):
    """An answer to review. It does not identify the worker."""

    id: int
    reasons: list[str]
    item: dict[str, Any]
    answer: dict[str, Any]


class Queue(Schema):
    """The first 200 answers to review, earliest first. `count` is their total number."""

    count: int
    answers: list[ReviewItem]


class Verdict(Schema):
    """Decision of a reviewer."""

    verdict: Literal["fine", "rejected"]
    reason: Literal["", "wrong image", "rule broken", "nonsense", "copied", "other language", "offensive"] = (
        ""
    )
    note: Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")] = ""


class Reviewed(Schema):
    """Number of answers left to review."""

    waiting: int


def _get_campaign(request: HttpRequest, slug: str) -> Campaign:
    return lifecycle.get_managed_campaign(token_of(request).user, slug)


def _get_worker(campaign: Campaign, pseudonym: str) -> Participation:
    rows = campaign.participations.select_related("worker", "campaign")
    return get_object_or_404(rows, worker__pseudonym=pseudonym)


def _serialize_worker(worker: Participation, repeats: Mapping[int, tuple[Proportion, int]]) -> dict[str, Any]:
    again = repeats[worker.pk][0] if worker.pk in repeats else None
    return {
        "repeats": again.of if again else 0,
        "repeated": again.number if again else 0,
        "pseudonym": worker.worker.pseudonym,
        "trusted": is_trusted(worker, get_options(worker.campaign)),
        **{name: getattr(worker, name) for name in ("stage", "answered", "judged", "fine")},
    }


@router.post("", response={201: CampaignAnswer, (403, 404, 422): Problem})
@accepts_uploads
def create(request: HttpRequest, given: Files) -> Any:
    """Create a campaign as a draft."""
    return Status(201, make_from_texts(token_of(request).user, given.files))


@router.get("/{slug}", response={200: CampaignStatus, (403, 404): Problem})
def status(request: HttpRequest, slug: Slug) -> Any:
    """Return the progress of a campaign, and the obstacles to it."""
    return get_progress(_get_campaign(request, slug))


@router.put("/{slug}/state", response={200: CampaignAnswer, (403, 404, 422): Problem})
def change_state(request: HttpRequest, slug: Slug, wanted: CampaignStateChange) -> Any:
    """Change the state of a campaign, for example open, pause or close it.

    The state `pilot` is a preview, in which no answers count.
    """
    found = _get_campaign(request, slug)
    return lifecycle.change_state(token_of(request).user, found, wanted.state, reason=wanted.reason)


@router.put("/{slug}/answers", response={200: CampaignAnswer, (403, 404, 422): Problem})
def set_answers(request: HttpRequest, slug: Slug, wanted: Answers) -> Any:
    """Set the number of answers that each item needs."""
    return lifecycle.set_answers(token_of(request).user, _get_campaign(request, slug), wanted.answers)


def _serialize_quality(campaign: Campaign) -> dict[str, Any]:
    return {
        "settings": lifecycle.quality_settings(campaign),
        "warnings": trust_warnings(campaign),
        "changes": lifecycle.quality_changes(campaign),
    }


@router.get("/{slug}/quality", response={200: QualityAnswer, (403, 404): Problem})
def quality_settings(request: HttpRequest, slug: Slug) -> Any:
    """Return the quality settings."""
    return _serialize_quality(_get_campaign(request, slug))


@router.put("/{slug}/quality", response={200: QualityAnswer, (403, 404, 422): Problem})
def set_quality(request: HttpRequest, slug: Slug, wanted: QualitySettingsChange) -> Any:
    """Change quality settings, even of an open campaign.

    Each change is recorded in the history.
    """
    changes = wanted.model_dump(exclude_none=True)
    return _serialize_quality(
        lifecycle.set_quality(token_of(request).user, _get_campaign(request, slug), changes)
    )


def _serialize_rules(campaign: Campaign) -> dict[str, Any]:
    texts = enrollment.latest_texts(campaign)
    settings = settings_of(texts)
    levels = {rule.name: settings.level(rule) for rule in RULES.values()}
    return {"version": texts.number, "rules": texts.rules, "levels": levels}


@router.get("/{slug}/rules", response={200: RulesAnswer, (403, 404): Problem})
def rules(request: HttpRequest, slug: Slug) -> Any:
    """Return the rules for captions."""
    return _serialize_rules(_get_campaign(request, slug))


@router.put("/{slug}/rules", response={200: RulesAnswer, (403, 404, 422): Problem})
def set_rules(request: HttpRequest, slug: Slug, wanted: RuleChange) -> Any:
    """Set the rules for captions, as a new version of the texts.

    Existing answers keep the rules under which they were written.
    """
    campaign = _get_campaign(request, slug)
    lifecycle.set_rules(token_of(request).user, campaign, wanted.rules)
    return _serialize_rules(campaign)


@router.get("/{slug}/texts", response={200: Texts, (403, 404): Problem})
def texts(request: HttpRequest, slug: Slug) -> Any:
    """Return the current instructions and consent text."""
    return enrollment.latest_texts(_get_campaign(request, slug))


@router.put("/{slug}/texts", response={200: Texts, (403, 404, 422): Problem})
def set_texts(request: HttpRequest, slug: Slug, wanted: NewTexts) -> Any:
    """Create a new version of the texts. Workers must agree to it to get more items."""
    campaign = _get_campaign(request, slug)
    user = token_of(request).user
    return change_texts(user, campaign, instructions=wanted.instructions, consent=wanted.consent)


@router.get("/{slug}/panel", response={200: panels.PanelSettings, (403, 404): Problem})
def panel(request: HttpRequest, slug: Slug) -> Any:
    """Return the settings of the panel that sends workers, with the completion codes."""
    return panels.panel_settings(_get_campaign(request, slug))


@router.put("/{slug}/panel", response={200: panels.PanelSettings, (403, 404, 422): Problem})
def set_panel(request: HttpRequest, slug: Slug, wanted: panels.PanelSettings) -> Any:
    """Set the panel that sends workers.

    The settings are its parameters, its keys if it signs the parameters, and the completion codes.
    """
    given = wanted.model_dump(exclude_unset=True)
    return panels.set_panel(token_of(request).user, _get_campaign(request, slug), given)


@router.put("/{slug}/warnings", response={200: ContentWarning, (403, 404, 422): Problem})
def warn(request: HttpRequest, slug: Slug, wanted: ContentWarning) -> Any:
    """Set the content warning of an image, by the name of the image.

    An image with a warning is hidden until the worker chooses to see it.
    """
    image = set_warning(token_of(request).user, _get_campaign(request, slug), wanted.image, wanted.warning)
    return {"image": image.name, "warning": image.warning}


@router.get("/{slug}/held", response={200: ItemsOnHold, (403, 404): Problem})
def list_items_on_hold(request: HttpRequest, slug: Slug) -> Any:
    """List the items on hold, with the reasons."""
    found = _get_campaign(request, slug).items.filter(held=True, repeats=None).order_by("pk")
    return {"count": found.count(), "items": found[:_PAGE_SIZE]}


@router.put("/{slug}/held", response={200: ItemOnHold, (403, 404, 422): Problem})
def hold(request: HttpRequest, slug: Slug, wanted: HoldChange) -> Any:
    """Put an item on hold, or release it.

    The response lists the campaign releases that contain answers to the item.
    """
    found = get_object_or_404(_get_campaign(request, slug).items, key=wanted.item, repeats=None)
    moderation.set_hold(token_of(request).user, found, held=wanted.held, reason=wanted.reason)
    found.refresh_from_db()
    return found


@router.put("/{slug}/rate", response={200: CampaignAnswer, (403, 404, 422): Problem})
def set_rate(request: HttpRequest, slug: Slug, wanted: Rate) -> Any:
    """Set the pay per answer."""
    user = token_of(request).user
    return payments.set_rate(user, _get_campaign(request, slug), wanted.pay_per_answer, wanted.currency)


@router.get("/{slug}/payments", response={200: Any, (403, 404): Problem})
def payment_lines(request: HttpRequest, slug: Slug) -> Any:
    """Export the payments due to each worker as CSV.

    The download is recorded in the history.
    """
    text = payments.payments_csv(token_of(request).user, _get_campaign(request, slug))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="payments-{slug}.csv"'
    return answer


@router.post("/{slug}/invites", response={201: Tokens, (403, 404): Problem})
def invite(request: HttpRequest, slug: Slug, wanted: Invites) -> Any:
    """Create invite tokens, one per person. They are returned only once."""
    tokens = enrollment.invite(token_of(request).user, _get_campaign(request, slug), wanted.number)
    return Status(201, {"tokens": tokens})


@router.get("/{slug}/workers", response={200: Workers, (403, 404): Problem})
def workers(request: HttpRequest, slug: Slug, start: Start = 0) -> Any:
    """List up to 200 workers from the position `start`."""
    campaign = _get_campaign(request, slug)
    found = campaign.participations.select_related("worker", "campaign").order_by("pk")
    repeats = measure_consistency(campaign)
    rows = [_serialize_worker(one, repeats) for one in found[start : start + _PAGE_SIZE]]
    return {"count": found.count(), "workers": rows}


@router.get("/{slug}/workers/{pseudonym}/block", response={200: BlockEffectAnswer, (403, 404): Problem})
def effect_of_blocking(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Return the effect that blocking a worker would have."""
    return moderation.effect_of_blocking(_get_worker(_get_campaign(request, slug), pseudonym))


@router.post("/{slug}/workers/{pseudonym}/block", response={200: BlockEffectAnswer, (403, 404, 422): Problem})
def block(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Block a worker. Their answers no longer count."""
    worker = _get_worker(_get_campaign(request, slug), pseudonym)
    return moderation.block(token_of(request).user, worker, why.reason)[1]


@router.post("/{slug}/workers/{pseudonym}/lift", response={200: Restored, (403, 404, 422): Problem})
def lift(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Lift a block.

    The worker's answers count again if their items still need answers.
    """
    worker = _get_worker(_get_campaign(request, slug), pseudonym)
    exclusion = get_object_or_404(Exclusion, participation=worker, lifted=None)
    return {"answers": moderation.unblock(token_of(request).user, exclusion, why.reason)}


@router.post("/{slug}/workers/{pseudonym}/resume", response={200: CampaignWorker, (403, 404, 422): Problem})
def resume(request: HttpRequest, slug: Slug, pseudonym: Slug, why: ActionReason) -> Any:
    """Resume a worker after a pause for failed attention checks."""
    worker = _get_worker(_get_campaign(request, slug), pseudonym)
    resumed = training.resume(token_of(request).user, worker, why.reason)
    return _serialize_worker(resumed, measure_consistency(worker.campaign, resumed))


@router.put("/{slug}/workers/{pseudonym}/account", response={200: LinkEffect, (403, 404, 422): Problem})
def link_account(request: HttpRequest, slug: Slug, pseudonym: Slug, known: Account) -> Any:
    """Link a worker to a user account.

    A worker who takes part in the challenge cannot judge its captions, and is blocked.
    """
    worker = _get_worker(_get_campaign(request, slug), pseudonym)
    account = get_object_or_404(User, username=known.user)
    effect = moderation.link_account(token_of(request).user, worker, account)
    return {"blocked": effect is not None, "answers": effect.answers if effect else 0}


@router.get("/{slug}/workers/{pseudonym}/withdraw", response={200: Removal, (403, 404): Problem})
def effect_of_withdrawing(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Return the effect that withdrawing a worker would have."""
    return withdrawal.effect_of_withdrawing(_get_worker(_get_campaign(request, slug), pseudonym))


@router.post("/{slug}/workers/{pseudonym}/withdraw", response={200: Removal, (403, 404, 409): Problem})
def withdraw(request: HttpRequest, slug: Slug, pseudonym: Slug) -> Any:
    """Withdraw a worker permanently, at their request.

    Texts that are not in a frozen release are removed.
    """
    worker = _get_worker(_get_campaign(request, slug), pseudonym)
    return withdrawal.withdraw(token_of(request).user, worker)


@router.get("/{slug}/reviews", response={200: Queue, (403, 404): Problem})
def reviews(request: HttpRequest, slug: Slug) -> Any:
    """List the first 200 answers to review."""
    campaign = _get_campaign(request, slug)
    found = moderation.list_review_queue(campaign)
    task = task_named(campaign.kind)
    rows = [
        {
            "id": response.pk,
            "reasons": [request.reason for request in response.review_requests.all()],
            "item": task.shown(response.item.payload, mirrored=False),
            "answer": response.answer,
        }
        for response in found.select_related("item").prefetch_related("review_requests")[:_PAGE_SIZE]
    ]
    return {"count": found.count(), "answers": rows}


@router.post("/{slug}/reviews/{response_id}", response={200: Reviewed, (403, 404, 422): Problem})
def review(request: HttpRequest, slug: Slug, response_id: Number, given: Verdict) -> Any:
    """Accept or reject an answer."""
    campaign = _get_campaign(request, slug)
    rows = Response.objects.filter(item__campaign=campaign).select_related("participation__worker")
    found = get_object_or_404(rows, pk=response_id)
    moderation.review(token_of(request).user, found, given.verdict, reason=given.reason, note=given.note)
    return {"waiting": moderation.list_review_queue(campaign).count()}
