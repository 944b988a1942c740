"""Pages of inter-annotator agreement, and of the time and cost of a campaign."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from capeval.studies.effort import Agreement, Prices
from capeval_server.annotation.campaigns.effort import (
    default_prices,
    ends_by_pair,
    estimate_effort,
    measured_agreement,
)
from capeval_server.annotation.campaigns.progress import pace_of
from capeval_server.annotation.core.agreement import (
    LEAST_OTHERS,
    LIMIT,
    measure_caption_agreement,
    measure_question_agreement,
)
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, ReviewRequest
from capeval_server.annotation.responses.text_flags import UNLIKE, request_agreement_reviews
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import NotFoundError
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.forms import PlanForm
from capeval_server.web.campaigns.presenters import early_end, format_count
from capeval_server.web.histograms import histogram
from capeval_server.web.hosting.common import add_success_message, form_status

__all__ = ["agreement", "plan", "review_unlike"]


@for_managers
@require_safe
def agreement(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the agreement of workers: by class for choices, by caption for writing."""
    if task_named(campaign.kind).choices:
        agreements = measure_question_agreement(campaign)
        return show(
            request,
            campaign,
            "agreement",
            tab="agreement",
            agreements=agreements,
            notes=dict.fromkeys(each.alpha.note for each in agreements if each.alpha is not None),
            captions=None,
            early=early_end(get_options(campaign)),
        )
    captions = measure_caption_agreement(campaign)
    unlike = captions.unlike
    asked = ReviewRequest.objects.filter(reason=UNLIKE, response__item__campaign=campaign)
    context: dict[str, Any] = {
        "captions": captions,
        "number": len(captions.scores),
        "histogram": histogram(np.array(list(captions.scores.values()), dtype=np.float64)),
        "unlike": len(unlike),
        "new": len(set(unlike) - set(asked.values_list("response_id", flat=True))),
        "limit": LIMIT,
        "least": LEAST_OTHERS + 1,
    }
    return show(request, campaign, "agreement", tab="agreement", **context)


@for_managers
@require_POST
def review_unlike(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Request reviews of captions that differ too much from the others of their image."""
    if task_named(campaign.kind).choices:
        raise NotFoundError
    number = request_agreement_reviews(campaign)
    add_success_message(request, f"Sent {format_count(number, 'caption')} to review.")
    return redirect("campaign_agreement", campaign.slug)


@for_managers
@require_safe
def plan(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show an estimate of time and cost, and of the precision of the result."""
    pace, task = pace_of(campaign), task_named(campaign.kind)
    measured = measured_agreement(campaign)
    prices = default_prices(campaign)
    begins: dict[str, Any] = {
        "seconds": prices.seconds,
        "hourly": f"{prices.hourly:.10g}",
        "fee": 0,
        "workers": prices.workers,
        "hours": f"{prices.hours:g}",
        "yes": 50,
        "concentration": "1",
    }
    asked = {name: request.GET.get(name, value) for name, value in begins.items()}
    form = PlanForm(asked, shares=bool(task.result.yes) and measured is None)
    effort = None
    if form.is_valid():
        given = form.cleaned_data
        prices = Prices(
            seconds=given["seconds"],
            hourly=given["hourly"],
            fee=given["fee"] / 100,
            workers=given["workers"],
            hours=given["hours"],
        )
        assumed = Agreement(
            yes=given.get("yes", 50) / 100, concentration=float(given.get("concentration", 1))
        )
        effort = estimate_effort(campaign, prices, measured or assumed)
    said = effort.forecast if effort else None
    context: dict[str, Any] = {"form": form, "effort": effort, "pace": pace, "measured": measured}
    if said:
        context |= {
            "width": f"{100 * said.width:.1f}",
            "difference": f"{100 * said.difference:.1f}",
            "yes": " or ".join(task.result.yes),
            "early": early_end(get_options(campaign)),
            "of": "pairs" if ends_by_pair(campaign, get_options(campaign)) else "items",
        }
    return show(request, campaign, "plan", tab="plan", **context, status=form_status(form))
