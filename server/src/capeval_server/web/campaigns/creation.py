"""List of a user's campaigns, and the pages to create one."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.columns import find_images, list_parts
from capeval_server.annotation.campaigns.creation import CampaignPreview, make_from_files, preview_files
from capeval_server.annotation.campaigns.creation_drafts import (
    NewCampaign,
    Uploads,
    drop_draft,
    keep_draft,
    keep_uploads,
    read_draft,
    read_uploads,
)
from capeval_server.annotation.campaigns.form_files import unzip_images
from capeval_server.annotation.campaigns.images import render_picture
from capeval_server.annotation.campaigns.lifecycle import list_managed_campaigns
from capeval_server.annotation.campaigns.progress import with_counts
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS, TaskType
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.task_types.quiz import quiz_lines, quizzes
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.core.errors import CampaignFilesError, ColumnsError, ConflictError, NotFoundError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.forms import NewCampaignForm, ReplaceFilesForm, show_new_problem
from capeval_server.web.campaigns.presenters import (
    describe_drawing,
    describe_item,
    describe_table,
    options_in_words,
)
from capeval_server.web.hosting.common import add_success_message, form_status
from capeval_server.web.hosting.forms import ConfirmUploadForm
from capeval_server.web.markdown import excerpt, to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["apply_new", "campaigns", "columns", "new", "new_from_text", "preview_image", "preview_texts"]

# Number of problems on the page of columns.
_SHOWN_PROBLEMS = 50
View = Callable[..., HttpResponseBase]


def _restrict_to_creators(view: View) -> View:
    """Restrict a view to organizers and to users with permission to create challenges."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, **named: Any) -> HttpResponseBase:
        if not _can_create(request):
            raise NotFoundError
        return view(request, **named)

    return wrapper


def _can_create(request: HttpRequest) -> bool:
    return may_create_challenges(request.user) or list_organized_challenges(request.user).exists()


@never_cache
def campaigns(request: HttpRequest) -> HttpResponseBase:
    """List the campaigns that a user manages or, if there are none, can create."""
    if not isinstance(request.user, User):
        raise NotFoundError
    found = list_managed_campaigns(request.user)
    if not (_can_create(request) or found.exists()):
        raise NotFoundError
    return _show_list(request, found)


@require_safe
def _show_list(request: HttpRequest, found: QuerySet[Campaign]) -> HttpResponse:
    context = {"campaigns": with_counts(found), "makes": _can_create(request)}
    return render(request, "web/campaigns/list.html", context)


@_restrict_to_creators
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    """List the task templates by task type."""
    templates: list[dict[str, Any]] = [
        {"name": name, "task": task, "drawing": describe_drawing(task), **_describe_template(name)}
        for task in TASKS.values()
        for name in task.texts
    ]
    # Campaigns that collect captions are the most frequent ones.
    templates.sort(key=lambda each: not each["task"].written)
    context = {"templates": templates, "challenge": _get_challenge(request)}
    return render(request, "web/campaigns/templates.html", context)


def _describe_template(text: str) -> dict[str, str]:
    title, rest = title_and_rest(template_text(text))
    return {"title": title, "about": excerpt(rest)}


def _get_challenge(request: HttpRequest) -> Challenge | None:
    """Return the challenge in the query string, if the user organizes it."""
    return list_organized_challenges(request.user).filter(slug=request.GET.get("challenge", "")).first()


def _get_task_type(text: str) -> TaskType:
    """Return the task type of a template."""
    found = next((task for task in TASKS.values() if text in task.texts), None)
    if found is None:
        raise NotFoundError
    return found


@accepts_uploads
@_restrict_to_creators
def new_from_text(request: HttpRequest, text: str) -> HttpResponse:
    """Show the form for a new campaign, and preview the campaign.

    Uploaded files are kept, also if the form has errors.
    """
    task, user = _get_task_type(text), get_user(request)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    draft, uploads = _read_kept(request, text)
    challenge = _get_challenge(request)
    begins = {
        "instructions": template_text(text),
        "consent": template_consent(task),
        "challenge": challenge.slug if challenge else "",
        "quiz": text if text in quizzes() else "",
        **{f"rule-{rule}": level for rule, level in task.text_rules.get(text, {}).items()},
        **draft.values,
    }
    form = NewCampaignForm(user, task, *sent, initial=begins, kept=uploads)
    sha256 = keep_draft(user, draft) if draft.uploads else ""
    if sent:
        uploads = form.merge_uploads(uploads)
        draft = form.fill(draft, keep_uploads(user, uploads) if form.has_uploads else draft.uploads)
        sha256 = keep_draft(user, draft)
    if form.is_valid():
        try:
            return _show_confirm(request, draft, uploads, sha256)
        except (CampaignFilesError, ColumnsError) as error:
            return _show_columns(request, draft, uploads, error)
        except CapevalError as error:
            show_new_problem(form, str(error), uploads.table_name)
    context = {
        "form": form,
        "task": task,
        "text": text,
        "title": title_and_rest(template_text(text))[0],
        "draft": sha256,
        "uploads": uploads,
        "example": json.dumps(task.example_item()),
        "parts": list_parts(task),
        "quiz": b"\n".join(quiz_lines(text)).decode() if text in quizzes() else "",
    }
    return render(request, "web/campaigns/new.html", context, status=form_status(form))


def _read_kept(request: HttpRequest, text: str) -> tuple[NewCampaign, Uploads]:
    """Return the draft that a request continues, and its files; empty ones for a new campaign."""
    sha256 = (request.POST if request.method == "POST" else request.GET).get("draft", "")
    with suppress(ConflictError):
        user = get_user(request)
        draft = read_draft(user, sha256) if sha256 else NewCampaign(text=text)
        return replace(draft, text=text or draft.text), read_uploads(user, draft.uploads)
    return NewCampaign(text=text), Uploads()


def _show_confirm(request: HttpRequest, draft: NewCampaign, uploads: Uploads, sha256: str) -> HttpResponse:
    """Show the campaign before it is created, with its first item.

    Raises:
        CampaignError: The campaign is not valid.
    """
    task = _get_task_type(draft.text)
    uploads = uploads.with_table()
    preview = preview_files(get_user(request), draft.build_files(task, uploads))
    context = {
        "confirm": ConfirmUploadForm(initial={"sha256": sha256, "seen": "0"}),
        "draft": sha256,
        "text": draft.text,
        "is_mapped": bool(draft.list_columns(task, uploads)),
        "unused": len(find_images(uploads.images)) - preview.images if task.needs_image else 0,
        "item": describe_item(task, preview.first),
        "kind": f"web/worker/_{'judge' if task.choices else 'write'}.html",
        **_describe_preview(preview),
    }
    return render(request, "web/campaigns/confirm.html", context)


@accepts_uploads
@_restrict_to_creators
def columns(request: HttpRequest) -> HttpResponse:
    """Show the columns of the items, and assign them to the parts of items."""
    user, (draft, uploads) = get_user(request), _read_kept(request, "")
    if not draft.text:
        messages.error(request, "The upload no longer exists. Please upload the files again.")
        return redirect("campaign_new")
    if request.method != "POST":
        return _show_columns(request, draft, uploads)
    form = ReplaceFilesForm(request.POST, request.FILES)
    assigned = {
        name.removeprefix("part-"): value for name, value in request.POST.items() if name.startswith("part-")
    }
    if form.is_valid() and form.has_uploads:
        uploads = form.merge_uploads(uploads)
        draft = replace(draft, uploads=keep_uploads(user, uploads))
    draft = replace(draft, columns={name: _parse_column(str(value)) for name, value in assigned.items()})
    try:
        if not form.is_valid():
            return _show_columns(request, draft, uploads, form=form)
        return _show_confirm(request, draft, uploads, keep_draft(user, draft))
    except CapevalError as error:
        return _show_columns(request, draft, uploads, error)


def _parse_column(value: str) -> str | dict[str, str]:
    """Return a column, or a text for all rows, of a value of the page of columns."""
    kind, _, text = value.partition(":")
    return {"text": text} if kind == "text" else text


def _show_columns(
    request: HttpRequest,
    draft: NewCampaign,
    uploads: Uploads,
    error: CapevalError | None = None,
    *,
    form: ReplaceFilesForm | None = None,
) -> HttpResponse:
    """Show the first rows of the items, the column of each part, and all problems of the items."""
    task = _get_task_type(draft.text)
    try:
        uploads = uploads.with_table()
        table, found = uploads.read_table(task), draft.list_columns(task, uploads)
    except CapevalError as unreadable:
        table, found, error = None, {}, unreadable
    problems = error.problems if isinstance(error, CampaignFilesError) else [str(error)] if error else []
    context = {
        "draft": keep_draft(get_user(request), draft),
        "text": draft.text,
        "task": task,
        "uploads": uploads,
        "form": form or ReplaceFilesForm(needs_image=task.needs_image),
        "problems": problems[:_SHOWN_PROBLEMS],
        "more": max(len(problems) - _SHOWN_PROBLEMS, 0),
        "number": len(problems),
        **describe_table(task, table, found, uploads.table_name),
    }
    return render(request, "web/campaigns/columns.html", context, status=422 if problems or form else 200)


@_restrict_to_creators
@require_safe
def preview_image(request: HttpRequest) -> HttpResponse:
    """Send an image of a campaign that is not created yet."""
    _, uploads = _read_kept(request, "")
    name = request.GET.get("name", "")
    try:
        found = unzip_images(uploads.pictures, limit=settings.UNPACKED_BYTES, only=name)
        content = render_picture(name, found[name])
    except (CapevalError, KeyError):
        raise NotFoundError from None
    sent = HttpResponse(content, content_type="image/jpeg")
    sent["Content-Disposition"] = 'inline; filename="image"'
    return sent


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


@_restrict_to_creators
@require_POST
def preview_texts(request: HttpRequest) -> HttpResponse:
    """Render a preview of the texts in a form, as part of a page."""
    title, rest = title_and_rest(request.POST.get("instructions", ""))
    context = {
        "title": title,
        "instructions": to_html(rest),
        "consent": to_html(request.POST.get("consent", "")),
    }
    return render(request, "web/campaigns/_texts.html", context)


@_restrict_to_creators
@require_POST
def apply_new(request: HttpRequest) -> HttpResponse:
    """Create the campaign that was previewed."""
    form, user = ConfirmUploadForm(request.POST), get_user(request)
    if form.is_valid():
        try:
            draft = read_draft(user, form.cleaned_data["sha256"])
            uploads = read_uploads(user, draft.uploads).with_table()
            made = make_from_files(user, draft.build_files(_get_task_type(draft.text), uploads))
        except CapevalError as error:
            messages.error(request, f"The campaign was not created: {error}.")
        else:
            drop_draft(user)
            add_success_message(request, "Created the campaign. Open it to start assigning items.")
            return redirect("campaign", made.slug)
    return redirect("campaign_new")
