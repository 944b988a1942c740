"""Pages of a campaign's results, from the answers that count now."""

from __future__ import annotations

import numpy as np
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.releases.archives import zip_results
from capeval_server.annotation.releases.current_results import MOST_DISPUTED, get_results, render_results
from capeval_server.core.errors import NotFoundError
from capeval_server.core.svg_plots import theme_named
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.releases import is_judged, send_zip
from capeval_server.web.campaigns.result_tables import (
    build_plot,
    list_plotted,
    list_systems,
    list_wins,
    pivot,
)
from capeval_server.web.histograms import histogram

__all__ = ["files", "plot", "results", "table"]


@for_managers
@require_safe
def results(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the results of the answers that count now."""
    found = get_results(campaign)
    return show(
        request,
        campaign,
        "results",
        tab="results",
        results=found,
        progress=get_progress(campaign),
        judged=is_judged(campaign),
        systems=list_systems(found),
        plotted_systems=list_plotted(found, "systems"),
        plotted_metrics=list_plotted(found, "metrics"),
        most_disputed=MOST_DISPUTED,
        wins=list_wins(found),
        winners=pivot(found, "winners", lambda row: row.category or "none", lambda row: row.name),
        metrics=pivot(found, "metrics", lambda row: row.name, lambda row: row.category or "none"),
        choices=pivot(found, "choices", lambda row: row.category or "none", lambda row: row.name),
        agreement=found.select("agreement"),
        captions=pivot(found, "captions", lambda row: row.name, lambda row: row.category or "none"),
        histogram=histogram(np.array(found.lengths, dtype=np.float64)),
    )


@for_managers
@require_safe
def plot(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Send a plot of the scores of systems, or of the accuracies of metrics, as SVG."""
    asked, narrow = request.GET, request.GET.get("width") == "narrow"
    names = (asked.get("table", "systems"), asked.get("question", ""))
    drawn = build_plot(get_results(campaign), *names, theme_named(asked.get("theme", "")), narrow=narrow)
    if drawn is None:
        raise NotFoundError
    return HttpResponse(drawn.svg(), content_type="image/svg+xml")


@for_managers
@require_safe
def table(request: HttpRequest, campaign: Campaign) -> HttpResponse:  # noqa: ARG001
    """Send the numbers of the results as CSV."""
    text = render_results(get_results(campaign))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{campaign.slug}-results.csv"'
    return answer


@for_managers
@require_safe
def files(request: HttpRequest, campaign: Campaign) -> HttpResponseBase:
    """Send the answers that currently count as a zip of files for `capeval study`."""
    if not is_judged(campaign):
        raise NotFoundError
    try:
        data = zip_results(get_user(request), campaign, complete_only="complete" in request.GET)
    except CapevalError as error:
        messages.error(request, f"The results cannot be downloaded: {error}.")
        return redirect("campaign_results", campaign.slug)
    return send_zip(data, f"{campaign.slug}-results.zip")
