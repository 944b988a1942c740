"""Pages of a leaderboard: table, plot and citation."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from capeval_server.challenges.models import Phase
from capeval_server.challenges.selectors.access import get_phase, is_organizer
from capeval_server.core.errors import LeaderboardQueryError, NotFoundError
from capeval_server.core.svg_plots import theme_named
from capeval_server.http.conditional_get import compute_etag, respond_conditionally
from capeval_server.leaderboards.citation import bibtex, fingerprint
from capeval_server.leaderboards.plots import plot
from capeval_server.leaderboards.query import LeaderboardQuery, build_query, may_see
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.leaderboards.render_cache import get_or_render, replace_time
from capeval_server.web.public.leaderboard_table import address, current, table, time_asked

__all__ = ["cite", "show_leaderboard", "show_plot"]

_FINGERPRINT = re.compile("[0-9a-f]{16}")


def _parse_query(request: HttpRequest, phase: Phase) -> LeaderboardQuery:
    names = ("split", "references", "subset", "sort_by", "order", "layout")
    asked: dict[str, Any] = {name: request.GET.get(name, "") for name in names}
    asked["declared"] = request.GET.getlist("declared")
    try:
        if "version" in request.GET:
            asked["version"] = int(request.GET["version"])
        if "as_of" in request.GET:
            asked["as_of"] = datetime.fromisoformat(request.GET["as_of"])
            if asked["as_of"].tzinfo is None:
                raise NotFoundError
        return build_query(phase, **asked)
    except (ValueError, LeaderboardQueryError):
        raise NotFoundError from None


def _parse_page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 6 and int(text)):
        raise NotFoundError
    return int(text)


def _show_hidden(request: HttpRequest, phase: Phase) -> HttpResponse:
    """Render the page for users without access. It states when access begins."""
    context = {"phase": phase, "challenge": phase.challenge}
    return render(request, "web/public/hidden.html", context, status=403)


def show_leaderboard(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show the leaderboard of a phase."""
    phase = get_phase(slug, name)
    if not may_see(request.user, phase):
        return _show_hidden(request, phase)
    question, page = _parse_query(request, phase), _parse_page_number(request)
    full = is_organizer(request.user, phase.challenge)
    form = f"page {page} {get_language()}"
    common = question.plain and page == 1
    board = get_or_render(
        question, form, lambda: _render_board(question, page, full=full), full=full, common=common
    )
    board = replace_time(board, question.as_of, time_asked)
    now = timezone.now()
    context = {
        "phase": phase,
        "challenge": phase.challenge,
        "organizer": full,
        "question": question,
        "current": current(question),
        "public": phase.shows_leaderboard(now),
        "cited": _check_citation(request, question),
        "state": phase.get_state(now),
    }
    # The template that rendered it escaped the names.
    context["board"] = mark_safe(board.content.decode())  # noqa: S308
    about = (board.etag, context["public"], context["cited"], context["state"])
    # Messages are shown once, so a page with a message is not cached.
    etag = "" if get_messages(request) else _compute_etag(request, *about)
    return respond_conditionally(
        request, etag, lambda: render(request, "web/public/leaderboard.html", context)
    )


def _render_board(question: LeaderboardQuery, page: int, *, full: bool) -> bytes:
    """Render the part of the page that is the same for all users with access."""
    board = leaderboard(question, page=page, full=full)
    if page > board.pages:
        raise NotFoundError
    context = {
        "phase": question.phase,
        "challenge": question.phase.challenge,
        "question": question,
        "board": board,
        "table": table(board),
        "current": current(question),
        "ranked_reports": any(entry.rank for entry in board.reported),
        "rounded": not (full or question.reference_set.public),
    }
    return render_to_string("web/public/_board.html", context).encode()


def _compute_etag(request: HttpRequest, *about: object) -> str:
    """Return the ETag of a page with a user-specific header and CSRF-protected forms."""
    user = request.user
    reader = (user.pk, user.get_username(), getattr(user, "is_staff", False), request.META.get("CSRF_COOKIE"))
    return f"W/{compute_etag(repr((request.get_full_path(), get_language(), reader, about)).encode())}"


def _check_citation(request: HttpRequest, question: LeaderboardQuery) -> str:
    """Return "same" or "changed" for a cited leaderboard, or "" without a citation."""
    cited = request.GET.get("fingerprint", "")
    if not cited:
        return ""
    return (
        "same" if _FINGERPRINT.fullmatch(cited) and cited == _compute_fingerprint(question)[0] else "changed"
    )


def _compute_fingerprint(question: LeaderboardQuery) -> tuple[str, int]:
    """Return the fingerprint of a leaderboard and the number of its rows."""

    def make() -> bytes:
        board = leaderboard(question, compared=False)
        return f"{fingerprint(board)} {board.total}".encode()

    mark, rows = get_or_render(question, "fingerprint", make, full=False).content.decode().split()
    return mark, int(rows)


def cite(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show how to cite a leaderboard in its current state."""
    phase = get_phase(slug, name)
    if not may_see(request.user, phase):
        return _show_hidden(request, phase)
    question = _parse_query(request, phase)
    # Whole seconds, the precision of the URL.
    at = timezone.now().replace(microsecond=0) + timedelta(seconds=1)
    question = replace(question, as_of=question.as_of or at)
    mark, rows = _compute_fingerprint(question)
    permalink = request.build_absolute_uri(address(question, pinned=True, fingerprint=mark))
    context = {
        "phase": phase,
        "challenge": phase.challenge,
        "question": question,
        "back": address(question if "as_of" in request.GET else replace(question, as_of=None)),
        "permalink": permalink,
        "mark": mark,
        "bibtex": bibtex(question, rows=rows, address=permalink, at=timezone.now(), mark=mark),
    }
    return render(request, "web/public/cite.html", context)


def show_plot(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Send a plot of the best rows of a leaderboard."""
    phase = get_phase(slug, name)
    if not may_see(request.user, phase):
        return _show_hidden(request, phase)
    question = replace(_parse_query(request, phase), best_first=True)
    full = is_organizer(request.user, phase.challenge)
    theme = theme_named(request.GET.get("theme", ""))
    narrow = request.GET.get("width") == "narrow"

    def make() -> bytes:
        board = leaderboard(question, page=1, compared=False, full=full)
        return plot(board, theme, narrow=narrow).svg()

    form = f"plot {theme} {narrow}"
    drawn = get_or_render(question, form, make, full=full, common=question.plain)
    return respond_conditionally(
        request, drawn.etag, lambda: HttpResponse(drawn.content, content_type="image/svg+xml")
    )
