"""List of a user's campaigns, and the pages to create one."""

from __future__ import annotations

import json
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.columns import list_parts
from capeval_server.annotation.campaigns.copies import get_origin
from capeval_server.annotation.campaigns.creation import make_from_files
from capeval_server.annotation.campaigns.creation_drafts import (
    NewCampaign,
    drop_draft,
    keep_draft,
    keep_uploads,
    read_draft,
    read_uploads,
)
from capeval_server.annotation.campaigns.lifecycle import get_recent_information, list_managed_campaigns
from capeval_server.annotation.campaigns.progress import with_counts
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.task_types.quiz import quiz_lines, quizzes
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import list_organized_challenges
from capeval_server.core.errors import CampaignFilesError, ColumnsError, NotFoundError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.common import View
from capeval_server.web.campaigns.forms import NewCampaignForm, show_new_problem
from capeval_server.web.campaigns.presenters import describe_drawing
from capeval_server.web.campaigns.previews import (
    can_create,
    get_task_type,
    read_kept,
    restrict_to_managers,
    show_columns,
    show_confirm,
)
from capeval_server.web.hosting.common import add_success_message, form_status
from capeval_server.web.hosting.forms import ConfirmUploadForm
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["apply_new", "campaigns", "new", "new_from_text", "preview_texts"]


def _restrict_to_creators(view: View) -> View:
    """Restrict a view to organizers and to users with permission to create challenges."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, **named: Any) -> HttpResponseBase:
        if not can_create(request):
            raise NotFoundError
        return view(request, **named)

    return wrapper


@never_cache
def campaigns(request: HttpRequest) -> HttpResponseBase:
    """List the campaigns that a user manages or, if there are none, can create."""
    if not isinstance(request.user, User):
        raise NotFoundError
    found = list_managed_campaigns(request.user)
    if not (can_create(request) or found.exists()):
        raise NotFoundError
    return _show_list(request, found)


@require_safe
def _show_list(request: HttpRequest, found: QuerySet[Campaign]) -> HttpResponse:
    context = {"campaigns": with_counts(found), "makes": can_create(request)}
    return render(request, "web/campaigns/list.html", context)


@_restrict_to_creators
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    """List the task templates by task type."""
    templates: list[dict[str, Any]] = [
        {
            "name": name,
            "task": task,
            "drawing": describe_drawing(task),
            "title": task.template_titles.get(name, task.title),
            "question": title_and_rest(template_text(name))[0],
        }
        for task in TASKS.values()
        for name in task.texts
    ]
    # Campaigns that collect captions are the most frequent ones.
    templates.sort(key=lambda each: not each["task"].written)
    context = {"templates": templates, "challenge": _get_challenge(request)}
    return render(request, "web/campaigns/templates.html", context)


def _get_challenge(request: HttpRequest) -> Challenge | None:
    """Return the challenge in the query string, if the user organizes it."""
    return list_organized_challenges(request.user).filter(slug=request.GET.get("challenge", "")).first()


@accepts_uploads
@restrict_to_managers
def new_from_text(request: HttpRequest, text: str) -> HttpResponse:
    """Show the form for a new campaign, and preview the campaign.

    Uploaded files are kept, also if the form has errors.
    """
    task, user = get_task_type(text), get_user(request)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    draft, uploads = read_kept(request, text)
    challenge = _get_challenge(request)
    begins = {
        "instructions": template_text(text),
        "consent": template_consent(task),
        "challenge": challenge.slug if challenge else "",
        "quiz": text if text in quizzes() else "",
        **{f"rule-{rule}": level for rule, level in task.text_rules.get(text, {}).items()},
        **get_recent_information(user),
        **draft.values,
    }
    form = NewCampaignForm(user, task, *sent, initial=begins, kept=uploads, draft=draft)
    sha256 = keep_draft(user, draft) if draft.uploads or draft.origin else ""
    if sent:
        uploads = form.merge_uploads(uploads)
        draft = form.fill(draft, keep_uploads(user, uploads) if form.has_uploads else draft.uploads)
        sha256 = keep_draft(user, draft)
    if form.is_valid():
        try:
            return show_confirm(request, draft, uploads, sha256)
        except (CampaignFilesError, ColumnsError) as error:
            return show_columns(request, draft, uploads, error)
        except CapevalError as error:
            show_new_problem(form, str(error), uploads.table_name)
    context = {
        "form": form,
        "task": task,
        "text": text,
        "title": task.template_titles.get(text, task.title),
        "question": title_and_rest(template_text(text))[0],
        "draft": sha256,
        "uploads": uploads,
        "origin": get_origin(user, draft),
        "example": json.dumps(task.example_item()),
        "parts": list_parts(task),
        "quiz": b"\n".join(quiz_lines(text)).decode() if text in quizzes() else "",
    }
    return render(request, "web/campaigns/new.html", context, status=form_status(form))


@restrict_to_managers
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


@restrict_to_managers
@require_POST
def apply_new(request: HttpRequest) -> HttpResponse:
    """Create the campaign that was previewed, or replace the draft that was edited."""
    form, user = ConfirmUploadForm(request.POST), get_user(request)
    if form.is_valid():
        draft = NewCampaign(text="")
        try:
            draft = read_draft(user, form.cleaned_data["sha256"])
            uploads = read_uploads(user, draft.uploads).with_table()
            files = draft.build_files(get_task_type(draft.text), uploads)
            made = make_from_files(user, files, get_origin(user, draft))
        except CapevalError as error:
            messages.error(
                request, f"The campaign was not {'saved' if draft.replaced else 'created'}: {error}."
            )
        else:
            drop_draft(user)
            done = "Saved the draft." if draft.replaced else "Created the campaign."
            add_success_message(request, f"{done} Open it to start assigning items.")
            return redirect("campaign", made.slug)
    return redirect("campaign_new")
