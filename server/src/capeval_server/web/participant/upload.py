"""Page to submit to a phase."""

from __future__ import annotations

import re

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Phase
from capeval_server.challenges.selectors.access import get_phase, is_organizer
from capeval_server.core import errors
from capeval_server.http.error_pages import STATUSES, log_transient_error
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.submissions.quotas import limits
from capeval_server.submissions.services.admission import Admission, admit_upload
from capeval_server.teams.models import Team
from capeval_server.web import presenters
from capeval_server.web.participant.common import TEMPLATES, member
from capeval_server.web.participant.forms import SubmitForm

__all__ = ["submit"]


# Exempt, because the CSRF token is in the body, which is read only after the upload is admitted. `_receive`
# checks the token.
@accepts_uploads
@csrf_exempt
@login_required
@never_cache
def submit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show the submission form with the remaining quota, and accept submissions."""
    phase = get_phase(slug, name)
    team = member(request, phase.challenge)
    if isinstance(team, HttpResponse):
        return team
    if request.method != "POST":
        return _show_form(request, phase, team, _create_form(phase, team), 200)
    key = request.GET.get("key", "")
    if not re.fullmatch("[!-~]{1,100}", key):
        raise BadRequest("a form without a valid key")
    size = int(request.headers.get("Content-Length") or 0)
    try:
        with admit_upload(get_user(request), phase, size=size, key=key) as admission:
            return _receive(request, phase, team, admission)
    except (errors.QuotaError, errors.PhaseError, errors.TeamError, errors.UploadError) as error:
        form = _create_form(phase, team)
        return _show_form(request, phase, team, form, STATUSES[type(error)], refusal=error)


def _create_form(phase: Phase, team: Team) -> SubmitForm:
    """Return a form with the values that the team declared last."""
    last = team.submissions.filter(phase=phase).order_by("-created").first()
    return SubmitForm(phase, declared=last.declared if last else {})


@csrf_protect
def _receive(request: HttpRequest, phase: Phase, team: Team, admission: Admission) -> HttpResponse:
    """Validate the form, and create its submission."""
    form = SubmitForm(phase, request.POST, request.FILES, declared={})
    if not form.is_valid():
        return _show_form(request, phase, team, form, 422)
    file = form.cleaned_data["file"]
    try:
        submission, new = admission.submit(file.name or "", file.chunks(), declared=form.declared())
    except errors.UploadError as error:
        form.add_error("file", str(error))
        return _show_form(request, phase, team, form, STATUSES[type(error)])
    except errors.RepeatedKeyError as error:
        form.add_error(
            None,
            "This form was already submitted with different content. "
            "To make another submission, select the file again and submit.",
        )
        return _show_form(request, phase, team, form, STATUSES[type(error)])
    except (OSError, errors.BusyError) as error:
        admission.costs = False
        form.add_error(
            None, f"{log_transient_error(error).capitalize()}. Nothing was submitted. Try again later."
        )
        return _show_form(request, phase, team, form, 503)
    if new:
        messages.success(request, "Your submission was received. This page shows its progress.")
    else:
        messages.info(request, "You have already submitted this. This page shows that submission.")
    return redirect("submission", submission.pk)


def _show_form(
    request: HttpRequest,
    phase: Phase,
    team: Team,
    form: SubmitForm,
    status: int,
    refusal: Exception | None = None,
) -> HttpResponse:
    now = timezone.now()
    when = phase.get_state(now)
    per_day, total = limits.allowance(team, phase, now)
    splits = list(phase.splits.order_by("name"))
    released = phase.challenge.has_released_data(now) or is_organizer(get_user(request), phase.challenge)
    context = {
        "challenge": phase.challenge,
        "phase": phase,
        "team": team,
        "form": form,
        "refusal": refusal,
        "quota": limits.quota(team, phase, now),
        "per_day": per_day,
        "total": total,
        "now": now,
        "opens_later": when == "upcoming",
        "closed": when == "closed",
        "accepts": when == "open" and not phase.challenge.is_archived,
        "files": [
            {
                "split": split,
                "example": presenters.example_name(split),
                "images": len(split.image_ids),
                "sample": presenters.example_results(split) if released else "",
            }
            for split in splits
        ],
        "longest_caption": settings.CAPTION_CHARACTERS,
        "most_refused": settings.REFUSED_UPLOADS,
        "server": request.build_absolute_uri("/").rstrip("/"),
    }
    answer = render(request, f"{TEMPLATES}/submit.html", context, status=status)
    if isinstance(refusal, errors.QuotaError) and (seconds := refusal.seconds_left(now)):
        answer["Retry-After"] = str(seconds)
    return answer
