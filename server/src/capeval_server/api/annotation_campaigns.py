"""Operations on campaigns for their managers. They return 404 to everyone else."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Schema, Status

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_from_texts
from capeval_server.annotation.campaigns.progress import CampaignProgress, get_progress
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers.trust import trust_warnings
from capeval_server.api.annotation_common import Note, create_router, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["CampaignAnswer", "router"]

router = create_router()


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
    reason: Note = ""


@router.post("", response={201: CampaignAnswer, (403, 404, 422): Problem})
@accepts_uploads
def create(request: HttpRequest, given: Files) -> Any:
    """Create a campaign as a draft."""
    return Status(201, make_from_texts(token_of(request).user, given.files))


@router.get("/{slug}", response={200: CampaignStatus, (403, 404): Problem})
def status(request: HttpRequest, slug: Slug) -> Any:
    """Return the progress of a campaign, and the obstacles to it."""
    return get_progress(get_campaign(request, slug))


@router.put("/{slug}/state", response={200: CampaignAnswer, (403, 404, 422): Problem})
def change_state(request: HttpRequest, slug: Slug, wanted: CampaignStateChange) -> Any:
    """Change the state of a campaign, for example open, pause or close it.

    The state `pilot` is a preview, in which no answers count.
    """
    found = get_campaign(request, slug)
    return lifecycle.change_state(token_of(request).user, found, wanted.state, reason=wanted.reason)
