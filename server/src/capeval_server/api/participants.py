"""Operations for organizers on participants and organizers; 404 to everyone else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status

from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.path_parameters import Slug, UserName
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_organized_challenge
from capeval_server.hosting.services import moderation, participants

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Organizing"])
_PAGE_SIZE = 200


class Participant(Schema):
    """A participant of a challenge."""

    name: str = Field(validation_alias="user.username")
    team: str = Field(validation_alias="team.name")
    joined: datetime
    owner: bool
    approved: bool


class BlockedUser(Schema):
    """A blocked user. They can see the reason."""

    name: str = Field(validation_alias="who")
    reason: str
    created: datetime


class Participants(Schema):
    """A range of the participants, and all blocked users.

    Participants that wait for approval are first. `count` is the total number of participants.
    """

    count: int
    participants: list[Participant]
    blocked: list[BlockedUser]


class Reason(RequestBody):
    """The reason for blocking a user, which the user sees."""

    reason: str


class Organizers(Schema):
    """User names of the organizers."""

    organizers: list[str]


def _get_user_and_challenge(request: HttpRequest, slug: str) -> tuple[User, Challenge]:
    user = token_of(request).user
    return user, get_organized_challenge(user, slug)


@router.get("/participants", response={200: Participants, (403, 404): Problem})
def show(request: HttpRequest, slug: Slug, start: Annotated[int, Query(ge=0, le=10**9)] = 0) -> Any:
    """List up to 200 participants from the position `start`, and all blocked users."""
    _, challenge = _get_user_and_challenge(request, slug)
    found = participants.participants(challenge)
    blocked = participants.blocked(challenge)
    return {"count": found.count(), "participants": found[start : start + _PAGE_SIZE], "blocked": blocked}


@router.post("/participants/{user}/approve", response={204: None, (403, 404, 409): Problem})
def approve(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Approve a participant, so that they can submit."""
    participants.approve(*_get_user_and_challenge(request, slug), user)
    return Status(204, None)


@router.delete("/participants/{user}", response={204: None, (403, 404, 409): Problem})
def remove(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Remove a participant from their team. The team keeps its submissions."""
    participants.remove(*_get_user_and_challenge(request, slug), user)
    return Status(204, None)


@router.put("/blocks/{user}", response={204: None, (403, 404, 409): Problem})
def block(request: HttpRequest, slug: Slug, user: UserName, why: Reason) -> Any:
    """Block a user: remove them from their team, and prevent them from joining again."""
    participants.block(*_get_user_and_challenge(request, slug), user, why.reason)
    return Status(204, None)


@router.delete("/blocks/{user}", response={204: None, (403, 404, 409): Problem})
def unblock(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Unblock a user, so that they can join again."""
    participants.unblock(*_get_user_and_challenge(request, slug), user)
    return Status(204, None)


@router.get("/organizers", response={200: Organizers, (403, 404): Problem})
def organizers(request: HttpRequest, slug: Slug) -> Any:
    """List the organizers of a challenge."""
    _, challenge = _get_user_and_challenge(request, slug)
    return {"organizers": list(challenge.organizers.order_by("username").values_list("username", flat=True))}


@router.put("/organizers/{user}", response={204: None, (403, 404, 409): Problem})
def add_organizer(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Make a user an organizer."""
    moderation.add_organizer(*_get_user_and_challenge(request, slug), user)
    return Status(204, None)


@router.delete("/organizers/{user}", response={204: None, (403, 404, 409): Problem})
def remove_organizer(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Remove an organizer. The last organizer cannot be removed."""
    asker, challenge = _get_user_and_challenge(request, slug)
    found = get_object_or_404(challenge.organizers, username=user)
    moderation.remove_organizer(asker, challenge, found)
    return Status(204, None)
