"""Pages to judge the submissions of a leaderboard: choices, forecast and creation of campaigns."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns import leaderboard_judging as judging
from capeval_server.annotation.campaigns.form_files import unzip_images
from capeval_server.annotation.campaigns.judging_forecast import forecast_judging
from capeval_server.annotation.campaigns.lifecycle import get_recent_information, name_missing
from capeval_server.annotation.core.study_information import STUDY_SETTINGS
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services import drafts
from capeval_server.hosting.services.challenge_import import get_reference_set
from capeval_server.hosting.services.new_challenge import zipped
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.hosting import leaderboard_forms as forms
from capeval_server.web.hosting.campaigns import redirect_to_campaigns
from capeval_server.web.hosting.common import add_success_message, for_organizers, form_status, show
from capeval_server.web.hosting.forms import ConfirmUploadForm

__all__ = ["create", "judge"]

_DRAFT_KIND, _PICTURES_KIND, _CHOICES = "judging", "judging-pictures", "choices.json"
# Fields of the form that are stored until the campaigns are created.
_CHOSEN = (
    *("references", "submissions", "kinds", "name", "title", "images", "answers", "check_every"),
    *("hourly", "fee", "kept", *STUDY_SETTINGS),
)


@accepts_uploads
@for_organizers
def judge(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Show the form to judge a leaderboard, and the forecast of the campaigns."""
    phase = _get_chosen_phase(challenge, request.POST.get("phase") or request.GET.get("phase", ""))
    if request.method != "POST":
        form = _build_form(phase, initial=get_recent_information(get_user(request)))
        return _show_form(request, challenge, phase, form)
    data = request.POST.copy()
    if uploaded := request.FILES.get("pictures"):
        # Browsers do not send a file again, so it is kept until the campaigns are created.
        data["kept"] = drafts.keep_draft(get_user(request), challenge, _PICTURES_KIND, uploaded.read())
        uploaded.seek(0)
    form = _build_form(phase, data, request.FILES)
    if form.is_valid():
        try:
            return _preview(request, challenge, phase, form)
        except ConflictError as error:
            _drop_kept(form, f"{error}.")
        except CapevalError as error:
            form.add_error(None, f"{error}.")
    return _show_form(request, challenge, phase, form)


def _get_chosen_phase(challenge: Challenge, name: str) -> Phase:
    phases = challenge.phases.order_by("-opens", "pk")
    return next((each for each in phases if each.name == name), phases[0])


def _build_form(phase: Phase, *sent: Any, **options: Any) -> forms.JudgingForm:
    return forms.JudgingForm(phase, judging.list_judgeable(phase), judging.judging_kinds(), *sent, **options)


def _show_form(
    request: HttpRequest, challenge: Challenge, phase: Phase, form: forms.JudgingForm
) -> HttpResponse:
    phases = list(challenge.phases.order_by("-opens", "pk"))
    context = {"form": form, "phase": phase, "phases": phases}
    return show(request, challenge, "judge", tab="campaigns", **context, status=form_status(form))


def _drop_kept(form: forms.JudgingForm, problem: str) -> None:
    """Ask for the zip of the images again."""
    data = form.data.copy()  # type: ignore[attr-defined]
    data["kept"] = ""
    form.data = data
    form.add_error("pictures", problem)


def _preview(
    request: HttpRequest, challenge: Challenge, phase: Phase, form: forms.JudgingForm
) -> HttpResponse:
    given = form.cleaned_data
    choices = {"phase": phase.name, **{name: given[name] for name in _CHOSEN}}
    pictures = {}
    if given["kept"]:
        data = drafts.read_draft(get_user(request), challenge, _PICTURES_KIND, given["kept"])
        pictures = unzip_images(data, limit=settings.UNPACKED_BYTES)
    wanted = _build_request(challenge, choices)
    judged = judging.collect_captions(wanted, list(pictures), is_forecast=True)
    shown = {name: pictures[name] for name in judged.pictures.values() if name in pictures}
    data = zipped({_CHOICES: json.dumps(choices).encode(), **shown})
    sha256 = drafts.keep_draft(get_user(request), challenge, _DRAFT_KIND, data)
    found = forecast_judging(wanted, judged, hourly=given["hourly"], fee=given["fee"] / 100)
    context: dict[str, Any] = {
        "confirm": ConfirmUploadForm(initial={"sha256": sha256, "seen": "0"}),
        "wanted": wanted,
        "systems": list(judged.systems),
        "forecasts": [{**asdict(each), "percent": 100 * each.difference} for each in found],
        "answers": sum(each.answers for each in found),
        "check_answers": sum(each.check_answers for each in found),
        "hours": sum(each.hours for each in found),
        "cost": sum(each.cost for each in found),
        "is_share": any(each.is_share for each in found),
        "lacks_pictures": "" in judged.pictures.values(),
        "lacking": name_missing(wanted.options),
    }
    return show(request, challenge, "judge_forecast", tab="campaigns", **context)


def _build_request(challenge: Challenge, choices: dict[str, Any]) -> judging.JudgingRequest:
    phase = challenge.phases.select_related("challenge").get(name=choices["phase"])
    references = get_reference_set(challenge, choices["references"])
    if references is None:
        raise ValueError("the form requires a reference set")
    return judging.JudgingRequest(
        phase=phase,
        references=references,
        submissions=[UUID(each) for each in choices["submissions"]],
        kinds=judging.check_kinds(choices["kinds"]),
        name=choices["name"],
        title=choices["title"],
        images=choices["images"],
        answers=choices["answers"],
        check_every=choices["check_every"],
        options={name: choices[name] for name in STUDY_SETTINGS},
    )


@for_organizers
@require_POST
def create(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Create the campaigns of a forecast as drafts, or show its choices again to change them."""
    confirm, user = ConfirmUploadForm(request.POST), get_user(request)
    if not confirm.is_valid():
        return redirect("organizer_campaigns", challenge.slug)
    try:
        data = drafts.read_draft(user, challenge, _DRAFT_KIND, confirm.cleaned_data["sha256"])
    except CapevalError as error:
        messages.error(request, f"No campaign was created: {error}.")
        return redirect("organizer_judge", challenge.slug)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    choices = json.loads(files.pop(_CHOICES))
    if "change" in request.POST:
        return _show_choices(request, challenge, choices)
    try:
        made = judging.create_judging(user, _build_request(challenge, choices), files)
    except CapevalError as error:
        return _show_choices(request, challenge, choices, f"No campaign was created: {error}.")
    for kind in (_DRAFT_KIND, _PICTURES_KIND):
        drafts.drop_draft(user, challenge, kind)
    number = f"{len(made)} draft campaign{'' if len(made) == 1 else 's'}"
    add_success_message(request, f"Created {number}. Next steps: open the drafts, and create links.")
    return redirect_to_campaigns(challenge, made)


def _format_value(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def _show_choices(
    request: HttpRequest, challenge: Challenge, choices: dict[str, Any], problem: str = ""
) -> HttpResponse:
    """Show the form with the choices of a forecast, and the problem of its campaigns if there is one."""
    data = QueryDict(mutable=True)
    for name, value in choices.items():
        data.setlist(name, value if isinstance(value, list) else [_format_value(value)])
    phase = _get_chosen_phase(challenge, choices["phase"])
    form = _build_form(phase, data)
    if problem:
        form.add_error(None, problem)
    return _show_form(request, challenge, phase, form)
