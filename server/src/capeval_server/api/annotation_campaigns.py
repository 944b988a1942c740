"""Operations on campaigns for their managers. They return 404 to everyone else."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.copies import clone_campaign
from capeval_server.annotation.campaigns.creation import make_from_texts
from capeval_server.annotation.campaigns.deletion import delete_draft
from capeval_server.annotation.campaigns.progress import (
    CampaignProgress,
    ClassProgress,
    Pace,
    classes_of,
    get_progress,
    pace_of,
    with_counts,
)
from capeval_server.annotation.campaigns.setting_warnings import list_warnings
from capeval_server.annotation.models import Campaign
from capeval_server.api.annotation_common import (
    PAGE_SIZE,
    EncodedImages,
    ItemTableUpload,
    Note,
    Start,
    create_router,
    get_campaign,
)
from capeval_server.api.authentication import token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["CampaignAnswer", "router"]

router = create_router()


class Files(RequestBody):
    """Contents of a campaign's files: `campaign.toml`, and the files that it names.

    `images` contains the images in base64 by name, as items name them. The definition must have
    `campaign.images`, with any folder.
    """

    files: dict[str, str]
    images: EncodedImages = Field(default_factory=dict)


class CampaignCopy(RequestBody):
    """Name in URLs and title of a copy; the default title is "Copy of ..." with the campaign's title.

    With `items`, the copy has these items in place of those of the campaign. They can name its images.
    """

    slug: str
    title: str = ""
    items: ItemTableUpload | None = None


class ListedCampaign(Schema):
    """A campaign, with its counted and required answers. `challenge` is empty without a challenge."""

    slug: str
    title: str
    kind: str
    state: str
    challenge: str
    created: datetime
    counted: int
    wanted: int

    @staticmethod
    def resolve_challenge(campaign: Campaign) -> str:
        """Return the name of the challenge."""
        return campaign.challenge.slug if campaign.challenge else ""


class Campaigns(Schema):
    """A range of the campaigns, newest first. `count` is their total number."""

    count: int
    campaigns: list[ListedCampaign]


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
        return list_warnings(campaign)


@derived_from(CampaignProgress)
class CampaignStatus(Schema):
    """Progress of a campaign."""


class CampaignDay(Schema):
    """Number of counted answers of a day, in UTC."""

    day: date
    counted: int


@derived_from(ClassProgress)
class ClassAnswer(Schema):
    """Progress of the items of a class; `name` is empty for items without a class."""


@derived_from(Pace, without=("days",))
class PaceAnswer(Schema):
    """Pace of a campaign, with the counted answers of each day and the progress of each class."""

    days: list[CampaignDay]
    classes: list[ClassAnswer]


class CampaignStateChange(RequestBody):
    """State of a campaign. Reopening a closed campaign requires a reason."""

    state: Literal["draft", "pilot", "open", "paused", "closing", "closed"]
    reason: Note = ""


@router.get("", response={200: Campaigns, 403: Problem})
def campaigns(request: HttpRequest, start: Start = 0) -> Any:
    """List up to 200 of the campaigns that you manage, from the position `start`."""
    found = lifecycle.list_managed_campaigns(token_of(request).user)
    return {"count": found.count(), "campaigns": list(with_counts(found)[start : start + PAGE_SIZE])}


@router.post("", response={201: CampaignAnswer, (403, 404, 422): Problem})
@accepts_uploads
def create(request: HttpRequest, given: Files) -> Any:
    """Create a campaign as a draft."""
    return Status(201, make_from_texts(token_of(request).user, given.files, given.images))


@router.get("/{slug}", response={200: CampaignStatus, (403, 404): Problem})
def status(request: HttpRequest, slug: Slug) -> Any:
    """Return the progress of a campaign, and the obstacles to it."""
    return get_progress(get_campaign(request, slug))


@router.put("/{slug}", response={200: CampaignAnswer, (403, 404, 409, 422): Problem})
@accepts_uploads
def replace(request: HttpRequest, slug: Slug, given: Files) -> Any:
    """Replace the content of a draft that no worker has entered.

    Items can also name the images of the draft, if `campaign.images` is given.
    """
    draft = get_campaign(request, slug)
    return make_from_texts(token_of(request).user, given.files, given.images, draft)


@router.delete("/{slug}", response={204: None, (403, 404, 422): Problem})
def delete(request: HttpRequest, slug: Slug) -> Any:
    """Delete a draft that no worker has entered, with its items, images and invite links."""
    delete_draft(token_of(request).user, get_campaign(request, slug))
    return Status(204, None)


@router.post("/{slug}/copies", response={201: CampaignAnswer, (403, 404, 422): Problem})
@accepts_uploads
def copy(request: HttpRequest, slug: Slug, wanted: CampaignCopy) -> Any:
    """Create a draft with the texts, settings, items and images of a campaign, in any state.

    The copy can also have new items.

    Workers, answers and invite links are not copied.
    """
    found = get_campaign(request, slug)
    items = wanted.items.build_files() if wanted.items else None
    made = clone_campaign(token_of(request).user, found, wanted.slug, wanted.title, items=items)
    return Status(201, made)


@router.get("/{slug}/pace", response={200: PaceAnswer, (403, 404): Problem})
def pace(request: HttpRequest, slug: Slug) -> Any:
    """Return the answers of each day and class, and the forecast of the completion."""
    campaign = get_campaign(request, slug)
    found = pace_of(campaign)
    days = [{"day": day, "counted": number} for day, number in found.days]
    return {**vars(found), "days": days, "classes": classes_of(campaign)}


@router.put("/{slug}/state", response={200: CampaignAnswer, (403, 404, 422): Problem})
def change_state(request: HttpRequest, slug: Slug, wanted: CampaignStateChange) -> Any:
    """Change the state of a campaign, for example open, pause or close it.

    The state `pilot` is a preview, in which no answers count.
    """
    found = get_campaign(request, slug)
    return lifecycle.change_state(token_of(request).user, found, wanted.state, reason=wanted.reason)
