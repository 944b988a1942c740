"""What everybody sees: challenges, leaderboards, jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, register_converter
from django.urls.converters import SlugConverter
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from capeval_server.challenges.access import makes_challenges, organises
from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.challenges.names import NOT_CHALLENGES
from capeval_server.errors import QuestionError
from capeval_server.leaderboards.citing import bibtex, fingerprint
from capeval_server.leaderboards.plots import plot
from capeval_server.leaderboards.questions import Question, ask, may_see
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.pages import texts
from capeval_server.pages.labels import label
from capeval_server.pages.markdown import excerpt, to_html
from capeval_server.pages.tables import address, table
from capeval_server.submissions.queue import jobs
from capeval_server.teams.joining import team_of

__all__ = ["urlpatterns"]


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
    # What is open comes first, and what is closed last.
    phases.sort(key=lambda phase: ("open", "upcoming", "closed").index(phase.when(now)))
    context = {
        "challenge": found,
        "team": request.user.is_authenticated and team_of(request.user, found),
        "declared": [(label(field["name"]), field["required"]) for field in found.fields],
        "description": to_html(found.description),
        "rules": to_html(found.rules),
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


def _phase(slug: str, name: str) -> Phase:
    return get_object_or_404(Phase.objects.select_related("challenge"), challenge__slug=slug, name=name)


def _question(request: HttpRequest, phase: Phase) -> Question:
    names = ("split", "references", "subset", "sort_by", "order")
    asked: dict[str, Any] = {name: request.GET.get(name, "") for name in names}
    try:
        if "version" in request.GET:
            asked["version"] = int(request.GET["version"])
        if "as_of" in request.GET:
            asked["as_of"] = datetime.fromisoformat(request.GET["as_of"])
            if asked["as_of"].tzinfo is None:
                raise Http404
        return ask(phase, **asked)
    except (ValueError, QuestionError):
        raise Http404 from None


def _page(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 6 and int(text)):
        raise Http404
    return int(text)


def _hidden(request: HttpRequest, phase: Phase) -> HttpResponse:
    """The answer to whoever may not see a leaderboard: when they may, and nothing of what is there."""
    context = {"phase": phase, "challenge": phase.challenge}
    return render(request, "pages/public/hidden.html", context, status=403)


def show_leaderboard(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The leaderboard of a phase."""
    phase = _phase(slug, name)
    if not may_see(request.user, phase):
        return _hidden(request, phase)
    question, page = _question(request, phase), _page(request)
    board = leaderboard(question, page=page)
    if page > board.pages:
        raise Http404
    context = {
        "phase": phase,
        "challenge": phase.challenge,
        "question": question,
        "board": board,
        "table": table(board),
        "public": phase.shows_leaderboard(timezone.now()),
        "cited": _cited(request, question),
        "state": phase.when(timezone.now()),
    }
    return render(request, "pages/public/leaderboard.html", context)


def _cited(request: HttpRequest, question: Question) -> str:
    """What there is to say of a leaderboard that was cited: whether it is still the same."""
    cited = request.GET.get("fingerprint", "")
    if not cited:
        return ""
    return "same" if cited == fingerprint(leaderboard(question, compared=False)) else "changed"


def cite(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """How to cite a leaderboard as it is now."""
    phase = _phase(slug, name)
    if not may_see(request.user, phase):
        return _hidden(request, phase)
    question = _question(request, phase)
    # In whole seconds, as it is in the address.
    at = timezone.now().replace(microsecond=0) + timedelta(seconds=1)
    question = replace(question, as_of=question.as_of or at)
    board = leaderboard(question, compared=False)
    mark = fingerprint(board)
    permalink = request.build_absolute_uri(address(question, pinned=True, fingerprint=mark))
    context = {
        "phase": phase,
        "challenge": phase.challenge,
        "question": question,
        "back": address(question if "as_of" in request.GET else replace(question, as_of=None)),
        "permalink": permalink,
        "mark": mark,
        "bibtex": bibtex(board, address=permalink, at=timezone.now(), mark=mark),
    }
    return render(request, "pages/public/cite.html", context)


def show_plot(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The best rows of a leaderboard as a plot."""
    phase = _phase(slug, name)
    if not may_see(request.user, phase):
        return _hidden(request, phase)
    question = replace(_question(request, phase), best_first=True)
    drawn = plot(leaderboard(question, page=1, compared=False), _theme(request))
    tag = drawn.etag
    asked = parse_etags(request.headers.get("If-None-Match", ""))
    answer = (
        HttpResponse(status=304)
        if tag in asked or "*" in asked
        else HttpResponse(drawn.svg(), content_type="image/svg+xml")
    )
    answer["ETag"] = tag
    # Asked for again each time, as what stands may have changed; not sent again when it has not.
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _theme(request: HttpRequest) -> Literal["light", "dark"]:
    return "dark" if request.GET.get("theme") == "dark" else "light"


def show_jobs(request: HttpRequest) -> HttpResponse:
    """What waits to be scored, and who scores."""
    now = timezone.now()
    found = jobs(now)
    most = max(scored for _, scored in found.by_hour)
    bars = [_bar(place, hour, scored, most) for place, (hour, scored) in enumerate(found.by_hour)]
    context = {"jobs": found, "bars": bars, "most": most, "now": now, "wait": _wait(found.expected_wait)}
    part = request.headers.get("HX-Request") == "true"
    answer = render(request, "pages/public/jobs_now.html" if part else "pages/public/jobs.html", context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def _bar(place: int, hour: datetime, scored: int, most: int) -> dict[str, Any]:
    height = round(80 * scored / max(most, 1))
    shape = {"x": 2 + 24 * place, "y": 80 - height, "height": height}
    return {**shape, "hour": hour, "scored": scored, "label": hour.hour % 6 == 0}


def _wait(seconds: float | None) -> str:
    if seconds is not None and seconds < 1:
        return "would be scored at once"
    return f"would wait {about}" if (about := texts.wait(seconds)) else ""


class ChallengeConverter(SlugConverter):
    """A challenge's name in an address, which is none of the words that other addresses begin with."""

    regex = rf"(?!(?:{'|'.join(sorted(NOT_CHALLENGES))})(?:/|$)){SlugConverter.regex}"


register_converter(ChallengeConverter, "challenge")

urlpatterns = [
    path("", home, name="home"),
    path("jobs/", show_jobs, name="jobs"),
    path("<challenge:slug>/", challenge, name="challenge"),
    path("<challenge:slug>/<slug:name>/", show_leaderboard, name="leaderboard"),
    path("<challenge:slug>/<slug:name>/cite/", cite, name="cite"),
    path("<challenge:slug>/<slug:name>/plot.svg", show_plot, name="leaderboard_plot"),
]
