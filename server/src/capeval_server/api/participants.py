"""The API of organizers for participants and organizers. It answers 404 to everybody else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status

from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.path_parameters import Slug, UserName
from capeval_server.api.schemas import Problem
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import organized
from capeval_server.hosting.services import moderation, participants

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Organizing"])
_MOST = 200


class Participant(Schema):
    """Who takes part."""

    name: str = Field(validation_alias="user.username")
    team: str = Field(validation_alias="team.name")
    joined: datetime
    owner: bool
    approved: bool


class BlockedUser(Schema):
    """Who is blocked, and the reason, which they see."""

    name: str = Field(validation_alias="who")
    reason: str
    created: datetime


class Participants(Schema):
    """Participants, those first who wait for approval; `count` of them in all; and all who are blocked."""

    count: int
    participants: list[Participant]
    blocked: list[BlockedUser]


class Reason(Schema):
    """Why a user is blocked; the user sees it."""

    reason: str


class Organizers(Schema):
    """The names of the organizers."""

    organizers: list[str]


def _asked(request: HttpRequest, slug: str) -> tuple[User, Challenge]:
    user = token_of(request).user
    return user, organized(user, slug)


@router.get("/participants", response={200: Participants, (403, 404): Problem})
def show(request: HttpRequest, slug: Slug, start: Annotated[int, Query(ge=0, le=10**9)] = 0) -> Any:
    """Who takes part or is blocked; 200 participants from a start."""
    _, challenge = _asked(request, slug)
    found = participants.participants(challenge)
    blocked = participants.blocked(challenge)
    return {"count": found.count(), "participants": found[start : start + _MOST], "blocked": blocked}


@router.post("/participants/{user}/approve", response={204: None, (403, 404, 409): Problem})
def approve(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Lets a participant submit."""
    participants.approve(*_asked(request, slug), user)
    return Status(204, None)


@router.delete("/participants/{user}", response={204: None, (403, 404, 409): Problem})
def remove(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Takes a participant out of their team, which keeps what it submitted."""
    participants.remove(*_asked(request, slug), user)
    return Status(204, None)


@router.put("/blocks/{user}", response={204: None, (403, 404, 409): Problem})
def block(request: HttpRequest, slug: Slug, user: UserName, why: Reason) -> Any:
    """Takes a user out of their team, and lets them take part no more."""
    participants.block(*_asked(request, slug), user, why.reason)
    return Status(204, None)


@router.delete("/blocks/{user}", response={204: None, (403, 404, 409): Problem})
def unblock(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Lets a blocked user join again."""
    participants.unblock(*_asked(request, slug), user)
    return Status(204, None)


@router.get("/organizers", response={200: Organizers, (403, 404): Problem})
def organizers(request: HttpRequest, slug: Slug) -> Any:
    """The organizers."""
    _, challenge = _asked(request, slug)
    return {"organizers": list(challenge.organizers.order_by("username").values_list("username", flat=True))}


@router.put("/organizers/{user}", response={204: None, (403, 404, 409): Problem})
def add_organizer(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Makes a user an organizer."""
    moderation.add_organizer(*_asked(request, slug), user)
    return Status(204, None)


@router.delete("/organizers/{user}", response={204: None, (403, 404, 409): Problem})
def remove_organizer(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Removes an organizer; the last one can't be removed."""
    asker, challenge = _asked(request, slug)
    found = get_object_or_404(challenge.organizers, username=user)
    moderation.remove_organizer(asker, challenge, found)
    return Status(204, None)
