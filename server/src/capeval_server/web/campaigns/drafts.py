"""Pages to copy a campaign, and to edit and delete a draft."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns import deletion
from capeval_server.annotation.campaigns.copies import fill_copy
from capeval_server.annotation.campaigns.creation_drafts import keep_draft, keep_uploads
from capeval_server.annotation.models import Campaign
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.hosting.common import add_success_message

__all__ = ["copy", "delete", "edit"]


@for_managers
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the content of a draft, and delete it."""
    if request.method != "POST":
        obstacle, deleted = deletion.find_obstacle(campaign), deletion.count_deleted(campaign)
        return show(request, campaign, "delete", tab="overview", obstacle=obstacle, deleted=deleted)
    try:
        deletion.delete_draft(get_user(request), campaign)
    except CapevalError as error:
        messages.error(request, f"Nothing changed: {error}.")
        return redirect("campaign", campaign.slug)
    add_success_message(request, f"Deleted the draft {campaign.slug}.")
    return redirect("campaigns")


@for_managers
@require_POST
def copy(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Fill the form of a new campaign with the values of a campaign."""
    return _fill_form(request, campaign, with_items=request.POST.get("items") == "on")


@for_managers
@require_POST
def edit(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Fill the form of a new campaign with the values of a draft, which it replaces."""
    if obstacle := deletion.find_obstacle(campaign):
        messages.error(request, f"The campaign can't be edited: {obstacle}.")
        return redirect("campaign", campaign.slug)
    return _fill_form(request, campaign, replaces=True)


def _fill_form(
    request: HttpRequest, campaign: Campaign, *, with_items: bool = True, replaces: bool = False
) -> HttpResponse:
    user = get_user(request)
    draft, uploads = fill_copy(campaign, with_items=with_items, replaces=replaces)
    sha256 = keep_draft(user, replace(draft, uploads=keep_uploads(user, uploads)))
    address = reverse("campaign_new_from", args=(draft.text,))
    return HttpResponseRedirect(f"{address}?{urlencode({'draft': sha256})}")
