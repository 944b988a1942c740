"""Pages that add items to a campaign."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.additions import EXTENDABLE, extend_campaign
from capeval_server.annotation.campaigns.columns import list_parts
from capeval_server.annotation.campaigns.creation_drafts import (
    NewCampaign,
    Uploads,
    drop_draft,
    keep_draft,
    keep_uploads,
    read_draft,
    read_uploads,
)
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import ConflictError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.previews import build_files, read_kept, show_columns, show_confirm
from capeval_server.web.campaigns.upload_forms import AddItemsForm
from capeval_server.web.hosting.common import add_success_message, form_status
from capeval_server.web.hosting.forms import ConfirmUploadForm

__all__ = ["add", "apply"]


@accepts_uploads
@for_managers
def add(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the form for new items, and preview them."""
    user, task = get_user(request), task_named(campaign.kind)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    draft, uploads = read_kept(request, task.texts[0])
    if draft.origin != campaign.slug or not draft.extends:
        draft, uploads = NewCampaign(text=task.texts[0], origin=campaign.slug, extends=True), Uploads()
    form = AddItemsForm(task, *sent, kept=uploads)
    if form.is_valid():
        uploads = form.merge_uploads(uploads)
        if not (uploads.table_name or uploads.pictures_name):
            form.add_error("items", "Choose a file.")
        else:
            draft = replace(draft, uploads=keep_uploads(user, uploads))
            try:
                return show_confirm(request, draft, uploads, keep_draft(user, draft))
            except CapevalError as error:
                return show_columns(request, draft, uploads, error)
    context = {
        "form": form,
        "uploads": uploads,
        "parts": list_parts(task),
        "can_extend": campaign.state in EXTENDABLE,
        "draft": request.GET.get("draft", ""),
    }
    return show(request, campaign, "add_items", tab="items", **context, status=form_status(form))


@for_managers
@require_POST
def apply(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Add the items that were previewed."""
    form, user = ConfirmUploadForm(request.POST), get_user(request)
    if not form.is_valid():
        return redirect("campaign_add_items", campaign.slug)
    try:
        draft = read_draft(user, form.cleaned_data["sha256"])
        if (draft.origin, draft.extends) != (campaign.slug, True):
            raise ConflictError("the upload was replaced by another one: upload it again")
        uploads = read_uploads(user, draft.uploads).with_table()
        added = extend_campaign(user, campaign, build_files(draft, uploads))
    except CapevalError as error:
        messages.error(request, f"Nothing was added: {error}.")
        return redirect("campaign_add_items", campaign.slug)
    drop_draft(user)
    number = added.items + added.checks + added.training
    add_success_message(request, f"Added {number:,} item{'' if number == 1 else 's'}.")
    return redirect("campaign_items", campaign.slug)
