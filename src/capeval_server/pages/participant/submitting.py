"""The page to submit to a phase."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from capeval_server import errors
from capeval_server.accounts.users import user_of
from capeval_server.challenges.access import phase_named
from capeval_server.challenges.models import Phase
from capeval_server.pages import texts
from capeval_server.pages.participant.common import TEMPLATES, member
from capeval_server.pages.participant.forms import SubmitForm
from capeval_server.statuses import STATUSES, passing_text
from capeval_server.submissions import intake, quotas
from capeval_server.teams.models import Team

__all__ = ["submit"]


@login_required
@never_cache
def submit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Shows what to submit and what the quota allows, and takes a submission in."""
    phase = phase_named(slug, name)
    team = member(request, phase.challenge)
    if isinstance(team, HttpResponse):
        return team
    if request.method != "POST":
        last = team.submissions.filter(phase=phase).order_by("-created").first()
        form = SubmitForm(phase.challenge, declared=last.declared if last else {})
        return _submit_page(request, phase, team, form, 200)
    form = SubmitForm(phase.challenge, request.POST, request.FILES, declared={})
    if not form.is_valid():
        return _submit_page(request, phase, team, form, 422)
    try:
        return _taken_in(request, phase, form)
    except errors.UploadError as error:
        form.add_error("file", str(error))
        return _submit_page(request, phase, team, form, STATUSES[type(error)])
    except errors.RepeatedKeyError as error:
        form.renew_key()
        form.add_error(
            None,
            "This form was already submitted with other content. "
            "To make another submission, choose the file again and submit.",
        )
        return _submit_page(request, phase, team, form, STATUSES[type(error)])
    except (errors.QuotaError, errors.PhaseError, errors.TeamError) as error:
        return _submit_page(request, phase, team, form, STATUSES[type(error)], refusal=error)
    except OSError as error:
        form.add_error(None, f"{passing_text(error).capitalize()}. Nothing was submitted: try again later.")
        return _submit_page(request, phase, team, form, 503)


def _taken_in(request: HttpRequest, phase: Phase, form: SubmitForm) -> HttpResponse:
    given = form.cleaned_data
    submission, new = intake.submit(
        user_of(request),
        phase,
        given["file"].name or "",
        given["file"].chunks(),
        declared=form.declared(),
        key=given["key"],
    )
    if new:
        messages.success(request, "Your submission was received. This page shows its progress.")
    else:
        messages.info(request, "This was already submitted: this is that submission.")
    return redirect("submission", submission.pk)


def _submit_page(
    request: HttpRequest,
    phase: Phase,
    team: Team,
    form: SubmitForm,
    status: int,
    refusal: Exception | None = None,
) -> HttpResponse:
    now = timezone.now()
    when = phase.when(now)
    per_day, total = quotas.allowance(team, phase, now)
    splits = list(phase.splits.order_by("name"))
    context = {
        "challenge": phase.challenge,
        "phase": phase,
        "team": team,
        "form": form,
        "refusal": refusal,
        "quota": quotas.quota(team, phase, now),
        "per_day": per_day,
        "total": total,
        "now": now,
        "opens_later": when == "upcoming",
        "closed": when == "closed",
        "files": [
            {
                "split": split,
                "example": texts.example_name(split),
                "images": len(split.image_ids),
                "sample": texts.example_results(split),
            }
            for split in splits
        ],
        "longest_caption": settings.CAPTION_CHARACTERS,
        "server": request.build_absolute_uri("/").rstrip("/"),
    }
    answer = render(request, f"{TEMPLATES}/submit.html", context, status=status)
    if isinstance(refusal, errors.QuotaError) and (seconds := refusal.seconds_left(now)):
        answer["Retry-After"] = str(seconds)
    return answer
