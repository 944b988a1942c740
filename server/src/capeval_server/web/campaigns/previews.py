"""Uploads that wait for confirmation: columns of items, and previews of new and extended campaigns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.additions import AdditionPreview, preview_addition
from capeval_server.annotation.campaigns.columns import find_images
from capeval_server.annotation.campaigns.copies import get_origin
from capeval_server.annotation.campaigns.creation import CampaignPreview, preview_files
from capeval_server.annotation.campaigns.creation_drafts import (
    NewCampaign,
    Uploads,
    keep_draft,
    keep_uploads,
    read_draft,
    read_uploads,
)
from capeval_server.annotation.campaigns.form_files import unzip_images
from capeval_server.annotation.campaigns.images import render_picture
from capeval_server.annotation.campaigns.item_files import ItemFiles, open_files
from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign, items_of
from capeval_server.annotation.task_types import TASKS, TaskType
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.core.errors import CampaignFilesError, ConflictError, NotFoundError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.http.stored_images import send_jpeg
from capeval_server.web.campaigns.common import View
from capeval_server.web.campaigns.presenters import describe_item, describe_table, options_in_words
from capeval_server.web.campaigns.upload_forms import ReplaceFilesForm
from capeval_server.web.hosting.forms import ConfirmUploadForm
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest

__all__ = [
    "build_files",
    "can_create",
    "columns",
    "get_settings_page",
    "get_task_type",
    "preview_image",
    "read_kept",
    "restrict_to_managers",
    "show_columns",
    "show_confirm",
]

# Number of problems on the page of columns.
_SHOWN_PROBLEMS = 50


def can_create(request: HttpRequest) -> bool:
    """Return whether the user can create campaigns."""
    return may_create_challenges(request.user) or list_organized_challenges(request.user).exists()


def restrict_to_managers(view: View) -> View:
    """Restrict a view to creators of campaigns, and to managers during an edit or an addition."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, **named: Any) -> HttpResponseBase:
        if not can_create(request) and not _continues_campaign(request):
            raise NotFoundError
        return view(request, **named)

    return wrapper


def _continues_campaign(request: HttpRequest) -> bool:
    """Return whether a request continues a draft that edits or extends a campaign."""
    sent = request.POST if request.method == "POST" else request.GET
    sha256 = sent.get("draft") or sent.get("sha256", "")
    if not isinstance(request.user, User) or not sha256:
        return False
    with suppress(ConflictError):
        draft = read_draft(request.user, sha256)
        return bool(draft.replaced) or draft.extends
    return False


def get_task_type(text: str) -> TaskType:
    """Return the task type of a template."""
    found = next((task for task in TASKS.values() if text in task.texts), None)
    if found is None:
        raise NotFoundError
    return found


def read_kept(request: HttpRequest, text: str) -> tuple[NewCampaign, Uploads]:
    """Return the draft that a request continues, and its files; empty ones for a new campaign."""
    sha256 = (request.POST if request.method == "POST" else request.GET).get("draft", "")
    with suppress(ConflictError):
        user = get_user(request)
        draft = read_draft(user, sha256) if sha256 else NewCampaign(text=text)
        return replace(draft, text=text or draft.text), read_uploads(user, draft.uploads)
    return NewCampaign(text=text), Uploads()


def show_confirm(request: HttpRequest, draft: NewCampaign, uploads: Uploads, sha256: str) -> HttpResponse:
    """Show a campaign before it is created or extended, with its first item.

    Raises:
        CampaignError: The campaign is not valid.
    """
    task = get_task_type(draft.text)
    uploads = uploads.with_table()
    context = {
        "confirm": ConfirmUploadForm(initial={"sha256": sha256, "seen": "0"}),
        "draft": sha256,
        "is_mapped": bool(draft.list_columns(task, uploads)),
        "kind": f"web/worker/_{'judge' if task.choices else 'write'}.html",
        "settings_page": get_settings_page(draft),
    }
    preview: AdditionPreview | CampaignPreview
    if draft.extends:
        campaign = get_managed_campaign(get_user(request), draft.origin)
        preview = preview_addition(campaign, build_files(draft, uploads))
        context |= {
            "campaign": campaign,
            "preview": preview,
            "wanted": campaign,
            "total": items_of(campaign).count(),
        }
        page = "add_items_confirm"
    else:
        user = get_user(request)
        preview = preview_files(user, draft.build_files(task, uploads), get_origin(user, draft))
        context |= {"is_edited": bool(draft.replaced), **_describe_preview(preview)}
        page = "confirm"
    images = find_images(uploads.images) if task.needs_image and not draft.origin else ()
    context |= {"unused": max(len(images) - preview.images, 0), "item": describe_item(task, preview.first)}
    return render(request, f"web/campaigns/{page}.html", context)


def build_files(draft: NewCampaign, uploads: Uploads) -> ItemFiles:
    """Return the files of items that are added to a campaign."""
    task = get_task_type(draft.text)
    return ItemFiles(
        table_name=uploads.table_name or None,
        table=uploads.table if uploads.table_name else None,
        columns=draft.list_columns(task, uploads),
        images=open_files(uploads.images) if task.needs_image else None,
    )


def get_settings_page(draft: NewCampaign) -> str:
    """Return the address of the form that a draft comes from."""
    if draft.extends:
        return reverse("campaign_add_items", args=(draft.origin,))
    return reverse("campaign_new_from", args=(draft.text,))


@accepts_uploads
@restrict_to_managers
def columns(request: HttpRequest) -> HttpResponse:
    """Show the columns of the items, and assign them to the parts of items."""
    user, (draft, uploads) = get_user(request), read_kept(request, "")
    if not draft.text:
        messages.error(request, "The upload no longer exists. Please upload the files again.")
        return redirect("campaign_new")
    if request.method != "POST":
        return show_columns(request, draft, uploads)
    form = ReplaceFilesForm(get_task_type(draft.text), request.POST, request.FILES)
    assigned = {
        name.removeprefix("part-"): value for name, value in request.POST.items() if name.startswith("part-")
    }
    if form.is_valid() and form.has_uploads:
        uploads = form.merge_uploads(uploads)
        draft = replace(draft, uploads=keep_uploads(user, uploads))
    draft = replace(draft, columns={name: _parse_column(str(value)) for name, value in assigned.items()})
    try:
        if not form.is_valid():
            return show_columns(request, draft, uploads, form=form)
        return show_confirm(request, draft, uploads, keep_draft(user, draft))
    except CapevalError as error:
        return show_columns(request, draft, uploads, error)


def _parse_column(value: str) -> str | dict[str, str]:
    """Return a column, or a text for all rows, of a value of the page of columns."""
    kind, _, text = value.partition(":")
    return {"text": text} if kind == "text" else text


def show_columns(
    request: HttpRequest,
    draft: NewCampaign,
    uploads: Uploads,
    error: CapevalError | None = None,
    *,
    form: ReplaceFilesForm | None = None,
) -> HttpResponse:
    """Show the first rows of the items, the column of each part, and all problems of the items."""
    task = get_task_type(draft.text)
    try:
        uploads = uploads.with_table()
        table, found = uploads.read_table(task), draft.list_columns(task, uploads)
    except CapevalError as unreadable:
        table, found, error = None, {}, unreadable
    problems = error.problems if isinstance(error, CampaignFilesError) else [str(error)] if error else []
    context = {
        "draft": keep_draft(get_user(request), draft),
        "settings_page": get_settings_page(draft),
        "extends": draft.extends,
        "task": task,
        "uploads": uploads,
        "form": form or ReplaceFilesForm(task),
        "problems": problems[:_SHOWN_PROBLEMS],
        "more": max(len(problems) - _SHOWN_PROBLEMS, 0),
        "number": len(problems),
        **describe_table(task, table, found, uploads.table_name),
    }
    return render(request, "web/campaigns/columns.html", context, status=422 if problems or form else 200)


@restrict_to_managers
@require_safe
def preview_image(request: HttpRequest) -> HttpResponseBase:
    """Send an image of a campaign that is not created yet."""
    draft, uploads = read_kept(request, "")
    name = request.GET.get("name", "")
    with suppress(CapevalError, KeyError):
        found = unzip_images(uploads.pictures, limit=settings.UNPACKED_BYTES, only=name)
        sent = HttpResponse(render_picture(name, found[name]), content_type="image/jpeg")
        sent["Content-Disposition"] = 'inline; filename="image"'
        return sent
    if not draft.origin:
        raise NotFoundError
    image = get_managed_campaign(get_user(request), draft.origin).images.filter(name=name).first()
    if image is None:
        raise NotFoundError
    return send_jpeg(image.small)


def _describe_preview(preview: CampaignPreview) -> dict[str, Any]:
    wanted = preview.definition
    title, rest = title_and_rest(wanted.instructions)
    return {
        "preview": preview,
        "wanted": wanted,
        "answers": preview.items * wanted.options.answers,
        "options": options_in_words(wanted.kind, wanted.options),
        "rules": [f"{name}: {level}" for name, level in wanted.rules.items()],
        "heading": title,
        "instructions": to_html(rest),
        "consent": to_html(wanted.consent),
    }
