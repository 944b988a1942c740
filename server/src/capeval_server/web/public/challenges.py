"""Home page, and the pages of a challenge."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from capeval_server.challenges.models import Challenge, Split
from capeval_server.challenges.selectors.access import is_organizer, may_create_challenges
from capeval_server.challenges.selectors.public_data import name_image_archive
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.challenges.services.links import has_key
from capeval_server.core.errors import NotFoundError
from capeval_server.http.link_keys import remember_key
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import places
from capeval_server.teams.services.enrollment import list_challenges, team_of
from capeval_server.web import presenters
from capeval_server.web.markdown import excerpt, to_html
from capeval_server.web.public import about
from capeval_server.web.tabs import nearest

__all__ = ["challenge", "data", "home", "open_link", "rules"]

_MOST_ROWS = 5


def home(request: HttpRequest) -> HttpResponse:
    """List the challenges that are public, or that the user takes part in or organizes."""
    now = timezone.now()
    found = (
        list_challenges(request.user)
        .prefetch_related("phases")
        .annotate(submissions=Count("phases__submissions", filter=~Q(phases__submissions__state="withdrawn")))
    )
    challenges = [_describe(challenge, now) for challenge in found.order_by("title")]
    # Archived challenges come last.
    challenges.sort(key=lambda item: item["state"] == "archived")
    context = {"challenges": challenges, "makes": may_create_challenges(request.user)}
    return render(request, "web/public/home.html", context)


def _describe(challenge: Challenge, now: datetime) -> dict[str, Any]:
    phases = _list_phases(challenge, now)
    return {
        "challenge": challenge,
        "state": challenge.get_state(now),
        "about": excerpt(challenge.description),
        "phases": phases,
        "open": next((each["phase"] for each in phases if each["state"] == "open"), None),
        "best": _list_best(challenge, now),
    }


def _list_phases(challenge: Challenge, now: datetime, *, organizer: bool = False) -> list[dict[str, Any]]:
    """Return the phases with their states, and whether their leaderboards are linked."""
    return [
        {
            "phase": phase,
            # Phases of an archived challenge accept no submissions.
            "state": "archived" if challenge.is_archived and state != "closed" else state,
            "shown": state != "upcoming" and (organizer or phase.shows_leaderboard(now)),
        }
        for phase in nearest(challenge.phases.all(), now)
        for state in (phase.get_state(now),)
    ]


def _list_best(challenge: Challenge, now: datetime) -> dict[str, Any]:
    """Return the first rows of the most relevant public leaderboard, if any."""
    phases = [one for one in nearest(challenge.phases.all(), now) if one.shows_leaderboard(now)]
    phase = next((one for one in phases if one.get_state(now) != "upcoming"), None)
    if phase is None:
        return {}
    phase.challenge = challenge
    question = build_query(phase)
    rows = [place for place in places(question)[:_MOST_ROWS] if place.score is not None]
    return {"phase": phase, "score": question.sort_by, "rows": rows}


@require_safe
@never_cache
def open_link(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Give a visitor with the secret link access to a challenge."""
    found = get_object_or_404(Challenge, slug=slug)
    if found.visibility == Challenge.Visibility.DRAFT or not has_key(found, [key]):
        raise NotFoundError
    remember_key(request, found.pk, key)
    return redirect("challenge", slug)


def challenge(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the description and the phases of a challenge."""
    found = get_object_or_404(Challenge.objects.prefetch_related("phases__splits"), slug=slug)
    now = timezone.now()
    organizer = is_organizer(request.user, found)
    phases = _list_phases(found, now, organizer=organizer)
    context = {
        "challenge": found,
        "state": found.get_state(now),
        "released": found.has_released_data(now),
        "organizer": organizer,
        "team": request.user.is_authenticated and team_of(request.user, found),
        "description": to_html(found.description, about.pictures_of(found)),
        "announcement": found.announcements.order_by("-created", "-pk").first(),
        "phases": phases,
        "open": any(each["state"] == "open" for each in phases),
    }
    return render(request, "web/public/challenge.html", context)


def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the splits of a challenge: their images and references."""
    found = get_object_or_404(Challenge, slug=slug)
    splits = (
        found.splits.select_related("image_archive")
        .prefetch_related("reference_sets", "subsets")
        .order_by("pk")
    )
    context = {
        "challenge": found,
        "text": to_html(found.data, about.pictures_of(found)),
        "released": found.has_released_data(timezone.now()) or is_organizer(request.user, found),
        "splits": [{"split": split, **_describe_split(split)} for split in splits],
    }
    return render(request, "web/public/data.html", context)


def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules and quotas of a challenge, and its declared fields."""
    found = get_object_or_404(Challenge.objects.prefetch_related("phases"), slug=slug)
    context = {
        "challenge": found,
        "rules": to_html(found.rules, about.pictures_of(found)),
        "phases": sorted(found.phases.all(), key=lambda phase: (phase.opens, phase.pk)),
        "declared": [(presenters.label(field.name), field) for field in found.declared_fields],
    }
    return render(request, "web/public/rules.html", context)


def _describe_split(split: Split) -> dict[str, Any]:
    archive = getattr(split, "image_archive", None)
    images = get_images(split) if archive is not None else ()
    return {
        "images": len(split.image_ids),
        "example": presenters.example_results(split),
        "file": presenters.example_name(split),
        "archive": archive,
        "archive_name": name_image_archive(split),
        "licenses": sorted({image.license for image in images if image.license}),
        "subsets": {name: len(images) for name, images in split.get_subset_images().items()},
        "references": sorted(split.reference_sets.all(), key=lambda found: found.pk),
    }
