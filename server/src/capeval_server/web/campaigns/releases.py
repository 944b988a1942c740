"""Pages to freeze, download and verify releases, and to use them in challenges."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.models import Campaign, Release
from capeval_server.annotation.releases import release_files as stored
from capeval_server.annotation.releases.archives import (
    freeze_with_plans,
    zip_challenge,
    zip_release,
)
from capeval_server.annotation.releases.judgment_table import explain_missing_parquet
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.challenges.models import ReferenceSet
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.core.errors import NotFoundError
from capeval_server.hosting.services import drafts, settings
from capeval_server.hosting.services.definition_files import preview_files
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.forms import FreezeForm, UseForm
from capeval_server.web.campaigns.presenters import format_count
from capeval_server.web.hosting import presenters
from capeval_server.web.hosting.common import add_success_message, form_status
from capeval_server.web.hosting.common import show as show_to_organizers
from capeval_server.web.hosting.forms import ConfirmUploadForm

__all__ = [
    "download",
    "is_judged",
    "releases",
    "send_zip",
    "use_as_references",
    "use_in_new",
    "verify",
]


def is_judged(campaign: Campaign) -> bool:
    """Return whether the answers of a campaign judge captions."""
    return task_named(campaign.kind).result.judges_systems


@accepts_uploads
@for_managers
def releases(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List the releases, and freeze a new one."""
    judged = is_judged(campaign)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = FreezeForm(*sent, judged=judged)
    if form.is_valid():
        try:
            made = _freeze(request, campaign, form.cleaned_data)
        except CapevalError as error:
            form.add_error(_find_field(str(error)), str(error))
        else:
            answers = format_count(made.responses.count(), "answer")
            add_success_message(request, f"Froze the release {made.name} with {answers}.")
            if missing := explain_missing_parquet():
                messages.warning(request, missing)
            return redirect("campaign_releases", campaign.slug)
    found = [
        {
            "release": one,
            "answers": one.responses.count(),
            "changed": stored.count_outdated_answers(one),
            "splits": [] if judged else stored.list_splits(one),
        }
        for one in campaign.releases.order_by("-time", "-pk")
    ]
    user = get_user(request)
    context = {
        "form": form,
        "releases": found,
        "unreviewed": moderation.list_review_queue(campaign).filter(filled_slot__isnull=False).count(),
        "judged": judged,
        "makes": may_create_challenges(user),
        "uses": not judged and list_organized_challenges(user).exists(),
    }
    return show(request, campaign, "releases", tab="releases", **context, status=form_status(form))


def _freeze(request: HttpRequest, campaign: Campaign, given: dict[str, Any]) -> Release:
    names = ("seed", "leave_out", "without_invisible")
    options = {name: given[name] for name in names if name in given}
    file = given.get("plans")
    plans = (file.name, file.read()) if file else None
    return freeze_with_plans(get_user(request), campaign, given["name"], plans, **options)


def _find_field(text: str) -> str:
    """Return the field that an error concerns."""
    if text.startswith("each "):
        return "leave_out"
    if "invisible characters" in text:
        return "without_invisible"
    return "name" if "release" in text else "plans"


def _get_release(campaign: Campaign, name: str) -> Release:
    return get_object_or_404(campaign.releases.select_related("campaign"), name=name)


@for_managers
@require_POST
def verify(request: HttpRequest, campaign: Campaign, name: str) -> HttpResponse:
    """Verify that the files of a release are unchanged."""
    try:
        number = stored.verify(_get_release(campaign, name))
    except CapevalError as error:
        messages.error(request, f"The release {name} has changed since it was frozen: {error}.")
    else:
        add_success_message(request, f"Verified the release {name}: all {number} files are unchanged.")
    return redirect("campaign_releases", campaign.slug)


@for_managers
@require_safe
def download(request: HttpRequest, campaign: Campaign, name: str) -> HttpResponseBase:
    """Send the files of a release as a zip."""
    data = zip_release(get_user(request), _get_release(campaign, name))
    return send_zip(data, f"{campaign.slug}-{name}.zip")


def send_zip(data: bytes, name: str) -> FileResponse:
    """Return the response that downloads a zip."""
    answer = FileResponse([data], as_attachment=True, filename=name, content_type="application/zip")
    answer["Content-Length"] = str(len(data))
    return answer


@for_managers
@require_POST
def use_in_new(request: HttpRequest, campaign: Campaign, name: str) -> HttpResponse:
    """Preview a new challenge with a release as its references."""
    user = get_user(request)
    if not may_create_challenges(user):
        raise NotFoundError
    try:
        data = zip_challenge(_get_release(campaign, name))
        preview = preview_files(None, [data])
    except CapevalError as error:
        messages.error(request, f"The release {name} cannot be used in a challenge: {error}.")
        return redirect("campaign_releases", campaign.slug)
    sha256 = drafts.keep_draft(user, None, "files", data)
    context = {
        "challenge": None,
        "confirm": ConfirmUploadForm(initial={"sha256": sha256, "seen": preview.seen}),
        "preview": preview,
        "sections": presenters.in_words(preview.changes),
    }
    return render(request, "web/hosting/files.html", context)


@for_managers
def use_as_references(request: HttpRequest, campaign: Campaign, name: str) -> HttpResponse:
    """Preview a release as the next version of a reference set."""
    release, user = _get_release(campaign, name), get_user(request)
    if is_judged(campaign):
        raise NotFoundError
    form = UseForm(user, stored.list_splits(release), request.POST or None)
    if form.is_valid():
        entry = ReferenceSet.objects.select_related("split__challenge").get(
            pk=form.cleaned_data["references"]
        )
        challenge = entry.split.challenge
        try:
            file, data = stored.split_file(release, form.cleaned_data["split"])
            found = settings.check_references(entry, file, data)
        except CapevalError as error:
            form.add_error("split", str(error))
        else:
            drafts.keep_draft(user, challenge, f"references-{entry.pk}", data)
            confirm = ConfirmUploadForm(initial={"sha256": found.sha256, "seen": entry.version, "name": file})
            shown: dict[str, Any] = {"entry": entry, "found": found, "form": confirm, "file_name": file}
            return show_to_organizers(request, challenge, "publish", tab="references", **shown)
    return show(
        request, campaign, "use", tab="releases", release=release, form=form, status=form_status(form)
    )
