"""URL paths of routes, with the ids and names of rows that the story created."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache

from scripts.goldens.campaigns import CAMPAIGNS, FINISHED
from scripts.goldens.story import RELEASE, Story

__all__ = ["addresses"]

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")
_CAMPAIGN_PREFIXES = ("annotate/", "campaigns/", "api/annotate/", "api/campaigns/")
_BOARD = "split=val&references=c2"
# Parameters with the same value in all routes.
_FIXED = {
    "app_label": ["challenges"],
    "content_type_id": ["1"],
    "form": ["csv"],
    "id": ["1"],
    "key": ["invented"],
    "number": ["1"],
    "pk": ["1"],
    "references": ["c2"],
    "response_id": ["1"],
    "size": ["small"],
    "slug": ["small"],
    "split": ["val"],
    "text": ["write-coco"],
    "token": ["work_invented"],
    "uidb36": ["1"],
    "url": ["nothing"],
    "user": ["ann"],
}
# Methods of submissions, by the route parameter with the submission's id.
_SUBMISSIONS = {"submission_id": "alpha", "other_id": "gamma"}
# Query strings that change a page, by route.
_QUERIES = {
    "<challenge:slug>/<slug:name>/": [
        "",
        _BOARD,
        f"{_BOARD}&subset=animals",
        "split=val&references=c1&layout=both",
    ],
    "<challenge:slug>/<slug:name>/captions/": ["", "search=dog"],
    "<challenge:slug>/<slug:name>/plot.svg": [_BOARD, f"{_BOARD}&theme=dark"],
    "<challenge:slug>/images/<slug:split>/": ["", "image=1"],
    "api/challenges/<slug>/phases/<phase>/leaderboard": ["", _BOARD, f"{_BOARD}&format=csv"],
    "api/submissions/<submission_id>/images": ["split=val&references=c1"],
    "campaigns/<slug:slug>/items/": ["", "which=checks"],
    "campaigns/<slug:slug>/reviews/": ["", "state=all"],
    "submissions/<uuid:pk>/compare/": ["", "with=OTHER"],
    "submissions/<uuid:pk>/examples/": ["", "split=shown&references=c1&image=1"],
    "<slug:slug>/organize/submissions/": ["", "state=scored&team=a"],
}


def addresses(story: Story, route: str) -> Iterator[str]:
    """Yield the paths to request for a route.

    Raises:
        RuntimeError: A parameter has no value here.
    """
    parameters = [match[1] or match[2] for match in _PARAMETER.finditer(route)]
    values = [_list_values(story, route, name) for name in parameters]
    for chosen in itertools.product(*values):
        given = iter(chosen)
        path = _PARAMETER.sub(lambda _: next(given), route)  # noqa: B023
        for query in _QUERIES.get(route, [""]):
            found = query.replace("OTHER", story.submissions["gamma"])
            yield f"/{path}" + (f"?{found}" if found else "")
    if route == "<challenge:slug>/":
        yield "/nothing-is-here/"


def _list_values(story: Story, route: str, name: str) -> Sequence[str]:
    if name == "slug" and route.startswith(_CAMPAIGN_PREFIXES):
        return _list_campaigns(route)
    if name == "object_id":
        return _find_row(story, route)
    if name == "pk" and "teams/" in route:
        return [_get_team(story)]
    if name == "pk" and "<uuid:pk>" in route:
        return [story.submissions[method] for method in ("alpha", "waiting", "eta")]
    if name == "split" and "references" not in route:
        return ["val", "shown"]
    if name in ("name", "phase"):
        return _list_names(route)
    if name == "team_id":
        return [_get_team(story)]
    if name == "lease":
        return [_get_lease(story)]
    if name in _SUBMISSIONS:
        return [story.submissions[_SUBMISSIONS[name]]]
    if name == "pseudonym":
        return [_get_worker(story, _list_campaigns(route)[0])]
    if name not in _FIXED:
        raise RuntimeError(
            f"no value for parameter {name!r} of the route {route!r}: add one in scripts/goldens/addresses.py"
            " or list the route in goldens/unvisited.toml"
        )
    return _FIXED[name]


def _list_campaigns(route: str) -> list[str]:
    if route == "annotate/<slug:slug>/":
        return list(CAMPAIGNS)
    if route.startswith(("annotate/", "api/annotate/")):
        return ["write-campaign"]
    if "releases/<" in route:
        return list(FINISHED)
    if route.count("<") > 1:
        return ["reviewed"]
    if route == "campaigns/<slug:slug>/results/":
        return ["reviewed", *FINISHED]
    return ["pairwise-campaign", "reviewed", "finished"]


def _list_names(route: str) -> list[str]:
    if "/releases/" in route:
        return [RELEASE]
    if "/reported/" in route:
        return ["old"]
    if "/pictures/" in route:
        return ["dot.gif"]
    return ["open", "first"]


@cache
def _get_worker(story: Story, campaign: str) -> str:
    workers = story.people["olga"].ask("GET", f"campaigns/{campaign}/workers")["workers"]
    return str(workers[0]["pseudonym"])


@cache
def _get_team(story: Story) -> str:
    teams = story.people["olga"].ask("GET", "challenges/small/organize/teams")["teams"]
    return str(next(team["id"] for team in teams if team["name"] == "Team A"))


@cache
def _get_lease(story: Story) -> str:
    """Return the lease of the annotator's current item."""
    page = story.people["annotator"].see("/annotate/write-campaign/")
    found = re.search(r"/annotate/write-campaign/([0-9a-f-]{36})/", page)
    if found is None:
        raise RuntimeError("the annotator has no item in the campaign 'write-campaign'")
    return found[1]


def _find_row(story: Story, route: str) -> list[str]:
    """Return the id of the first row in an admin list."""
    listed = route.partition("<")[0]
    found = re.search(rf'href="/{re.escape(listed)}([^/"]+)/change/', story.people["staff"].see(f"/{listed}"))
    return [found[1] if found else "1"]
