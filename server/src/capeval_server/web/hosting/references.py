"""Organizer pages of references and of scores reported elsewhere."""

from __future__ import annotations

from django import forms as django_forms
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge, ReferenceSet, ReferenceVersion
from capeval_server.core.errors import NotFoundError
from capeval_server.hosting.services import drafts, reported_scores, settings
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.hosting import forms
from capeval_server.web.hosting.common import (
    add_success_message,
    errors_as_message,
    errors_in_form,
    for_organizers,
    form_status,
    show,
)

__all__ = [
    "import_reported",
    "publish_references",
    "references",
    "remove_reported",
    "reported_file",
    "send_references",
]


@for_organizers
@require_safe
def references(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the reference sets and their versions, without their contents."""
    return _show_references(request, challenge)


def _show_references(
    request: HttpRequest,
    challenge: Challenge,
    *,
    wrong: ReferenceSet | None = None,
    form: django_forms.Form | None = None,
) -> HttpResponse:
    versions = Prefetch("reference_sets__versions", ReferenceVersion.objects.order_by("-number"))
    splits = challenge.splits.prefetch_related("reference_sets", versions).order_by("name")
    return show(
        request,
        challenge,
        "references",
        tab="references",
        splits=splits,
        blank=forms.ReferencesForm(),
        wrong=wrong,
        form=form,
        status=form_status(form) if form else 200,
    )


@accepts_uploads
@for_organizers
@require_POST
def send_references(request: HttpRequest, challenge: Challenge, split: str, references: str) -> HttpResponse:
    """Accept a reference file, and show a preview of the new version."""
    entry = reported_scores.reference_set(challenge, split, references)
    form = forms.ReferencesForm(request.POST, request.FILES)
    if form.is_valid():
        name, data = form.cleaned_data["file"].name, form.cleaned_data["file"].read()
        with errors_in_form(form, "file"):
            found = settings.check_references(entry, name, data)
            drafts.keep_draft(get_user(request), challenge, f"references-{entry.pk}", data)
            sent = {"sha256": found.sha256, "seen": entry.version, "name": name}
            confirm = forms.ConfirmUploadForm(initial=sent)
            shown = {"entry": entry, "found": found, "form": confirm, "file_name": name}
            return show(request, challenge, "publish", tab="references", **shown)
    return _show_references(request, challenge, wrong=entry, form=form)


@for_organizers
@require_POST
def publish_references(
    request: HttpRequest, challenge: Challenge, split: str, references: str
) -> HttpResponse:
    """Publish the reference file that was previewed."""
    entry = reported_scores.reference_set(challenge, split, references)
    form = forms.ConfirmUploadForm(request.POST)
    user, kind = get_user(request), f"references-{entry.pk}"
    if form.is_valid() and form.cleaned_data["seen"].isdecimal():
        given = form.cleaned_data
        with errors_as_message(request, "Nothing was published: "):
            data = drafts.read_draft(user, challenge, kind, given["sha256"])
            number = settings.publish_references(user, entry, given["name"], data, seen=int(given["seen"]))
            drafts.drop_draft(user, challenge, kind)
            add_success_message(
                request,
                f"Version {number} of {entry.name} is now current. Submissions will be scored again.",
            )
    return redirect("organizer_references", challenge.slug)


@accepts_uploads
@for_organizers
def import_reported(request: HttpRequest, challenge: Challenge, split: str, references: str) -> HttpResponse:
    """List the scores that were reported elsewhere, and import a file of them."""
    entry = reported_scores.reference_set(challenge, split, references)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = forms.ReportedForm(*sent)
    if form.is_valid():
        given = dict(form.cleaned_data)
        file = given.pop("file")
        with errors_in_form(form):
            rows, left_out = reported_scores.add_reported(
                get_user(request), entry, given.pop("name"), file.name, file.read(), **given
            )
            left = f" Ignored scores that the split does not have: {', '.join(left_out)}." if left_out else ""
            shown = f"{rows} row{' is' if rows == 1 else 's are'} now shown"
            add_success_message(request, f"{shown} with the leaderboards of {entry.name}.{left}")
            return redirect("organizer_reported", challenge.slug, split, references)
    return show(
        request,
        challenge,
        "reported",
        tab="references",
        entry=entry,
        form=form,
        found=entry.reported.order_by("name"),
        status=form_status(form),
    )


@for_organizers
@require_POST
def remove_reported(
    request: HttpRequest, challenge: Challenge, split: str, references: str, name: str
) -> HttpResponse:
    """Remove scores that were reported elsewhere from the leaderboards."""
    reported_scores.remove_reported(
        get_user(request), reported_scores.reference_set(challenge, split, references), name
    )
    add_success_message(request, f"Removed the rows of {name}.")
    return redirect("organizer_reported", challenge.slug, split, references)


@for_organizers
@require_safe
def reported_file(
    request: HttpRequest, challenge: Challenge, split: str, references: str, name: str
) -> HttpResponse:
    """Send scores that were reported elsewhere as CSV.

    The CSV can be used as one of the challenge's files.
    """
    found = reported_scores.reference_set(challenge, split, references).reported.filter(name=name).first()
    if found is None:
        raise NotFoundError
    answer = HttpResponse(reported_scores.reported_csv(found), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="reported_{split}_{references}_{name}.csv"'
    return answer
