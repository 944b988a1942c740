"""Example browser: images of a split with the captions of several methods."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.http.request import QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from capeval_server.challenges.link_validation import origin_of
from capeval_server.challenges.models import ReferenceSet, Split
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors import image_browser, visibility
from capeval_server.submissions.selectors.scores import higher_is_better
from capeval_server.web.histograms import Histogram, histogram
from capeval_server.web.participant.common import TEMPLATES, no_such_submission

__all__ = ["examples"]

_PER_PAGE = 10
_MOST_METHODS = 6
_DEFAULT_METHODS = 3
_OFFERED, _OFFERED_OWN = 12, 6
_ORDERS = {"worst": "worst first", "best": "best first", "image": "as in the split"}


class _Parameters:
    """Parameters of the query string, with defaults for missing and invalid values."""

    def __init__(self, submission: Submission, query: QueryDict) -> None:
        splits = image_browser.splits_of(submission)
        self.splits = splits
        self.split = _find_named(splits, query.get("split")) if splits else None
        if self.split is None:
            return
        sets = sorted(self.split.reference_sets.all(), key=lambda one: one.name)
        self.reference_sets: list[ReferenceSet] = sets
        self.references: ReferenceSet = _find_named(sets, query.get("references"))
        # Reuses the split that is already loaded.
        self.references.split = self.split
        self.table = image_browser.image_table(submission, self.references)
        names = self.table.names if self.table else []
        self.sort_by = next(
            (name for name in (query.get("sort"), self.split.sort_by, *names) if name in names), ""
        )
        order = query.get("order", "worst")
        self.order = order if order in _ORDERS and self.sort_by else "worst" if self.sort_by else "image"
        self.image = query.get("image", "").strip()


def _find_named(among: list[Any], name: str | None) -> Any:
    return next((one for one in among if one.name == name), among[0])


@require_safe
@never_cache
def examples(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the images of a split with references and captions, sorted by a score."""
    found = visibility.get_scored(request.user, pk)
    if found is None:
        return no_such_submission(request)
    submission, own = found
    phase = submission.phase
    context: dict[str, Any] = {
        "submission": submission,
        "own": own,
        "phase": phase,
        "challenge": submission.challenge,
    }
    asked = _Parameters(submission, request.GET)
    if asked.split is None:
        return render(request, f"{TEMPLATES}/examples.html", {**context, "asked": None})
    context |= {"asked": asked, **_list_methods(request, submission, asked.split, asked.references)}
    context |= _build_page(request, asked, context["shown"])
    answer = render(request, f"{TEMPLATES}/examples.html", context)
    origin = origin_of(asked.split.image_url)
    if origin:
        # Only this page may load images from the challenge's `image_url`.
        answer._csp_update = {"img-src": [origin]}  # type: ignore[attr-defined]
    return answer


def _list_methods(
    request: HttpRequest, submission: Submission, split: Split, references: ReferenceSet
) -> dict[str, Any]:
    """Return the methods offered for comparison, and the selected ones."""
    public = visibility.list_published(timezone.now()).exclude(pk=submission.pk)
    offered = image_browser.methods(split, references, public, _OFFERED)
    mine = visibility.list_own(request.user).exclude(pk__in=[submission.pk, *(one.pk for one in offered)])
    mine = mine.filter(state=Submission.State.SCORED, files__split=split).order_by("-created")
    mine = visibility.exclude_withheld(mine, request.user, submission.challenge)
    offered_own = list(mine[:_OFFERED_OWN])
    known = {str(one.pk): one for one in (*offered, *offered_own)}
    chosen = [known[key] for key in dict.fromkeys(request.GET.getlist("with")) if key in known]
    if "chosen" not in request.GET:
        chosen = offered[:_DEFAULT_METHODS]
    chosen = chosen[:_MOST_METHODS]
    return {
        "offered": [(one, one in chosen) for one in offered],
        "offered_own": [(one, one in chosen) for one in offered_own],
        "shown": [submission, *chosen],
        "most_methods": _MOST_METHODS,
    }


def _build_page(request: HttpRequest, asked: _Parameters, shown: list[Submission]) -> dict[str, Any]:
    assert asked.split is not None  # noqa: S101 - without a split, another page is shown.
    image_ids = asked.split.image_ids
    descending = (asked.order == "best") == higher_is_better(asked.split, asked.sort_by)
    order = image_browser.ordered(asked.table, asked.sort_by, descending, len(image_ids))
    if asked.order == "image":
        order = np.arange(len(image_ids))
    context: dict[str, Any] = {"images": len(image_ids), "orders": _ORDERS, "missing": ""}
    if asked.image:
        place = _find_place(image_ids, asked.image)
        places = [] if place is None else [place]
        context |= {"missing": asked.image if place is None else "", "rank": None}
        if place is not None:
            context["rank"] = int(np.flatnonzero(order == place)[0]) + 1
            context["its_page"] = (context["rank"] - 1) // _PER_PAGE + 1
    else:
        pages = -(-len(image_ids) // _PER_PAGE)
        number = _parse_page_number(request.GET.get("page", ""), pages)
        places = [int(place) for place in order[(number - 1) * _PER_PAGE : number * _PER_PAGE]]
        context |= {"page": number, "pages": pages, "first": (number - 1) * _PER_PAGE + 1}
    columns = _list_columns(asked, shown)
    context["columns"] = columns
    context["examples"] = image_browser.examples(asked.split, asked.references, shown, places, columns)
    context["histogram"] = _build_histogram(asked)
    context["base"] = _drop_parameters(request.GET, "page", "image")
    return context


def _list_columns(asked: _Parameters, shown: list[Submission]) -> list[str]:
    """Return the shown scores, beginning with the one that the images are sorted by.

    On a narrow page, the first score is visible without scrolling.
    """
    names = image_browser.score_columns(image_browser.image_table(one, asked.references) for one in shown)
    return sorted(names, key=lambda name: name != asked.sort_by)


def _build_histogram(asked: _Parameters) -> Histogram | None:
    return histogram(asked.table.column(asked.sort_by)) if asked.table and asked.sort_by else None


def _find_place(image_ids: list[Any], text: str) -> int | None:
    wanted: int | str = text
    if isinstance(image_ids[0], int):
        # Parsing numbers longer than any id would only cost time.
        if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
            return None
        wanted = int(text)
    return image_ids.index(wanted) if wanted in image_ids else None


def _parse_page_number(text: str, most: int) -> int:
    return min(max(int(text), 1), most) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _drop_parameters(query: QueryDict, *names: str) -> str:
    kept = query.copy()
    for name in names:
        kept.pop(name, None)
    return kept.urlencode()
