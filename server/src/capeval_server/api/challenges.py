"""Operations on challenges, and on your team and quota in a challenge."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router, Status

from capeval_server.accounts.models import Token
from capeval_server.api import schemas
from capeval_server.api.authentication import READ, SUBMIT, token_of
from capeval_server.api.path_parameters import Slug, UserName
from capeval_server.challenges.models import Challenge, Split
from capeval_server.challenges.selectors.access import get_phase
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.challenges.services.links import has_key
from capeval_server.core.errors import NotFoundError, TeamError
from capeval_server.http.link_keys import get_keys
from capeval_server.submissions.quotas import limits
from capeval_server.teams.models import Team
from capeval_server.teams.services import enrollment, membership

__all__ = ["router"]

router = Router(tags=["Challenges and teams"])


@router.get("/challenges", response=schemas.ChallengeList)
def challenges(request: HttpRequest) -> Any:
    """List the public and archived challenges."""
    now = timezone.now()
    found = enrollment.list_challenges(AnonymousUser()).order_by("slug").prefetch_related("phases")
    return {
        "challenges": [
            {"slug": each.slug, "title": each.title, "state": each.get_state(now)} for each in found
        ]
    }


@router.get("/challenges/{slug}", response={200: schemas.ChallengeAnswer, 404: schemas.Problem})
def challenge(request: HttpRequest, slug: Slug) -> Any:
    """Return a challenge with its splits, phases and rules."""
    found = get_object_or_404(Challenge, slug=slug)
    return {
        **{name: getattr(found, name) for name in schemas.ChallengeAnswer.model_fields if name != "state"},
        "state": found.get_state(timezone.now()),
        "splits": found.splits.prefetch_related("reference_sets", "subsets").order_by("name"),
        "phases": found.phases.prefetch_related("splits").order_by("opens"),
    }


@router.get(
    "/challenges/{slug}/splits/{split}/images",
    response={200: schemas.ImagesAnswer, 404: schemas.Problem},
)
def images(
    request: HttpRequest,
    slug: Slug,
    split: Slug,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Any:
    """Return a range of the images to caption in a split, in order."""
    found = get_images(get_object_or_404(Split, challenge__slug=slug, name=split))
    return {"total": len(found), "images": found[offset : offset + limit]}


@router.get(
    "/challenges/{slug}/phases/{phase}/quota",
    response={200: schemas.QuotaAnswer, 404: schemas.Problem},
    auth=READ,
)
def quota(request: HttpRequest, slug: Slug, phase: Slug) -> Any:
    """Return the remaining quota of your team in a phase."""
    found = get_phase(slug, phase)
    return limits.quota(_get_team(request, found.challenge), found, timezone.now())


@router.get("/challenges/{slug}/team", response={200: schemas.TeamAnswer, 404: schemas.Problem}, auth=READ)
def team(request: HttpRequest, slug: Slug) -> Any:
    """Return your team in a challenge. Its code is null for tokens of scope `read`."""
    shown = _serialize_team(_get_team(request, get_object_or_404(Challenge, slug=slug)))
    return {**shown, "code": None} if token_of(request).scope == Token.Scope.READ else shown


@router.post(
    "/challenges/{slug}/team",
    response={201: schemas.TeamAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def join(request: HttpRequest, slug: Slug, choice: schemas.TeamChoice) -> Any:
    """Join a challenge: alone, in a new team, or in an existing team by its code.

    The header `Challenge-Key` contains the key in the challenge's secret link, if it has one.
    """
    found, user = get_object_or_404(Challenge, slug=slug), token_of(request).user
    if found.rules.strip() and not choice.accept_rules:
        rules = f"{settings.ADDRESS}{reverse('challenge_rules', args=(slug,))}"
        raise TeamError(f"'accept_rules' must be true to accept the rules of the challenge: {rules}")
    if choice.code is not None and choice.name is not None:
        raise TeamError("'name' must be absent with 'code', which joins an existing team")
    if choice.code is not None:
        joined = enrollment.join(user, found, choice.code)
    else:
        is_invited = has_key(found, get_keys(request, found.pk))
        joined = enrollment.make_team(user, found, choice.name or "", invited=is_invited)
    return Status(201, _serialize_team(joined))


@router.delete("/challenges/{slug}/team", response={204: None, (403, 404, 409): schemas.Problem}, auth=SUBMIT)
def leave(request: HttpRequest, slug: Slug) -> Any:
    """Leave your team. The team keeps its submissions."""
    membership.leave(token_of(request).user, get_object_or_404(Challenge, slug=slug))
    return Status(204, None)


@router.post(
    "/challenges/{slug}/team/invitation",
    response={200: schemas.TeamAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def invite(request: HttpRequest, slug: Slug, invitation: schemas.Invitation) -> Any:
    """Create a new invitation code for your team; the old one stops working.

    You must own the team. The code is valid for the given number of days.
    """
    found = _get_owned_team(request, slug)
    enrollment.invite(found, invitation.days)
    return _serialize_team(found)


@router.delete(
    "/challenges/{slug}/team/invitation",
    response={204: None, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def revoke_invitation(request: HttpRequest, slug: Slug) -> Any:
    """Revoke the invitation code of the team that you own."""
    enrollment.revoke_invitation(_get_owned_team(request, slug))
    return Status(204, None)


@router.delete(
    "/challenges/{slug}/team/members/{user}",
    response={204: None, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def remove_member(request: HttpRequest, slug: Slug, user: UserName) -> Any:
    """Remove a member from the team that you own, and revoke its invitation code."""
    membership.remove(token_of(request).user, get_object_or_404(Challenge, slug=slug), user)
    return Status(204, None)


@router.put(
    "/challenges/{slug}/team/owner",
    response={200: schemas.TeamAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def transfer_ownership(request: HttpRequest, slug: Slug, owner: schemas.Owner) -> Any:
    """Transfer ownership of your team to another member."""
    challenge = get_object_or_404(Challenge, slug=slug)
    membership.transfer_ownership(token_of(request).user, challenge, owner.name.replace("\0", ""))
    return _serialize_team(_get_team(request, challenge))


@router.put(
    "/challenges/{slug}/team/captions",
    response={200: schemas.TeamAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def agree(request: HttpRequest, slug: Slug, agreement: schemas.Agreement) -> Any:
    """Set whether the captions of your team's leaderboard submissions are public."""
    challenge = get_object_or_404(Challenge, slug=slug)
    membership.set_captions_consent(
        token_of(request).user, challenge, shows_captions=agreement.shows_captions
    )
    return _serialize_team(_get_team(request, challenge))


def _get_owned_team(request: HttpRequest, slug: str) -> Team:
    return membership.get_owned_team(token_of(request).user, get_object_or_404(Challenge, slug=slug))


def _get_team(request: HttpRequest, challenge: Challenge) -> Team:
    found = enrollment.team_of(token_of(request).user, challenge)
    if found is None:
        raise NotFoundError
    return found


def _serialize_team(team: Team) -> dict[str, Any]:
    shown = [
        {"name": member.user.username, "owner": member.owner, "approved": member.approved}
        for member in team.memberships.select_related("user").order_by("joined", "pk")
    ]
    return {
        "name": team.name,
        "code": team.code,
        "code_expires": team.code_expires,
        "members": [member["name"] for member in shown],
        "owner": next((member["name"] for member in shown if member["owner"]), None),
        "waiting": [member["name"] for member in shown if not member["approved"]],
        "shows_captions": team.shows_captions,
    }
