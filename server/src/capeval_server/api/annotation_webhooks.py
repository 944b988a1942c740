"""Operations on the webhooks of a campaign, which receive its alerts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Status

from capeval_server.api.annotation_common import create_router, find_row, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.notifications import MadeWebhook, NewWebhook, Webhooks
from capeval_server.api.path_parameters import Number, Slug
from capeval_server.api.schemas import Problem
from capeval_server.notifications import webhooks

__all__ = ["router"]

router = create_router()


@router.get("/{slug}/webhooks", response={200: Webhooks, (403, 404): Problem})
def list_all(request: HttpRequest, slug: Slug) -> Any:
    """List the webhooks that receive the alerts of a campaign, without those of its challenge."""
    campaign = get_campaign(request, slug)
    return {"webhooks": list(webhooks.list_webhooks(campaign.challenge, campaign.slug))}


@router.post("/{slug}/webhooks", response={201: MadeWebhook, (403, 404, 422): Problem})
def add(request: HttpRequest, slug: Slug, new: NewWebhook) -> Any:
    """Add a webhook for the alerts of a campaign. Its host must be allowed by the server's settings."""
    user, campaign = token_of(request).user, get_campaign(request, slug)
    return Status(201, webhooks.add(user, campaign.challenge, new.url, campaign=campaign.slug))


@router.delete("/{slug}/webhooks/{number}", response={204: None, (403, 404): Problem})
def remove(request: HttpRequest, slug: Slug, number: Number) -> Any:
    """Remove a webhook of a campaign."""
    user, campaign = token_of(request).user, get_campaign(request, slug)
    found = find_row(webhooks.list_webhooks(None, campaign.slug), f"webhook {number}", pk=number)
    webhooks.remove(user, found, campaign.challenge)
    return Status(204, None)
