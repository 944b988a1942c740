"""Helpers shared by the operations of campaign managers."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import Field

from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign
from capeval_server.annotation.models import LONGEST_NOTE, Campaign
from capeval_server.api.authentication import ORGANIZE, token_of

__all__ = ["PAGE_SIZE", "Note", "Start", "create_router", "get_campaign"]

PAGE_SIZE = 200
"""Maximum number of rows in a response."""

Note = Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")]
Start = Annotated[int, Query(ge=0, le=10**9)]


def create_router() -> Router:
    """Return a router for operations of campaign managers."""
    return Router(auth=ORGANIZE, tags=["Campaigns"])


def get_campaign(request: HttpRequest, slug: str) -> Campaign:
    """Return a campaign that the authenticated user manages.

    Raises:
        NotFoundError: There is no such campaign, or the user does not manage it.
    """
    return get_managed_campaign(token_of(request).user, slug)
