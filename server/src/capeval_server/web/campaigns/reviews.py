"""Pages of a campaign's answers, with their reviews. Users do not review their own answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.models import Campaign, Response, Review
from capeval_server.annotation.releases.answer_export import EXPORTS, export_answers
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.answer_explorer import AnswerFilter, annotate_responses, list_answers
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.core.errors import NotFoundError
from capeval_server.http.stored_images import send_jpeg
from capeval_server.web.campaigns.answer_cards import build_cards
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.forms import AnswerFilterForm, ReviewForm
from capeval_server.web.campaigns.presenters import format_count
from capeval_server.web.hosting.common import add_success_message, paginate
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["accept", "export", "image", "review", "reviews", "undo"]

# Answers per page, and maximum number of answers in one action.
_PER_PAGE = 20
_MOST = 200


@for_managers
@require_safe
def reviews(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the answers that the query chooses: by default, those that wait for a review."""
    return _show_answers(request, campaign)


def _get_form(request: HttpRequest, campaign: Campaign) -> AnswerFilterForm:
    """Return the filter of the query, or of the page on which an action was chosen."""
    given = request.GET.copy()
    given.setdefault("state", "waiting" if task_named(campaign.kind).reviewed else "all")
    return AnswerFilterForm(campaign, given)


def _show_answers(
    request: HttpRequest, campaign: Campaign, forms: dict[int, ReviewForm] | None = None
) -> HttpResponse:
    form, user = _get_form(request, campaign), get_user(request)
    asked = form.get_filter() if form.is_valid() else AnswerFilter()
    rows = list_answers(campaign, asked, user)
    rows = rows if form.is_valid() else rows.none()
    pages = _paginate(request, _with_details(rows), asked)
    cards = build_cards(
        campaign, list(pages["found"]), user, shows_workers=_shows_workers(asked), forms=forms
    )
    _, rest = title_and_rest(latest_texts(campaign).instructions)
    context: dict[str, Any] = {
        **pages,
        "filter": form,
        "asked": asked,
        "cards": cards,
        "reviewed": task_named(campaign.kind).reviewed,
        "instructions": to_html(rest),
        "whole_query": request.GET.urlencode(),
    }
    status = 422 if forms or not form.is_valid() else 200
    return show(request, campaign, "reviews", tab="reviews", **context, status=status)


def _paginate(request: HttpRequest, rows: QuerySet[Any], asked: AnswerFilter) -> dict[str, Any]:
    """Return the requested page of answers.

    Reviewed answers leave the queue. Its pages begin after an answer, so that none is skipped.
    """
    if asked.state != "waiting":
        return paginate(request, rows, _PER_PAGE)
    after = request.GET.get("after", "")
    start = int(after) if after.isdecimal() and len(after) < 19 else 0  # 19 digits may exceed a key
    found = Paginator(rows.filter(pk__gt=start), _PER_PAGE).get_page(1)
    query = request.GET.copy()
    query.pop("after", None)
    pages = {"found": found, "query": query.urlencode(), "after": start}
    return {**pages, "waiting": rows.count(), "last": list(found)[-1].pk if found.has_next() else None}


def _shows_workers(asked: AnswerFilter) -> bool:
    """Return whether a page shows workers: reviews are blind."""
    return asked.state != "waiting"


def _with_details(rows: Any) -> Any:
    related = rows.select_related("item", "assignment", "participation__worker")
    return related.prefetch_related("review_requests", "reviews")


@for_managers
@require_POST
def review(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """Accept or reject an answer."""
    found = get_object_or_404(_select_responses(campaign, [pk]))
    form = ReviewForm(request.POST, prefix=f"r{pk}")
    if form.is_valid():
        given = form.cleaned_data
        try:
            moderation.review(
                get_user(request), found, given["verdict"], reason=given["reason"], note=given["note"]
            )
        except CapevalError as error:
            form.add_error("reason", str(error))
        else:
            fine = given["verdict"] == "fine"
            text = "Accepted the answer." if fine else "Rejected the answer. The item goes to another worker."
            return _finish(request, campaign, [pk], text)
    return _refuse(request, campaign, pk, form)


@for_managers
@require_POST
def accept(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Accept the selected answers."""
    user = get_user(request)
    done, error = _act_on_each(
        request, campaign, lambda response: moderation.review(user, response, Review.Verdict.FINE)
    )
    return _finish(request, campaign, done, f"Accepted {format_count(len(done), 'answer')}.", error)


@for_managers
@require_POST
def undo(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Undo the reviews of the selected answers."""
    user = get_user(request)
    done, error = _act_on_each(request, campaign, lambda response: moderation.undo_review(user, response))
    text = f"Undid the review of {format_count(len(done), 'answer')}."
    return _finish(request, campaign, done, text, error)


def _act_on_each(
    request: HttpRequest, campaign: Campaign, act: Callable[[Response], object]
) -> tuple[list[int], str]:
    """Act on the answers of a form; return the keys of those that changed, and the first error."""
    keys = [int(key) for key in request.POST.getlist("answer") if key.isdecimal()][:_MOST]
    done, errors = [], []
    for response in _select_responses(campaign, keys).order_by("pk"):
        try:
            act(response)
        except CapevalError as error:
            errors.append(f"Not stored: {error}.")
        else:
            done.append(response.pk)
    if not keys:
        errors.append("Select at least one answer.")
    return done, errors[0] if errors else ""


def _select_responses(campaign: Campaign, keys: Sequence[int]) -> QuerySet[Response]:
    rows = Response.objects.filter(item__campaign=campaign, pk__in=keys)
    return rows.select_related("participation__worker")


def _finish(
    request: HttpRequest, campaign: Campaign, keys: Sequence[int], text: str, error: str = ""
) -> HttpResponse:
    """Return the changed cards to the program of the page; otherwise, redirect to the page."""
    if _wants_cards(request):
        return _send_cards(request, campaign, keys, error or text, status=200 if keys else 422)
    if error:
        messages.error(request, error)
    if keys:
        add_success_message(request, text)
    query = request.GET.urlencode()
    place = reverse("campaign_reviews", args=(campaign.slug,))
    return redirect(f"{place}?{query}" if query else place)


def _refuse(request: HttpRequest, campaign: Campaign, pk: int, form: ReviewForm) -> HttpResponse:
    """Show the errors of a review at its form, or as a message if the page does not have it."""
    problems = f"Not stored: {' '.join(str(text) for texts in form.errors.values() for text in texts)}"
    if _wants_cards(request):
        return _send_cards(request, campaign, [pk], problems, {pk: form}, status=422)
    page = _show_answers(request, campaign, {pk: form})
    if f'id="answer-{pk}"' in page.content.decode():
        return page
    return _finish(request, campaign, [], "", problems)


def _wants_cards(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _send_cards(
    request: HttpRequest,
    campaign: Campaign,
    keys: Sequence[int],
    text: str,
    forms: dict[int, ReviewForm] | None = None,
    *,
    status: int,
) -> HttpResponse:
    """Send answers as cards in HTML, by key, with a message."""
    form = _get_form(request, campaign)
    asked = form.get_filter() if form.is_valid() else AnswerFilter()
    rows = _with_details(annotate_responses(Response.objects.filter(item__campaign=campaign, pk__in=keys)))
    shows = _shows_workers(asked)
    cards = build_cards(campaign, list(rows), get_user(request), shows_workers=shows, forms=forms)
    context = {"campaign": campaign, "whole_query": request.GET.urlencode()}
    found = {
        str(card.response.pk): render_to_string(
            "web/campaigns/_answer.html", {**context, "card": card}, request
        )
        for card in cards
    }
    waiting = moderation.list_review_queue(campaign).count()
    return JsonResponse({"cards": found, "message": text, "waiting": waiting}, status=status)


@for_managers
@require_safe
def export(request: HttpRequest, campaign: Campaign, form: str) -> HttpResponse:
    """Send the answers that the query chooses as a table."""
    asked = _get_form(request, campaign)
    place = f"{reverse('campaign_reviews', args=(campaign.slug,))}?{request.GET.urlencode()}"
    if not asked.is_valid():
        return redirect(place)
    user = get_user(request)
    try:
        data = export_answers(user, campaign, asked.get_filter(), form)
    except CapevalError as error:
        messages.error(request, f"{error}.")
        return redirect(place)
    answer = HttpResponse(data, content_type=EXPORTS[form])
    answer["Content-Disposition"] = f'attachment; filename="{campaign.slug}-answers.{form}"'
    return answer


@for_managers
@require_safe
def image(request: HttpRequest, campaign: Campaign, pk: int, size: str) -> HttpResponseBase:  # noqa: ARG001
    """Send the image of an item to a manager of the campaign."""
    picture = get_object_or_404(campaign.images, pk=pk)
    if size not in ("small", "large"):
        raise NotFoundError
    sent = send_jpeg(getattr(picture, size))
    sent["Cache-Control"] = "private, max-age=600"
    return sent
