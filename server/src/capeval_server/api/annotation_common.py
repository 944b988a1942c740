"""Helpers shared by the operations of campaign managers."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from django.db.models import Manager, Model, QuerySet
from django.http import HttpRequest
from ninja import Query, Router
from pydantic import Base64Bytes, Field

from capeval_server.annotation.campaigns.columns import ColumnMap
from capeval_server.annotation.campaigns.item_files import ItemFiles, open_files
from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign
from capeval_server.annotation.models import LONGEST_NOTE, Campaign
from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.schemas import RequestBody
from capeval_server.core.errors import NotFoundError

__all__ = [
    "PAGE_SIZE",
    "EncodedImages",
    "ItemTableUpload",
    "Note",
    "Start",
    "create_router",
    "find_row",
    "get_campaign",
]

_Row = TypeVar("_Row", bound=Model)

PAGE_SIZE = 200
"""Maximum number of rows in a response."""

Note = Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")]
Start = Annotated[int, Query(ge=0, le=10**9)]
EncodedImages = dict[Annotated[str, Field(min_length=1, max_length=200)], Base64Bytes]


class ItemTableUpload(RequestBody):
    """A file of items by its name and content, and its images in base64 by name."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    content: str
    images: EncodedImages = Field(default_factory=dict)

    def build_files(self, columns: ColumnMap | None = None) -> ItemFiles:
        """Return the files.

        Args:
            columns: The columns of parts that are not recognized.
        """
        return ItemFiles(
            table_name=self.name,
            table=self.content.encode(),
            columns=columns or {},
            images=open_files(self.images),
        )


def create_router() -> Router:
    """Return a router for operations of campaign managers."""
    return Router(auth=ORGANIZE, tags=["Campaigns"])


def get_campaign(request: HttpRequest, slug: str) -> Campaign:
    """Return a campaign that the authenticated user manages.

    Raises:
        NotFoundError: There is no such campaign, or the user does not manage it.
    """
    return get_managed_campaign(token_of(request).user, slug)


def find_row(rows: QuerySet[_Row] | Manager[_Row], what: str, **lookup: Any) -> _Row:
    """Return the row of a campaign that matches a lookup.

    Args:
        rows: The rows of the campaign.
        what: Noun and name of the row for the message, such as `release '1.0'`.
        lookup: The conditions, as in `filter`.

    Raises:
        NotFoundError: The campaign has no such row.
    """
    found = rows.filter(**lookup).first()
    if found is None:
        raise NotFoundError(f"the campaign has no {what}")
    return found
