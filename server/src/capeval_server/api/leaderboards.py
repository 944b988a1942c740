"""Operations on leaderboards and the queue. Only hidden leaderboards need a token."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.responses import NinjaJSONEncoder

from capeval_server.accounts.models import Token
from capeval_server.api import schemas
from capeval_server.api.path_parameters import Slug
from capeval_server.challenges.selectors.access import get_phase, is_organizer
from capeval_server.http.conditional_get import respond_conditionally
from capeval_server.jobs.leases import database_time
from capeval_server.leaderboards.csv_export import to_csv
from capeval_server.leaderboards.entries import Leaderboard
from capeval_server.leaderboards.query import build_query, may_see
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.leaderboards.render_cache import get_or_render, replace_time
from capeval_server.submissions.selectors.queue import get_queue_status

__all__ = ["router"]

router = Router(tags=["Leaderboards and jobs"])


@router.get(
    "/challenges/{slug}/phases/{phase}/leaderboard",
    response={200: schemas.LeaderboardAnswer, (403, 404, 422): schemas.Problem},
)
def show_leaderboard(
    request: HttpRequest, slug: Slug, phase: Slug, asked: Annotated[schemas.LeaderboardParameters, Query()]
) -> Any:
    """Return the leaderboard of a phase by a reference set, on all images or a subset.

    Returns all rows, or one page of 50 rows. Only organizers can see hidden leaderboards. Scores by private
    references are rounded to three digits, except for organizers.
    """
    found, asker = get_phase(slug, phase), _get_user(request)
    if not may_see(asker, found):
        raise PermissionDenied(f"the leaderboard of phase {found.name!r} is hidden")
    question = build_query(found, **asked.model_dump(exclude={"page", "form"}))
    full = is_organizer(asker, found.challenge)

    def make() -> bytes:
        board = leaderboard(question, page=asked.page, full=full)
        return to_csv(board).encode() if asked.form == "csv" else _render_json(board)

    common = question.plain and asked.page in (None, 1)
    made = get_or_render(question, f"{asked.form} {asked.page}", make, full=full, common=common)
    made = replace_time(made, question.as_of, _render_time)
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json; charset=utf-8"}
    answer = respond_conditionally(
        request, made.etag, lambda: HttpResponse(made.content, content_type=kinds[asked.form])
    )
    if asked.form == "csv":
        answer["Content-Disposition"] = f'attachment; filename="{slug}-{phase}.csv"'
    return answer


def _get_user(request: HttpRequest) -> User | AnonymousUser:
    """Return the user of an `organize` token or, without a token, of the session."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    token = Token.of_text(text) if kind.lower() == "bearer" else None
    if token is None:
        return request.user
    return token.user if token.scope == Token.Scope.ORGANIZE else AnonymousUser()


def _render_json(board: Leaderboard) -> bytes:
    """Return a leaderboard as JSON, in the form of `LeaderboardAnswer`.

    The rows are not validated, which would take longer than creating them. The tests validate them.
    """
    answer = schemas.LeaderboardAnswer.model_validate(replace(board, rows=[], reported=[])).model_dump()
    names = list(schemas.LeaderboardRow.model_fields)
    answer["rows"] = [
        {
            **{name: getattr(row, name) for name in names},
            "judgments": {label: vars(details) for label, details in row.judgments.items()},
            **row.extra,
        }
        for row in board.rows
    ]
    answer["reported"] = [vars(entry) for entry in board.reported]
    return json.dumps(answer, cls=NinjaJSONEncoder).encode()


def _render_time(time: datetime) -> str:
    """Return the JSON member that contains the time of a leaderboard."""
    return f'"as_of": {json.dumps(time, cls=NinjaJSONEncoder)}'


@router.get("/jobs", response=schemas.JobsAnswer)
def show_jobs(request: HttpRequest) -> Any:
    """Return the state of the scoring queue and its workers."""
    return get_queue_status(database_time())
