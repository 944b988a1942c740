"""Page that compares two submissions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.leaderboards.comparison import ComparedSet, compared
from capeval_server.submissions.models import Result, Submission
from capeval_server.submissions.selectors import visibility
from capeval_server.web.participant.common import TEMPLATES, no_such_submission

__all__ = ["compare"]

# The maximum number of submissions offered from each source: the user's own, published ones, baselines.
_MOST_OFFERED = 200
# Width of the interval plots, in pixels.
_PLOT_WIDTH = 160


@require_safe
@never_cache
def compare(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Compare a submission with another: scores, and differences with intervals."""
    found = visibility.get_scored(request.user, pk)
    if found is None:
        return no_such_submission(request)
    submission, own = found
    others = _list_others(request, submission)
    chosen = request.GET.get("with", "")
    other = next((one for one in others if str(one.pk) == chosen), None)
    if chosen and other is None:
        return no_such_submission(request)
    full = is_organizer(request.user, submission.challenge)
    sets = compared(submission, other, full=full) if other is not None else []
    context: dict[str, Any] = {
        "submission": submission,
        "own": own,
        "phase": submission.phase,
        "challenge": submission.challenge,
        "others": others,
        "other": other,
        "sets": [(one, _build_rows(one)) for one in sets],
        "rounded": not full and any(not one.references.public for one in sets),
        "tests": _list_tests(sets),
        "uses_bootstrap": any(row.test == "bootstrap" for one in sets for row in one.rows),
        "width": _PLOT_WIDTH,
    }
    return render(request, f"{TEMPLATES}/compare.html", context)


def _list_others(request: HttpRequest, submission: Submission) -> list[Submission]:
    """Return the submissions offered for comparison.

    They are the user's own and published submissions, and human baselines, with scores on a split of the
    submission.
    """
    split = "reference_version__reference_set__split"
    shared = Result.objects.filter(
        submission=OuterRef("pk"), **{f"{split}__in": submission.results.values(split)}
    )
    found: dict[Any, Submission] = {}
    public = visibility.list_published(timezone.now())
    queries: list[QuerySet[Submission]] = [
        visibility.list_own(request.user).filter(phase__challenge=submission.challenge),
        public.filter(phase__challenge=submission.challenge),
        public.filter(baseline_of__split__challenge=submission.challenge),
    ]
    for query in queries:
        scored = query.filter(Exists(shared), state=Submission.State.SCORED).exclude(pk=submission.pk)
        scored = scored.select_related("phase", "baseline_of__split").defer("baseline_of__split__image_ids")
        scored = visibility.exclude_withheld(scored, request.user, submission.challenge)
        found |= {one.pk: one for one in scored.order_by("-created")[:_MOST_OFFERED]}
    return list(found.values())


def _list_tests(sets: list[ComparedSet]) -> list[str]:
    """Return the sentences on tests; if they differ, each with the names of its subsets."""
    found: dict[str, dict[str, None]] = {}
    for one in sets:
        for row, test in zip(one.rows, one.tests, strict=True):
            found.setdefault(test, {})[row.subset or "all"] = None
    if len(found) == 1:
        return list(found)
    return [f"{', '.join(subsets)}: {test}" for test, subsets in found.items()]


def _build_rows(part: ComparedSet) -> list[dict[str, Any]]:
    """Return the rows, each with its p-value and the coordinates of its interval."""
    ends = [0.0, *(end for row in part.rows for end in (row.low, row.high))]
    low, high = min(ends), max(ends)
    scale = (_PLOT_WIDTH - 12) / ((high - low) or 1)

    def place(value: float) -> str:
        return f"{6 + (value - low) * scale:.1f}"

    return [
        {
            "row": row,
            "low": place(row.low),
            "high": place(row.high),
            "at": place(row.difference),
            "zero": place(0.0),
            "p_value": p_value,
        }
        for row, p_value in zip(part.rows, part.p_values, strict=True)
    ]
