"""Access to challenges: one check for all their pages, API operations and files.

Requests for a hidden challenge get the same response as requests for a missing one. Views need no check of
their own, because the middleware finds the challenge from the route.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.challenges.services.links import has_key
from capeval_server.core.errors import NotFoundError
from capeval_server.http.link_keys import get_keys
from capeval_server.teams.services.enrollment import membership_of

__all__ = ["ChallengeAccessMiddleware"]

_OF_CHALLENGES = re.compile(r"<(challenge|slug):slug>/|api/challenges/<slug>")
_OF_SUBMISSIONS = re.compile(r"(api/)?submissions/<")
# Routes with the images of splits, or with references.
_OF_DATA = re.compile(
    r"<challenge:slug>/(images/|references/|kit\.zip|data/.)|api/challenges/<slug>/(splits/|submission-format)"
)
# The route that checks the key itself.
_LINK = "challenge_link"


class ChallengeAccessMiddleware:
    """Middleware that hides drafts, unlisted challenges and data before their release."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the view's response. Caches must not store responses about hidden challenges."""
        answer = self._get_response(request)
        if getattr(request, "is_about_hidden", False):
            answer["Cache-Control"] = "private, no-store"
        return answer

    def process_view(
        self, request: HttpRequest, _: Callable[..., Any], __: Any, parameters: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Return the response to a request without access, or None if the view may respond.

        Raises:
            Http404: The challenge does not exist, or the user may not see it.
        """
        match = request.resolver_match
        route = match.route if match else ""
        is_api = route.startswith("api/")
        if _OF_CHALLENGES.match(route):
            # The view validates names that no challenge has.
            slug = str(parameters.get("slug", "")).replace("\0", "")
            found = Challenge.objects.filter(slug=slug)
        elif _OF_SUBMISSIONS.match(route):
            pk = _parse_id(parameters.get("pk") or parameters.get("submission_id"))
            # Human baselines belong to a reference set, and not to a phase.
            of_baseline = Q(splits__reference_sets__baselines=pk)
            found = Challenge.objects.filter(Q(phases__submissions=pk) | of_baseline).distinct()
        else:
            return None
        challenge = found.only("slug", "visibility", "data_released").first()
        if challenge is None or (match and match.url_name == _LINK):
            # A missing challenge and a hidden one are alike, also for visitors without an account.
            if challenge is None and _OF_CHALLENGES.match(route):
                return _refuse(is_api=is_api)
            return None
        request.is_about_hidden = not challenge.is_listed  # type: ignore[attr-defined]
        user, organizes = _find_user(request, is_api=is_api)
        if not _may_see(request, user, challenge, organizes=organizes):
            return _refuse(is_api=is_api)
        if _OF_DATA.match(route) and not challenge.has_released_data(timezone.now()):
            return _refuse_data(request, user, challenge, is_api=is_api, organizes=organizes)
        return None


def _parse_id(text: Any) -> UUID | None:
    try:
        return text if isinstance(text, UUID) else UUID(str(text))
    except ValueError:
        return None


def _find_user(request: HttpRequest, *, is_api: bool) -> tuple[User | AnonymousUser, bool]:
    """Return the user of a request, and whether they may act as an organizer."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    token = Token.of_text(text) if is_api and kind.lower() == "bearer" else None
    if token is None:
        return request.user, True
    return token.user, token.scope == Token.Scope.ORGANIZE


def _may_see(
    request: HttpRequest, user: User | AnonymousUser, challenge: Challenge, *, organizes: bool
) -> bool:
    if challenge.is_listed or (organizes and is_organizer(user, challenge)):
        return True
    if challenge.visibility == Challenge.Visibility.DRAFT:
        return False
    is_member = isinstance(user, User) and membership_of(user, challenge) is not None
    return is_member or has_key(challenge, get_keys(request, challenge.pk))


def _refuse(*, is_api: bool) -> HttpResponse:
    if is_api:
        return JsonResponse({"detail": str(NotFoundError())}, status=404)
    raise Http404


def _refuse_data(
    request: HttpRequest,
    user: User | AnonymousUser,
    challenge: Challenge,
    *,
    is_api: bool,
    organizes: bool,
) -> HttpResponse | None:
    """Return the response to a request for data before their release, or None for organizers."""
    if organizes and is_organizer(user, challenge):
        return None
    if is_api:
        assert challenge.data_released is not None  # noqa: S101 - data without a time are released.
        text = f"the images of the challenge are released at {challenge.data_released.isoformat()}"
        return JsonResponse({"detail": text}, status=403)
    return render(request, "web/public/unreleased.html", {"challenge": challenge}, status=403)
