"""Operations on the items and images of a campaign."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Schema
from pydantic import Field

from capeval_server.annotation.models import Item
from capeval_server.annotation.responses.content_warnings import LONGEST_WARNING, set_warning
from capeval_server.annotation.review import moderation
from capeval_server.api.annotation_common import PAGE_SIZE, Note, create_router, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem

__all__ = ["router"]

router = create_router()


class ContentWarning(Schema):
    """Content warning of an image. An empty text means no warning."""

    image: Annotated[str, Field(max_length=200)]
    warning: Annotated[str, Field(max_length=LONGEST_WARNING)]


class HoldChange(Schema):
    """An item by its key, whether to put it on hold, and the reason for a hold."""

    item: Annotated[str, Field(max_length=100)]
    held: bool
    reason: Note = ""


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


@router.put("/{slug}/warnings", response={200: ContentWarning, (403, 404, 422): Problem})
def warn(request: HttpRequest, slug: Slug, wanted: ContentWarning) -> Any:
    """Set the content warning of an image, by the name of the image.

    An image with a warning is hidden until the worker chooses to see it.
    """
    image = set_warning(token_of(request).user, get_campaign(request, slug), wanted.image, wanted.warning)
    return {"image": image.name, "warning": image.warning}


@router.get("/{slug}/held", response={200: ItemsOnHold, (403, 404): Problem})
def list_items_on_hold(request: HttpRequest, slug: Slug) -> Any:
    """List the items on hold, with the reasons."""
    found = get_campaign(request, slug).items.filter(held=True, repeats=None).order_by("pk")
    return {"count": found.count(), "items": found[:PAGE_SIZE]}


@router.put("/{slug}/held", response={200: ItemOnHold, (403, 404, 422): Problem})
def hold(request: HttpRequest, slug: Slug, wanted: HoldChange) -> Any:
    """Put an item on hold, or release it.

    The response lists the campaign releases that contain answers to the item.
    """
    found = get_object_or_404(get_campaign(request, slug).items, key=wanted.item, repeats=None)
    moderation.set_hold(token_of(request).user, found, held=wanted.held, reason=wanted.reason)
    found.refresh_from_db()
    return found
