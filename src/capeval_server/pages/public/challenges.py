"""The pages of all challenges, and of one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from capeval_server.challenges.access import makes_challenges, organises
from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.leaderboards.questions import may_see
from capeval_server.pages import texts
from capeval_server.pages.markdown import excerpt, to_html
from capeval_server.pages.public import about
from capeval_server.teams.joining import team_of

__all__ = ["challenge", "home"]


def home(request: HttpRequest) -> HttpResponse:
    """All challenges."""
    now = timezone.now()
    found = Challenge.objects.prefetch_related("phases").annotate(
        submissions=Count("phases__submissions", filter=~Q(phases__submissions__state="withdrawn"))
    )
    challenges = [
        {"challenge": challenge, "about": excerpt(challenge.description), "phases": _timeline(challenge, now)}
        for challenge in found.order_by("title")
    ]
    context = {"challenges": challenges, "makes": makes_challenges(request.user)}
    return render(request, "pages/public/home.html", context)


def _timeline(challenge: Challenge, now: datetime) -> dict[str, list[tuple[Phase, bool]]]:
    """The phases by their state, each with whether everybody may see its leaderboard."""
    found: dict[str, list[tuple[Phase, bool]]] = {"upcoming": [], "open": [], "closed": []}
    for phase in sorted(challenge.phases.all(), key=lambda phase: (phase.closes, phase.pk)):
        found[phase.when(now)].append((phase, phase.shows_leaderboard(now)))
    return found


def challenge(request: HttpRequest, slug: str) -> HttpResponse:
    """A challenge: what it is, its rules, splits and phases."""
    found = get_object_or_404(Challenge, slug=slug)
    now = timezone.now()
    splits = found.splits.prefetch_related("reference_sets", "subsets").order_by("pk")
    phases = list(found.phases.prefetch_related("splits").order_by("opens", "pk"))
    for phase in phases:
        phase.challenge = found
    # Open phases come first, and closed ones last.
    phases.sort(key=lambda phase: ("open", "upcoming", "closed").index(phase.when(now)))
    pictures = about.pictures_of(found)
    context = {
        "challenge": found,
        "team": request.user.is_authenticated and team_of(request.user, found),
        "declared": [
            (texts.label(field["name"]), field["required"], field.get("shown", True))
            for field in found.fields
        ],
        "description": to_html(found.description, pictures),
        "rules": to_html(found.rules, pictures),
        "texts": [one for one in about.texts_of(found) if one[0] != "about"],
        "announcement": found.announcements.order_by("-created", "-pk").first(),
        "splits": [{"split": split, **_facts(split)} for split in splits],
        "phases": [
            {"phase": phase, "state": phase.when(now), "shown": may_see(request.user, phase)}
            for phase in phases
        ],
        "open": any(phase.when(now) == "open" for phase in phases),
        "organises": organises(request.user, found),
    }
    return render(request, "pages/public/challenge.html", context)


def _facts(split: Split) -> dict[str, Any]:
    return {
        "images": len(split.image_ids),
        "example": texts.example_results(split),
        "file": texts.example_name(split),
        "subsets": [subset.name for subset in split.subsets.all()],
        "references": sorted(split.reference_sets.all(), key=lambda found: found.pk),
    }
