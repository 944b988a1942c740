"""Operations on the items and images of a campaign."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field

from capeval_server.annotation.campaigns.additions import extend_campaign
from capeval_server.annotation.campaigns.columns import check_columns
from capeval_server.annotation.campaigns.progress import ItemFilter, filter_items
from capeval_server.annotation.models import Item
from capeval_server.annotation.responses import text_flags
from capeval_server.annotation.responses.content_warnings import LONGEST_WARNING, set_warning
from capeval_server.annotation.review import moderation
from capeval_server.api.annotation_common import (
    PAGE_SIZE,
    ItemTableUpload,
    Note,
    Start,
    create_router,
    find_row,
    get_campaign,
)
from capeval_server.api.authentication import token_of
from capeval_server.api.path_parameters import ImageSize, Number, Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.core.errors import CampaignError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.http.stored_images import send_jpeg

__all__ = ["router"]

router = create_router()


class ItemReportAnswer(Schema):
    """Problem with an item that a worker reported."""

    reason: str
    note: str


class ItemAnswer(Schema):
    """An item, with its counted and required answers.

    `image` is the name of its image, and `repeats` the key of the original of a repeated item; each is empty
    if there is none. `releases` lists the releases with answers to an item on hold.
    """

    key: str
    group: str
    category: str
    image: str
    payload: dict[str, Any]
    is_check: bool
    is_training: bool
    is_quiz: bool
    repeats: str
    counted: int
    wanted: int
    held: bool
    held_reason: str
    reports: list[ItemReportAnswer]
    releases: list[str]

    @staticmethod
    def resolve_image(item: Item) -> str:
        """Return the name of the image."""
        return item.image.name if item.image else ""

    @staticmethod
    def resolve_repeats(item: Item) -> str:
        """Return the key of the original."""
        return item.repeats.key if item.repeats else ""

    @staticmethod
    def resolve_releases(item: Item) -> tuple[str, ...]:
        """Return the names of the releases that contain answers to an item on hold."""
        return moderation.releases_of(item) if item.held else ()


class Items(Schema):
    """A range of the items, in the order of the campaign's file. `count` is their total number."""

    count: int
    items: list[ItemAnswer]


class NewItems(ItemTableUpload):
    """A file of items with its images, and the columns of parts that are not recognized."""

    columns: dict[str, str | dict[str, str]] = Field(default_factory=dict)


class AddedItems(Schema):
    """Numbers of added items, attention checks, training items and images, and of the required answers."""

    items: int
    checks: int
    training: int
    images: int
    wanted: int


class CampaignImage(Schema):
    """An image, with its size in pixels, and its license, author, source and content warning if known."""

    number: int = Field(validation_alias="pk")
    name: str
    width: int
    height: int
    license: str
    author: str
    source: str
    warning: str


class Images(Schema):
    """A range of the images. `count` is their total number."""

    count: int
    images: list[CampaignImage]


class NewKnownCaptions(RequestBody):
    """Known captions by the key of their item; captions of the key "" match every item.

    Alternatively, `submissions` adds the captions that were submitted to the campaign's challenge.
    """

    captions: dict[Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")], list[str]] = Field(
        default_factory=dict
    )
    submissions: bool = False


class AddedCaptions(Schema):
    """Numbers of known captions: added now, and in total."""

    added: int
    count: int


class ContentWarning(RequestBody):
    """Content warning of an image. An empty text means no warning."""

    image: Annotated[str, Field(max_length=200)]
    warning: Annotated[str, Field(max_length=LONGEST_WARNING)]


class HoldChange(RequestBody):
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


@router.get("/{slug}/items", response={200: Items, (403, 404): Problem})
def items(request: HttpRequest, slug: Slug, which: Literal["", ItemFilter] = "", start: Start = 0) -> Any:
    """List up to 200 items from the position `start`, with the progress of each.

    `which` selects unfinished items, items on hold (`reported`), attention checks, training items or repeated
    ones. The default is all items except repeated ones.
    """
    found = filter_items(get_campaign(request, slug), which).select_related("image", "repeats")
    rows = list(found.prefetch_related("reports")[start : start + PAGE_SIZE])
    return {"count": found.count(), "items": rows}


@router.post("/{slug}/items", response={201: AddedItems, (403, 404, 409, 422): Problem})
@accepts_uploads
def add(request: HttpRequest, slug: Slug, wanted: NewItems) -> Any:
    """Add items to a campaign that is not closing or closed. Their keys must be new.

    Items can name uploaded images, and images of the campaign.
    """
    user, campaign = token_of(request).user, get_campaign(request, slug)
    files = wanted.build_files(check_columns(wanted.name, wanted.columns))
    return Status(201, extend_campaign(user, campaign, files))


@router.get("/{slug}/images", response={200: Images, (403, 404): Problem})
def images(request: HttpRequest, slug: Slug, start: Start = 0) -> Any:
    """List up to 200 images from the position `start`."""
    found = get_campaign(request, slug).images.order_by("pk")
    return {"count": found.count(), "images": list(found[start : start + PAGE_SIZE])}


@router.get("/{slug}/images/{number}/{size}", response={200: None, (403, 404): Problem})
def image(request: HttpRequest, slug: Slug, number: Number, size: ImageSize) -> Any:
    """Return an image as JPEG, at most 480 (`small`) or 1600 (`large`) pixels wide or high."""
    found = find_row(get_campaign(request, slug).images, f"image with the number {number}", pk=number)
    return send_jpeg(getattr(found, size))


@router.post("/{slug}/known", response={200: AddedCaptions, (403, 404, 422): Problem})
@accepts_uploads
def add_known(request: HttpRequest, slug: Slug, wanted: NewKnownCaptions) -> Any:
    """Add hashes of known captions. Answers with the same caption go to review."""
    campaign = get_campaign(request, slug)
    if bool(wanted.captions) == wanted.submissions:
        raise CampaignError("either 'captions' or 'submissions' must be given")
    if wanted.submissions:
        added = text_flags.add_submissions(campaign)
    else:
        pairs = ((key, text) for key, texts in wanted.captions.items() for text in texts)
        added = text_flags.add_known(campaign, pairs)
    return {"added": added, "count": campaign.known.count()}


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
    rows = get_campaign(request, slug).items
    found = find_row(rows, f"item {wanted.item!r}", key=wanted.item, repeats=None)
    moderation.set_hold(token_of(request).user, found, held=wanted.held, reason=wanted.reason)
    found.refresh_from_db()
    return found
