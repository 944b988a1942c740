"""List of a user's campaigns, and the pages to create one."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from capeval_server.annotation.campaigns.creation import CampaignPreview, make_from_files, preview_files
from capeval_server.annotation.campaigns.form_files import build_campaign_files, unzip_images
from capeval_server.annotation.campaigns.lifecycle import list_managed_campaigns
from capeval_server.annotation.campaigns.progress import with_counts
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS, TaskType
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.task_types.quiz import quiz_lines, quizzes
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.core.errors import NotFoundError
from capeval_server.hosting.services import drafts
from capeval_server.hosting.services.new_challenge import zipped
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.forms import NewCampaignForm, show_new_problem
from capeval_server.web.campaigns.presenters import options_in_words
from capeval_server.web.hosting.common import add_success_message, form_status
from capeval_server.web.hosting.forms import ConfirmUploadForm
from capeval_server.web.markdown import excerpt, to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["apply_new", "campaigns", "new", "new_from_text", "preview_texts"]

_DRAFT_KIND = "campaign"
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
    kinds = [
        {"task": task, "texts": [{"name": name, **_describe_template(name)} for name in task.texts]}
        for task in TASKS.values()
    ]
    context = {"kinds": kinds, "challenge": _get_challenge(request)}
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
    """Show the form for a new campaign, and preview the campaign."""
    task, user = _get_task_type(text), get_user(request)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    challenge = _get_challenge(request)
    begins = {
        "instructions": template_text(text),
        "consent": template_consent(task),
        "challenge": challenge.slug if challenge else "",
        "quiz": text if text in quizzes() else "",
        **{f"rule-{rule}": level for rule, level in task.text_rules.get(text, {}).items()},
    }
    form = NewCampaignForm(user, task, *sent, initial=begins)
    if form.is_valid():
        try:
            files = _build_files(form, task)
            preview = preview_files(user, files)
        except CapevalError as error:
            show_new_problem(form, str(error))
        else:
            sha256 = drafts.keep_draft(user, None, _DRAFT_KIND, zipped(files))
            confirm = ConfirmUploadForm(initial={"sha256": sha256, "seen": "0"})
            return render(
                request, "web/campaigns/confirm.html", {"confirm": confirm, **_describe_preview(preview)}
            )
    context = {
        "form": form,
        "task": task,
        "text": text,
        "example": json.dumps(task.example_item()),
        "quiz": b"\n".join(quiz_lines(text)).decode() if text in quizzes() else "",
    }
    return render(request, "web/campaigns/new.html", context, status=form_status(form))


def _build_files(form: NewCampaignForm, task: TaskType) -> dict[str, bytes]:
    given = form.cleaned_data
    pictures = None
    if "pictures" in given:
        pictures = unzip_images(given["pictures"].read(), limit=settings.UNPACKED_BYTES)
    about = {name: given[name] for name in ("slug", "title", "challenge", "instructions", "consent")}
    about |= {"kind": task.name, "quiz": given.get("quiz", "")}
    return build_campaign_files(
        about, form.options(), items=given["items"].read(), rules=form.rules(), pictures=pictures
    )


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
            data = drafts.read_draft(user, None, _DRAFT_KIND, form.cleaned_data["sha256"])
            made = make_from_files(user, unzip_images(data, limit=2 * settings.UNPACKED_BYTES))
        except CapevalError as error:
            messages.error(request, f"The campaign was not created: {error}.")
        else:
            drafts.drop_draft(user, None, _DRAFT_KIND)
            add_success_message(request, "Created the campaign. Open it to start assigning items.")
            return redirect("campaign", made.slug)
    return redirect("campaign_new")
