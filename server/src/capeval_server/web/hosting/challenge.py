"""Organizer pages that create or change a challenge, by forms or files."""

from __future__ import annotations

from typing import Any

from django import forms as django_forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services import drafts, final_results, settings
from capeval_server.hosting.services.definition_files import apply_files, preview_files
from capeval_server.hosting.services.description import describe_phase, fingerprint, to_toml
from capeval_server.hosting.services.new_challenge import build_challenge_zip, sample_zip
from capeval_server.http.error_pages import STATUSES
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.hosting import forms, settings_forms
from capeval_server.web.hosting.common import (
    add_success_message,
    errors_as_message,
    errors_in_form,
    for_makers,
    for_organizers,
    form_status,
    show,
)
from capeval_server.web.hosting.presenters import in_words

__all__ = [
    "apply_new",
    "apply_to",
    "definition",
    "edit",
    "files",
    "make_final",
    "new",
    "new_by_form",
    "new_link",
    "phase",
    "publish",
    "sample",
]


@for_organizers
def edit(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Show and change the texts, additional pages and declared fields."""
    about = settings.about_of(challenge)
    form = settings_forms.AboutForm(request.POST or None, initial={**about, "seen": fingerprint(about)})
    fields = settings_forms.FieldSet(request.POST or None, initial=about["fields"], prefix="fields")
    pages = settings_forms.PageSet(request.POST or None, initial=about["pages"], prefix="pages")
    sets = {"fields": fields, "pages": pages}
    if request.method == "POST" and form.is_valid() and fields.is_valid() and pages.is_valid():
        given = form.cleaned_data
        texts = ("title", "description", "rules", "data", "faq", "contact")
        wanted: dict[str, Any] = {name: given[name].replace("\r\n", "\n") for name in texts}
        wanted |= {"fields": settings_forms.declared(fields), "pages": settings_forms.list_pages(pages)}
        wanted |= {"approval": given["approval"]}
        wanted |= {
            "visibility": given["visibility"] or about.get("visibility", Challenge.Visibility.PUBLIC),
            **{
                name: given[name]
                for name in ("data_released", "invitation_only", "email_domains", "team_size")
            },
        }
        try:
            changed = settings.edit_about(get_user(request), challenge, wanted, seen=given["seen"])
        except settings.FieldsError as error:
            forms.show_problems(form, error)
        except ConflictError as error:
            shown = {**sets, "current": about, **_list_parts(challenge)}
            return _show_conflict(request, challenge, error, form, "edit", **shown)
        else:
            names = ", ".join(changed).replace("_", " ")
            add_success_message(request, f"Saved: {names}." if changed else "Nothing changed.")
            return redirect("organizer_edit", challenge.slug)
    shown = {"form": form, **sets, **_list_parts(challenge)}
    shown["link"] = _get_link(request, challenge)
    return show(request, challenge, "edit", tab="edit", **shown, status=form_status(form, fields, pages))


def _list_parts(challenge: Challenge) -> dict[str, Any]:
    """Return the phases and splits that the page links to."""
    return {
        "phases": challenge.phases.order_by("opens", "name"),
        "splits": challenge.splits.order_by("pk").defer("image_ids"),
    }


def _get_link(request: HttpRequest, challenge: Challenge) -> str:
    """Return the secret link of a challenge, or "" if it has none."""
    if not (challenge.has_link and challenge.link_key):
        return ""
    place = reverse("challenge_link", args=(challenge.slug, challenge.link_key))
    return request.build_absolute_uri(place)


@for_organizers
@require_POST
def new_link(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Replace the secret link of the challenge."""
    settings.renew_secret_link(get_user(request), challenge)
    add_success_message(request, "Created a new link. The earlier link no longer works.")
    return redirect("organizer_edit", challenge.slug)


def _show_conflict(
    request: HttpRequest,
    challenge: Challenge,
    error: ConflictError,
    form: django_forms.Form,
    page: str,
    **context: Any,
) -> HttpResponse:
    """Render a form after an edit conflict, with the current values.

    The form keeps the submitted values. Sending it again replaces the current values.
    """
    form.add_error(None, f"{error}. The current values are shown below. If you save again, you replace them.")
    data = form.data.copy()  # type: ignore[attr-defined]
    data["seen"] = fingerprint(context["current"])
    form.data = data
    return show(request, challenge, page, tab="edit", form=form, status=STATUSES[type(error)], **context)


@for_organizers
def phase(request: HttpRequest, challenge: Challenge, phase: str | None = None) -> HttpResponse:
    """Change a phase, close it now, or add one."""
    found = None if phase is None else get_object_or_404(challenge.phases, name=phase)
    sent = request.POST.copy()
    if sent.get("act") == "close":
        sent["closes"] = f"{timezone.now():%Y-%m-%d %H:%M:%S}"
    initial = (
        describe_phase(found) if found else {"quota_per_day": 5, "quota_total": 100, "captions_by": "agreed"}
    )
    seen = fingerprint(initial) if found else ""
    form = settings_forms.PhaseForm(challenge, found, sent or None, initial={**initial, "seen": seen})
    if request.method == "POST" and form.is_valid():
        wanted = {name: value for name, value in form.cleaned_data.items() if name != "seen"}
        given = form.cleaned_data["seen"] if found else None
        try:
            changed = settings.edit_phase(get_user(request), challenge, wanted, seen=given)
        except settings.FieldsError as error:
            forms.show_problems(form, error)
        except ConflictError as error:
            return _show_conflict(request, challenge, error, form, "phase", phase=found, current=initial)
        else:
            name = wanted["name"]
            done = ("Closed" if sent.get("act") == "close" else "Saved") if found else "Added"
            add_success_message(request, f"{done} phase {name}." if changed else "Nothing changed.")
            return redirect("organizer_phase", challenge.slug, name)
    problem = final_results.problem_of(found) if found else ""
    unpublished = final_results.unpublished_because(found) if found else ""
    is_open = found is not None and found.get_state(timezone.now()) == "open"
    shown = {
        "form": form,
        "phase": found,
        "is_open": is_open,
        "not_final": problem,
        "not_published": unpublished,
    }
    return show(request, challenge, "phase", tab="edit", **shown, status=form_status(form))


@for_organizers
@require_POST
def make_final(request: HttpRequest, challenge: Challenge, phase: str) -> HttpResponse:
    """Make the results of a phase final."""
    found = get_object_or_404(challenge.phases.select_related("challenge"), name=phase)
    if _is_confirmed(request):
        with errors_as_message(request, "Nothing changed: "):
            final_results.make_final(get_user(request), found)
            add_success_message(request, f"The results of phase {phase} are now final.")
    return redirect("organizer_phase", challenge.slug, phase)


def _is_confirmed(request: HttpRequest) -> bool:
    """Return whether the user confirmed a change that cannot be undone, and show a message if not."""
    confirmed = request.POST.get("confirm") == "on"
    if not confirmed:
        messages.error(request, "Nothing changed: please confirm that this cannot be undone.")
    return confirmed


@for_organizers
@require_POST
def publish(request: HttpRequest, challenge: Challenge, phase: str) -> HttpResponse:
    """Publish the scores of a blind phase."""
    found = get_object_or_404(challenge.phases.select_related("challenge"), name=phase)
    if _is_confirmed(request):
        with errors_as_message(request, "Nothing changed: "):
            final_results.publish(get_user(request), found)
            add_success_message(request, f"Published the results of phase {phase}.")
    return redirect("organizer_phase", challenge.slug, phase)


@accepts_uploads
@for_organizers
def files(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Accept a zip of the challenge's files, and preview the changes."""
    return _show_files(request, challenge)


@accepts_uploads
@for_makers
def new(request: HttpRequest) -> HttpResponse:
    """Accept a zip of a new challenge's files, and preview the challenge."""
    return _show_files(request, None)


def _show_files(request: HttpRequest, challenge: Challenge | None) -> HttpResponse:
    context: dict[str, Any] = {"challenge": challenge, "tab": "files"}
    form = forms.FilesForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        with errors_in_form(form, "file"):
            context |= _prepare_preview(request, challenge, form.cleaned_data["file"].read())
    return render(request, "web/hosting/files.html", {**context, "form": form}, status=form_status(form))


def _prepare_preview(request: HttpRequest, challenge: Challenge | None, data: bytes) -> dict[str, Any]:
    """Store a zip until it is confirmed, and return the context of its preview."""
    preview = preview_files(challenge, [data])
    sha256 = drafts.keep_draft(get_user(request), challenge, "files", data)
    confirm = forms.ConfirmUploadForm(initial={"sha256": sha256, "seen": preview.seen})
    return {"confirm": confirm, "preview": preview, "sections": in_words(preview.changes)}


@accepts_uploads
@for_makers
def new_by_form(request: HttpRequest) -> HttpResponse:
    """Show the form for a new challenge, and preview the challenge."""
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = forms.NewChallengeForm(*sent)
    if form.is_valid():
        uploads = {
            name: file for name in ("references", "human", "subsets") if (file := form.cleaned_data.get(name))
        }
        files = {name: (str(file.name), file.read()) for name, file in uploads.items()}
        try:
            context = {
                "challenge": None,
                **_prepare_preview(request, None, build_challenge_zip(form.cleaned_data, files)),
            }
        except CapevalError as error:
            forms.show_new_problem(form, str(error))
        else:
            return render(request, "web/hosting/files.html", context)
    return render(request, "web/hosting/new.html", {"form": form}, status=form_status(form))


@for_makers
@require_safe
def sample(request: HttpRequest) -> HttpResponse:
    """Send the files of a small challenge, as a starting point."""
    answer = HttpResponse(sample_zip(), content_type="application/zip")
    answer["Content-Disposition"] = 'attachment; filename="small-challenge.zip"'
    return answer


@for_organizers
@require_POST
def apply_to(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Apply the zip that was previewed."""
    return _apply(request, challenge)


@for_makers
@require_POST
def apply_new(request: HttpRequest) -> HttpResponse:
    """Create a challenge from the zip that was previewed."""
    return _apply(request, None)


def _apply(request: HttpRequest, challenge: Challenge | None) -> HttpResponse:
    form = forms.ConfirmUploadForm(request.POST)
    user = get_user(request)
    if form.is_valid():
        given = form.cleaned_data
        with errors_as_message(request, "Nothing changed: "):
            data = drafts.read_draft(user, challenge, "files", given["sha256"])
            changed = apply_files(user, challenge, [data], seen=given["seen"])
            drafts.drop_draft(user, challenge, "files")
            add_success_message(
                request,
                "Changed the challenge." if challenge else "Created the challenge.",
            )
            return redirect("organizer_overview", changed.slug)
    return redirect("organizer_files", challenge.slug) if challenge else redirect("organizer_new")


@for_organizers
@require_safe
def definition(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Send the current definition of the challenge."""
    answer = HttpResponse(to_toml(challenge), content_type="application/toml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="challenge.toml"'
    return answer
