"""Operations on announcements and, for organizers, on webhooks and images."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import File, Router, Schema, Status
from ninja.files import UploadedFile

from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.path_parameters import Number, PictureName, Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_organized_challenge
from capeval_server.hosting.services import pictures
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.notifications import services, webhooks

__all__ = ["MadeWebhook", "NewWebhook", "Webhooks", "organizing", "router"]

router = Router(tags=["Challenges and teams"])
organizing = Router(auth=ORGANIZE, tags=["Organizing"])
_PAGE_SIZE = 100


class NewAnnouncement(RequestBody):
    """A new announcement. The text is Markdown."""

    title: str
    text: str


class AnnouncementAnswer(Schema):
    """An announcement."""

    title: str
    text: str
    created: datetime


class Announcements(Schema):
    """The latest announcements, latest first."""

    announcements: list[AnnouncementAnswer]


class NewWebhook(RequestBody):
    """The URL of a new webhook."""

    url: str


class WebhookAnswer(Schema):
    """A webhook."""

    id: int
    url: str
    created: datetime


class MadeWebhook(WebhookAnswer):
    """A newly created webhook, with its secret, which is not shown again."""

    secret: str


class Webhooks(Schema):
    """The webhooks of a challenge or campaign."""

    webhooks: list[WebhookAnswer]


class PictureAnswer(Schema):
    """An image, by the name under which the challenge's texts refer to it."""

    name: str


def _get_user_and_challenge(request: HttpRequest, slug: str) -> tuple[User, Challenge]:
    user = token_of(request).user
    return user, get_organized_challenge(user, slug)


@router.get("/challenges/{slug}/announcements", response={200: Announcements, 404: Problem})
def announcements(request: HttpRequest, slug: Slug) -> Any:
    """List the announcements of a challenge."""
    challenge = get_object_or_404(Challenge, slug=slug)
    return {"announcements": list(challenge.announcements.order_by("-created", "-pk")[:_PAGE_SIZE])}


@organizing.post("/announcements", response={201: AnnouncementAnswer, (403, 404, 422): Problem})
def announce(request: HttpRequest, slug: Slug, new: NewAnnouncement) -> Any:
    """Publish an announcement on the challenge's page, and mail it to participants."""
    return Status(201, services.announce(*_get_user_and_challenge(request, slug), new.title, new.text))


@organizing.get("/webhooks", response={200: Webhooks, (403, 404): Problem})
def show_webhooks(request: HttpRequest, slug: Slug) -> Any:
    """List the webhooks of a challenge."""
    _, challenge = _get_user_and_challenge(request, slug)
    return {"webhooks": list(challenge.webhooks.order_by("pk"))}


@organizing.post("/webhooks", response={201: MadeWebhook, (403, 404, 422): Problem})
def add_webhook(request: HttpRequest, slug: Slug, new: NewWebhook) -> Any:
    """Add a webhook. Its host must be allowed by the server's settings."""
    return Status(201, webhooks.add(*_get_user_and_challenge(request, slug), new.url))


@organizing.delete("/webhooks/{number}", response={204: None, (403, 404): Problem})
def remove_webhook(request: HttpRequest, slug: Slug, number: Number) -> Any:
    """Remove a webhook."""
    user, challenge = _get_user_and_challenge(request, slug)
    webhooks.remove(user, get_object_or_404(challenge.webhooks, pk=number), challenge)
    return Status(204, None)


@organizing.post("/pictures", response={201: PictureAnswer, (403, 404, 422): Problem})
@accepts_uploads
def add_picture(request: HttpRequest, slug: Slug, file: File[UploadedFile]) -> Any:
    """Add an image for the challenge's texts, or replace the image of the same name."""
    data = file.read(pictures.LARGEST + 1)
    return Status(201, pictures.add(*_get_user_and_challenge(request, slug), file.name or "", data))


@organizing.delete("/pictures/{name}", response={204: None, (403, 404): Problem})
def remove_picture(request: HttpRequest, slug: Slug, name: PictureName) -> Any:
    """Remove an image."""
    user, challenge = _get_user_and_challenge(request, slug)
    pictures.remove(user, get_object_or_404(challenge.pictures, name=name))
    return Status(204, None)
