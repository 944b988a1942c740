"""The API: puts its parts together."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI, Status

from capeval import __version__
from capeval_server.api import (
    campaigns,
    challenges,
    leaderboards,
    notices,
    organising,
    people,
    submissions,
    working,
)
from capeval_server.api.bodies import TextParser
from capeval_server.api.problems import answer_problems
from capeval_server.api.tokens import READ, token_of

__all__ = ["api"]

_ABOUT = """What the pages show and do, for programs. Public data needs no token. For all else, make a
token on the page of [API tokens](/tokens/) and send it as `Authorization: Bearer TOKEN`. Times are in UTC."""
api = NinjaAPI(
    title="capeval server",
    version=__version__,
    description=_ABOUT,
    urls_namespace="api",
    parser=TextParser(),
)
api.add_router("", challenges.router)
api.add_router("", submissions.router)
api.add_router("", leaderboards.router)
api.add_router("/challenges/{slug}/organise", organising.router)
api.add_router("/challenges/{slug}/organise", people.router)
api.add_router("", notices.router)
api.add_router("/challenges/{slug}/organise", notices.organising)
api.add_router("/annotate/{slug}", working.router)
api.add_router("/campaigns", campaigns.router)
answer_problems(api)


@api.delete("/token", response={204: None}, auth=READ, tags=["Tokens"])
def revoke(request: HttpRequest) -> Any:
    """Revokes the token of the request."""
    token_of(request).revoke()
    return Status(204, None)
