"""Helpers shared by the organizer pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from capeval.errors import CapevalError
from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_organized_challenge, may_create_challenges
from capeval_server.core.errors import NotFoundError
from capeval_server.submissions.models import Result

__all__ = [
    "FAILURES",
    "LATEST",
    "PAGE",
    "View",
    "actions_of",
    "add_success_message",
    "errors_as_message",
    "errors_in_form",
    "for_makers",
    "for_organizers",
    "form_status",
    "paginate",
    "show",
]

PAGE = 50
LATEST = 8
_FAILED = Result.objects.filter(submission=OuterRef("pk"), failure__gt="").order_by().values("submission")
# The number of metrics that failed on a submission. A subquery counts them only for the rows of a page, while
# a join would count them for all submissions.
FAILURES = Coalesce(Subquery(_FAILED.annotate(metrics=Count("metric", distinct=True)).values("metrics")), 0)
View = Callable[..., HttpResponseBase]


def for_organizers(view: View) -> View:
    """Restrict a view to organizers of a challenge, and pass it the challenge."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        return view(request, get_organized_challenge(request.user, slug), **named)

    return wrapper


def for_makers(view: View) -> View:
    """Restrict a view to users with permission to create challenges."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponseBase:
        if not may_create_challenges(request.user):
            raise NotFoundError
        return view(request)

    return wrapper


def show(
    request: HttpRequest, challenge: Challenge, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """Render an organizer page, by the name of its template."""
    context = {"challenge": challenge, "now": timezone.now(), **context}
    return render(request, f"web/hosting/{page}.html", context, status=status)


def form_status(*sent: forms.Form | forms.BaseFormSet[Any]) -> int:
    """Return the HTTP status of a page with forms: 422 if a submitted form is invalid."""
    return 422 if any(form.is_bound and not form.is_valid() for form in sent) else 200


def actions_of(challenge: Challenge) -> QuerySet[Action]:
    """Return the audit log of a challenge, latest first."""
    return challenge.actions.select_related("submission", "team").order_by("-time", "-pk")


def paginate(request: HttpRequest, rows: QuerySet[Any], size: int = PAGE) -> dict[str, Any]:
    """Return the requested page, nearby page numbers, and the rest of the query."""
    found = Paginator(rows, size).get_page(request.GET.get("page"))
    asked = request.GET.copy()
    asked.pop("page", None)
    numbers = list(found.paginator.get_elided_page_range(found.number))
    return {"found": found, "numbers": numbers, "query": asked.urlencode()}


def add_success_message(request: HttpRequest, text: str) -> None:
    """Show a success message on the next page."""
    messages.success(request, text)


@contextmanager
def errors_in_form(form: forms.Form, field: str | None = None) -> Iterator[None]:
    """Add a raised error to a field of a form, or to the form."""
    try:
        yield
    except CapevalError as error:
        form.add_error(field, str(error) if field else f"{error}.")


@contextmanager
def errors_as_message(request: HttpRequest, before: str = "") -> Iterator[None]:
    """Show an error as a message on the next page.

    Args:
        request: The request.
        before: Text before the error, such as `Nothing changed: `.
    """
    try:
        yield
    except CapevalError as error:
        messages.error(request, f"{before}{error}.")
