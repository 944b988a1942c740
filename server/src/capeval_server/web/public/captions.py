"""Caption browser: captions of methods side by side, as in `capeval browse`."""

from __future__ import annotations

import math
import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from capeval.report.browser import script_json
from capeval_server.challenges.link_validation import origin_of
from capeval_server.challenges.models import Phase, ReferenceSet, Split
from capeval_server.challenges.selectors.access import get_phase
from capeval_server.submissions.selectors.captions import Filter, ShownCaptions, shown_methods, shown_splits

__all__ = ["show_captions"]

_PER_PAGE = 20
_MOST_METHODS = 6
_MOST_OFFERED = 50
_LONGEST_SEARCH = 200
_PLACES = {"": "everything", "candidates": "candidates", "references": "references"}
_ORDERS = {"highest": "highest first", "lowest": "lowest first", "file": "as in the split"}
_MENTIONED = {"": "all or not", "all": "all objects", "some": "not all objects"}
_WORDS = re.compile(r'"([^"]+)"?|[^\s"]+')


@require_safe
def show_captions(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show the public captions of a split by image, with the methods side by side."""
    phase, now = get_phase(slug, name), timezone.now()
    splits = shown_splits(phase, now)
    if not splits:
        raise Http404
    split = _find_named(splits, request.GET.get("split"))
    offered = shown_methods(phase, split, now, _MOST_OFFERED)
    chosen = set(request.GET.getlist("with"))
    shown = [one for one in offered if str(one.pk) in chosen][:_MOST_METHODS] or offered[:_MOST_METHODS]
    sets = sorted((one for one in split.reference_sets.all() if one.public), key=lambda one: one.name)
    references = _find_named(sets, request.GET.get("references")) if sets else None
    if references is not None:
        # Reuses the split that is already loaded.
        references.split = split
    captions = ShownCaptions(split=split, references=references, shown=shown)
    wanted = _parse_filter(request.GET, captions)
    context = _build_context(request, phase, splits, sets, captions, wanted)
    context["offered"] = [(one, one in shown) for one in offered]
    answer = render(request, "web/public/captions.html", context)
    origin = origin_of(split.image_url)
    if origin:
        # Only this page may load images from the split's `image_url`.
        answer._csp_update = {"img-src": [origin]}  # type: ignore[attr-defined]
    return answer


def _find_named(among: list[Any], name: str | None) -> Any:
    return next((one for one in among if one.name == name), among[0])


def _parse_filter(query: QueryDict, captions: ShownCaptions) -> Filter:
    """Return the filter in the query string, with defaults for invalid values."""
    names, shown = captions.names, captions.shown
    default = captions.split.sort_by if captions.split.sort_by in names else "".join(names[:1])
    score = _parse_choice(query, "score", names, default)
    system = _find_place(query.get("system"), shown) or 0
    other = _find_place(query.get("other"), shown) if score else None
    search = query.get("search", "")[:_LONGEST_SEARCH]
    return Filter(
        search=tuple(found[1] or found[0] for found in _WORDS.finditer(search)),
        where=_parse_choice(query, "where", _PLACES, ""),
        score=score,
        system=system,
        other=other,
        subset=_parse_choice(query, "domain", captions.subsets, ""),
        constraint=_parse_choice(query, "object", captions.objects, ""),
        mentioned=_parse_choice(query, "mentioned", _MENTIONED if captions.constraints else (), ""),
        least=_parse_number(query.get("least", "")) if score else None,
        most=_parse_number(query.get("most", "")) if score else None,
        order=_parse_choice(query, "order", _ORDERS, "highest") if score else "file",
    )


def _parse_choice(query: QueryDict, name: str, among: Any, default: str) -> str:
    text = query.get(name, default)
    return text if text in among else default


def _find_place(text: str | None, shown: Any) -> int | None:
    return next((place for place, one in enumerate(shown) if str(one.pk) == text), None)


def _parse_number(text: str) -> float | None:
    try:
        value = float(text[:30])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _build_context(
    request: HttpRequest,
    phase: Phase,
    splits: list[Split],
    sets: list[ReferenceSet],
    captions: ShownCaptions,
    wanted: Filter,
) -> dict[str, Any]:
    places = captions.places(wanted) if captions.shown else []
    pages = max(1, -(-len(places) // _PER_PAGE))
    page = _parse_page_number(request.GET.get("page", ""), pages)
    listed = places[(page - 1) * _PER_PAGE : page * _PER_PAGE]
    data = captions.data(listed, wanted)
    return {
        "phase": phase,
        "challenge": phase.challenge,
        "splits": splits,
        "split": captions.split,
        "sets": sets,
        "captions": captions,
        "wanted": wanted,
        "search": request.GET.get("search", "")[:_LONGEST_SEARCH],
        "domains": list(captions.subsets),
        "places": _PLACES,
        "orders": _ORDERS,
        "mentions": _MENTIONED,
        "most_methods": _MOST_METHODS,
        "found": len(places),
        "first": (page - 1) * _PER_PAGE + 1,
        "last": (page - 1) * _PER_PAGE + len(listed),
        "before": _page_url(request.GET, page - 1) if page > 1 else "",
        "after": _page_url(request.GET, page + 1) if page < pages else "",
        # `script_json` escapes "<", so no caption can close the script element.
        "data": mark_safe(script_json(data)),  # noqa: S308
    }


def _parse_page_number(text: str, most: int) -> int:
    return min(max(int(text), 1), most) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _page_url(query: QueryDict, page: int) -> str:
    kept = query.copy()
    kept["page"] = str(page)
    return f"?{kept.urlencode()}"
