"""Pages of a campaign: state, progress, quality settings and items."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.additions import EXTENDABLE
from capeval_server.annotation.campaigns.deletion import find_obstacle
from capeval_server.annotation.campaigns.progress import (
    ItemFilter,
    classes_of,
    filter_items,
    get_progress,
    pace_of,
)
from capeval_server.annotation.campaigns.progress_plot import progress_plot
from capeval_server.annotation.campaigns.setting_warnings import list_warnings
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Item, Response
from capeval_server.annotation.responses.adaptive_sampling import get_latest_choice
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.core.errors import NotFoundError
from capeval_server.core.svg_plots import theme_named
from capeval_server.jobs.leases import database_time
from capeval_server.web.campaigns.answer_cards import list_texts
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.forms import AnswersForm, QualityForm, ReasonForm
from capeval_server.web.campaigns.presenters import ACTIONS, format_count, options_in_words, pace_in_words
from capeval_server.web.campaigns.previews import can_create
from capeval_server.web.hosting.common import add_success_message, form_status, paginate
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["answers", "hold", "items", "overview", "plot", "quality_settings", "state"]


@for_managers
@require_safe
def overview(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the state and the progress of the campaign."""
    return _show_overview(request, campaign)


def _show_overview(request: HttpRequest, campaign: Campaign, **forms: Any) -> HttpResponse:
    task, options = task_named(campaign.kind), get_options(campaign)
    texts = latest_texts(campaign)
    title, rest = title_and_rest(texts.instructions)
    previewed = Response.objects.filter(item__campaign=campaign, item__is_check=False, may_count=False)
    pace = pace_of(campaign)
    progress = get_progress(campaign)
    is_finished = progress.items > 0 and progress.finished == progress.items and not progress.to_review
    context = {
        "progress": progress,
        "obstacle": lifecycle.describe_missing(campaign) if campaign.state == Campaign.State.DRAFT else "",
        "to_freeze": is_finished and not campaign.releases.exists(),
        "pace": pace,
        "forecast": pace_in_words(pace, is_open=campaign.state == Campaign.State.OPEN),
        "classes": classes_of(campaign),
        "actions": [
            {"to": after, "label": label, "does": does}
            for (before, after), (label, does) in ACTIONS.items()
            if before == campaign.state
        ],
        "previewed": previewed.count(),
        "is_unused": not find_obstacle(campaign),
        "can_copy": can_create(request),
        "options": options_in_words(task, options),
        "needs_trust": options.reopened_for == "trusted",
        "next": get_latest_choice(campaign),
        "number": texts.number,
        "heading": title,
        "instructions": to_html(rest),
        "consent": to_html(texts.consent),
        "reason": ReasonForm(),
        "form": AnswersForm(initial={"answers": options.answers}),
        **forms,
    }
    status = max(form_status(context["form"]), form_status(context["reason"]))
    return show(request, campaign, "overview", tab="overview", **context, status=status)


@for_managers
@require_POST
def state(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Change the state of the campaign."""
    form = ReasonForm(request.POST)
    wanted = request.POST.get("state", "")
    if not form.is_valid() and campaign.state == Campaign.State.CLOSED:
        return _show_overview(request, campaign, reason=form)
    try:
        reason = form.cleaned_data.get("reason", "")
        now = lifecycle.change_state(get_user(request), campaign, wanted, reason=reason)
    except CapevalError as error:
        messages.error(request, f"Nothing changed: {error}.")
    else:
        add_success_message(request, f"The campaign is now: {now.get_state_display()}.")
    return redirect("campaign", campaign.slug)


@for_managers
@require_POST
def answers(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Set the number of answers that each item needs."""
    form = AnswersForm(request.POST)
    if form.is_valid():
        try:
            lifecycle.set_answers(get_user(request), campaign, form.cleaned_data["answers"])
        except CapevalError as error:
            form.add_error("answers", str(error))
        else:
            add_success_message(request, "Saved.")
            return redirect("campaign", campaign.slug)
    return _show_overview(request, campaign, form=form)


@for_managers
@require_http_methods(["GET", "HEAD", "POST"])
def quality_settings(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show and change the quality settings."""
    task = task_named(campaign.kind)
    sent = (request.POST,) if request.method == "POST" else ()
    form = QualityForm(task, *sent, initial=lifecycle.quality_settings(campaign))
    if form.is_valid():
        try:
            now = lifecycle.set_quality(get_user(request), campaign, form.cleaned_data)
        except CapevalError as error:
            for problem in str(error).split("; "):
                name, _, message = problem.partition(": ")
                form.add_error(name, message)
        else:
            add_success_message(request, "Quality settings saved.")
            return redirect("campaign_quality", now.slug)
    context = {
        "form": form,
        "warnings": list_warnings(campaign),
        "changes": lifecycle.quality_changes(campaign),
    }
    return show(request, campaign, "quality", tab="overview", **context, status=form_status(form))


@for_managers
@require_safe
def plot(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Send a plot of the answers by day, as SVG."""
    pace = pace_of(campaign)
    if not pace.days:
        raise NotFoundError
    ends = None
    if pace.days_left is not None and campaign.state == Campaign.State.OPEN:
        # Limited to ten years, because dates have a maximum.
        ends = (database_time() + timedelta(days=min(pace.days_left, 3650))).date()
    wanted = sum(number for _, number in pace.days) + pace.to_go
    narrow = request.GET.get("width") == "narrow"
    theme = theme_named(request.GET.get("theme", ""))
    drawn = progress_plot(pace.days, wanted, ends=ends, theme=theme, narrow=narrow)
    return HttpResponse(drawn, content_type="image/svg+xml")


_FILTERS: dict[ItemFilter, str] = {
    "unfinished": "incomplete",
    "reported": "on hold",
    "checks": "attention checks",
    "training": "training",
    "repeats": "repeated (mirrored)",
}


@for_managers
@require_safe
def items(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List the items with the progress of each."""
    asked = request.GET.get("which", "")
    which: ItemFilter | Literal[""] = next((name for name in _FILTERS if name == asked), "")
    rows = filter_items(campaign, which).select_related("image").prefetch_related("reports")
    context = {"which": which, "choices": _FILTERS, **paginate(request, rows)}
    context["counts"] = _count_kinds(rows)
    context["can_extend"] = campaign.state in EXTENDABLE
    context["rows"] = [
        (item, list_texts(campaign, item), moderation.releases_of(item) if item.held else ())
        for item in context["found"]
    ]
    return show(request, campaign, "items", tab="items", **context)


def _count_kinds(rows: QuerySet[Item]) -> str:
    """Return the numbers of items, attention checks and training items in words."""
    is_work = Q(is_check=False) | Q(repeats__isnull=False)
    numbers = rows.order_by().aggregate(
        items=Count("pk", filter=is_work & Q(is_training=False)),
        training=Count("pk", filter=Q(is_training=True)),
        all=Count("pk"),
    )
    checks = numbers["all"] - numbers["items"] - numbers["training"]
    counts = {"item": numbers["items"], "attention check": checks, "training item": numbers["training"]}
    return ", ".join(format_count(number, noun) for noun, number in counts.items() if number)


@for_managers
@require_POST
def hold(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """Put an item on hold, or release it."""
    found = get_object_or_404(campaign.items, pk=pk)
    out = request.POST.get("held") == "on"
    try:
        names = moderation.set_hold(get_user(request), found, held=out, reason=request.POST.get("reason", ""))
    except CapevalError as error:
        messages.error(request, f"Nothing changed: {error}.")
        return redirect("campaign_items", campaign.slug)
    add_success_message(request, f"The item {found.key} is {'on hold' if out else 'released'}.")
    if out and names:
        add_success_message(request, f"Existing releases still contain its answers: {', '.join(names)}.")
    return redirect("campaign_items", campaign.slug)
