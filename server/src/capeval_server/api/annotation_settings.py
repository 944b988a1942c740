"""Operations on the settings, rules, texts and panel of a campaign."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Schema
from pydantic import Field, create_model

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.consent import change_texts
from capeval_server.annotation.campaigns.definition import LONGEST_MARKDOWN
from capeval_server.annotation.campaigns.setting_warnings import list_warnings
from capeval_server.annotation.core.options import MOST_ANSWERS, QUALITY_SETTINGS, CampaignOptions
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.annotation.text_rules.validation import settings_of
from capeval_server.annotation.workers import enrollment, panels, payments
from capeval_server.api.annotation_campaigns import CampaignAnswer
from capeval_server.api.annotation_common import create_router, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem, RequestBody

__all__ = ["router", "with_quality_settings"]

router = create_router()


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


class Answers(RequestBody):
    """Number of answers that each item needs."""

    answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS, **_describe_option("answers"))]


@with_quality_settings
class QualitySettingsChange(RequestBody):
    """New values of quality settings. Omitted settings keep their values."""


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


class RuleChange(RequestBody):
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


class Texts(Schema):
    """A version of the instructions and the consent text, in Markdown."""

    number: int
    instructions: str
    consent: str


class NewTexts(RequestBody):
    """New instructions or consent text. Omitted texts stay unchanged."""

    instructions: Annotated[str, Field(max_length=LONGEST_MARKDOWN)] | None = None
    consent: Annotated[str, Field(max_length=LONGEST_MARKDOWN)] | None = None


class Rate(RequestBody):
    """Pay per answer with its currency, such as 0.12 and EUR."""

    pay_per_answer: Annotated[str, Field(max_length=20, **_describe_option("pay_per_answer"))]
    currency: Annotated[str, Field(max_length=3, **_describe_option("currency"))]


@router.get("/{slug}/settings", response={200: CampaignAnswer, (403, 404): Problem})
def settings(request: HttpRequest, slug: Slug) -> Any:
    """Return all settings of a campaign, with the warnings about them."""
    return get_campaign(request, slug)


@router.put("/{slug}/answers", response={200: CampaignAnswer, (403, 404, 422): Problem})
def set_answers(request: HttpRequest, slug: Slug, wanted: Answers) -> Any:
    """Set the number of answers that each item needs."""
    return lifecycle.set_answers(token_of(request).user, get_campaign(request, slug), wanted.answers)


def _serialize_quality(campaign: Campaign) -> dict[str, Any]:
    return {
        "settings": lifecycle.quality_settings(campaign),
        "warnings": list_warnings(campaign),
        "changes": lifecycle.quality_changes(campaign),
    }


@router.get("/{slug}/quality", response={200: QualityAnswer, (403, 404): Problem})
def quality_settings(request: HttpRequest, slug: Slug) -> Any:
    """Return the quality settings."""
    return _serialize_quality(get_campaign(request, slug))


@router.put("/{slug}/quality", response={200: QualityAnswer, (403, 404, 422): Problem})
def set_quality(request: HttpRequest, slug: Slug, wanted: QualitySettingsChange) -> Any:
    """Change quality settings, even of an open campaign.

    Each change is recorded in the history.
    """
    changes = wanted.model_dump(exclude_none=True)
    return _serialize_quality(
        lifecycle.set_quality(token_of(request).user, get_campaign(request, slug), changes)
    )


def _serialize_rules(campaign: Campaign) -> dict[str, Any]:
    texts = enrollment.latest_texts(campaign)
    settings = settings_of(texts)
    levels = {rule.name: settings.level(rule) for rule in RULES.values()}
    return {"version": texts.number, "rules": texts.rules, "levels": levels}


@router.get("/{slug}/rules", response={200: RulesAnswer, (403, 404): Problem})
def rules(request: HttpRequest, slug: Slug) -> Any:
    """Return the rules for captions."""
    return _serialize_rules(get_campaign(request, slug))


@router.put("/{slug}/rules", response={200: RulesAnswer, (403, 404, 422): Problem})
def set_rules(request: HttpRequest, slug: Slug, wanted: RuleChange) -> Any:
    """Set the rules for captions, as a new version of the texts.

    Existing answers keep the rules under which they were written.
    """
    campaign = get_campaign(request, slug)
    lifecycle.set_rules(token_of(request).user, campaign, wanted.rules)
    return _serialize_rules(campaign)


@router.get("/{slug}/texts", response={200: Texts, (403, 404): Problem})
def texts(request: HttpRequest, slug: Slug) -> Any:
    """Return the current instructions and consent text."""
    return enrollment.latest_texts(get_campaign(request, slug))


@router.put("/{slug}/texts", response={200: Texts, (403, 404, 422): Problem})
def set_texts(request: HttpRequest, slug: Slug, wanted: NewTexts) -> Any:
    """Create a new version of the texts. Workers must agree to it to get more items."""
    campaign = get_campaign(request, slug)
    user = token_of(request).user
    return change_texts(user, campaign, instructions=wanted.instructions, consent=wanted.consent)


@router.get("/{slug}/panel", response={200: panels.PanelSettings, (403, 404): Problem})
def panel(request: HttpRequest, slug: Slug) -> Any:
    """Return the settings of the panel that sends workers, with the completion codes."""
    return panels.panel_settings(get_campaign(request, slug))


@router.put("/{slug}/panel", response={200: panels.PanelSettings, (403, 404, 422): Problem})
def set_panel(request: HttpRequest, slug: Slug, wanted: panels.PanelSettings) -> Any:
    """Set the panel that sends workers.

    The settings are its parameters, its keys if it signs the parameters, and the completion codes.
    """
    given = wanted.model_dump(exclude_unset=True)
    return panels.set_panel(token_of(request).user, get_campaign(request, slug), given)


@router.put("/{slug}/rate", response={200: CampaignAnswer, (403, 404, 422): Problem})
def set_rate(request: HttpRequest, slug: Slug, wanted: Rate) -> Any:
    """Set the pay per answer."""
    user = token_of(request).user
    return payments.set_rate(user, get_campaign(request, slug), wanted.pay_per_answer, wanted.currency)
