"""The pages of a leaderboard: its table, its plot, how to cite it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import parse_etags

from capeval_server.challenges.access import organises, phase_named
from capeval_server.challenges.models import Phase
from capeval_server.errors import NotFoundError, QuestionError
from capeval_server.leaderboards.citing import bibtex, fingerprint
from capeval_server.leaderboards.plots import plot
from capeval_server.leaderboards.questions import Question, ask, may_see
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.pages.public.tables import address, table

__all__ = ["cite", "show_leaderboard", "show_plot"]


def _question(request: HttpRequest, phase: Phase) -> Question:
    names = ("split", "references", "subset", "sort_by", "order", "layout")
    asked: dict[str, Any] = {name: request.GET.get(name, "") for name in names}
    try:
        if "version" in request.GET:
            asked["version"] = int(request.GET["version"])
        if "as_of" in request.GET:
            asked["as_of"] = datetime.fromisoformat(request.GET["as_of"])
            if asked["as_of"].tzinfo is None:
                raise NotFoundError
        return ask(phase, **asked)
    except (ValueError, QuestionError):
        raise NotFoundError from None


def _page(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 6 and int(text)):
        raise NotFoundError
    return int(text)


def _hidden(request: HttpRequest, phase: Phase) -> HttpResponse:
    """The page for users who may not see a leaderboard: it only says when they may."""
    context = {"phase": phase, "challenge": phase.challenge}
    return render(request, "pages/public/hidden.html", context, status=403)


def show_leaderboard(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The leaderboard of a phase."""
    phase = phase_named(slug, name)
    if not may_see(request.user, phase):
        return _hidden(request, phase)
    question, page = _question(request, phase), _page(request)
    full = organises(request.user, phase.challenge)
    board = leaderboard(question, page=page, full=full)
    if page > board.pages:
        raise NotFoundError
    context = {
        "phase": phase,
        "challenge": phase.challenge,
        "question": question,
        "board": board,
        "table": table(board),
        "rounded": not (full or question.reference_set.public),
        "public": phase.shows_leaderboard(timezone.now()),
        "cited": _cited(request, question),
        "state": phase.when(timezone.now()),
    }
    return render(request, "pages/public/leaderboard.html", context)


def _cited(request: HttpRequest, question: Question) -> str:
    """Whether a leaderboard that was cited is still the same."""
    cited = request.GET.get("fingerprint", "")
    if not cited:
        return ""
    return "same" if cited == fingerprint(leaderboard(question, compared=False)) else "changed"


def cite(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """How to cite a leaderboard as it is now."""
    phase = phase_named(slug, name)
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
    phase = phase_named(slug, name)
    if not may_see(request.user, phase):
        return _hidden(request, phase)
    question = replace(_question(request, phase), best_first=True)
    full = organises(request.user, phase.challenge)
    board = leaderboard(question, page=1, compared=False, full=full)
    drawn = plot(board, _theme(request), narrow=request.GET.get("width") == "narrow")
    tag = drawn.etag
    asked = parse_etags(request.headers.get("If-None-Match", ""))
    answer = (
        HttpResponse(status=304)
        if tag in asked or "*" in asked
        else HttpResponse(drawn.svg(), content_type="image/svg+xml")
    )
    answer["ETag"] = tag
    # Browsers must ask again each time, as the leaderboard may have changed; the ETag saves sending it again.
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _theme(request: HttpRequest) -> Literal["light", "dark"]:
    return "dark" if request.GET.get("theme") == "dark" else "light"
