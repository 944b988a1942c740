"""Page that shows how people come to a campaign: invite links, accounts, and a panel with its codes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.core.option_texts import render_sentence
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, Participation, Session
from capeval_server.annotation.workers import external_questions, panels
from capeval_server.annotation.workers.admission import WAYS, admits
from capeval_server.annotation.workers.bonuses import bonuses_csv
from capeval_server.core.errors import CampaignError, NotFoundError
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.recruiting_forms import PanelForm
from capeval_server.web.campaigns.worker_conditions import list_conditions
from capeval_server.web.hosting.common import add_success_message, errors_in_form, form_status

__all__ = ["OUTCOMES", "bonuses", "recruiting"]

_Outcome = Session.Outcome
_TURK_APPROVE, _TURK_REVIEW = "Approve", "Review"
_APPROVE, _REVIEW, _RETURN = "Approve automatically", "Review manually", "Request a return"

OUTCOMES: dict[str, tuple[str, str, str]] = {
    _Outcome.COMPLETED: ("Completed all answers of the session", _APPROVE, ""),
    _Outcome.NOTHING_LEFT: ("Found no work left", _REVIEW, "Pay for the answers, or for the time."),
    _Outcome.RETURNED: ("Stopped before the end", _RETURN, "You can pay the answers as a bonus."),
    _Outcome.NO_CONSENT: ("Did not agree to take part", _RETURN, ""),
    _Outcome.UNSUITABLE: ("Could not do the work with their device", _RETURN, ""),
    _Outcome.SCREENED_OUT: ("Did not pass the training", _REVIEW, "Pay for the time of the training."),
    _Outcome.FAILED_CHECKS: ("Was blocked", _REVIEW, "Read the worker's answers before you decide."),
    _Outcome.WITHDREW: (
        "Withdrew, and their answers were removed",
        _REVIEW,
        "Pay for the work done.",
    ),
}
"""Description of each outcome, the action to set for its code in Prolific, and a note on the action."""


@dataclass(frozen=True, kw_only=True)
class EndCode:
    """Row of the table of completion codes."""

    outcome: str
    text: str
    code: str
    action: str
    note: str
    sessions: int


@for_managers
@require_http_methods(["GET", "HEAD", "POST"])
def recruiting(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the ways to a campaign, and change its panel."""
    saved = panels.find_settings(campaign)
    sent = (request.POST,) if request.method == "POST" else ()
    form = PanelForm(*sent, origin=request.build_absolute_uri("/").rstrip("/"), saved=saved)
    if form.is_valid():
        with errors_in_form(form):
            panels.set_panel(get_user(request), campaign, form.content)
        if form.is_valid():
            add_success_message(request, "Saved the panel.")
            return redirect("campaign_recruiting", campaign.slug)
    others = campaign.participations.filter(sessions=None)
    context = {
        "form": form,
        "admission": _describe_admission(campaign),
        "open": {way: admits(campaign, way) for way in WAYS},
        "panel": saved,
        "conditions": list_conditions(saved) if saved else [],
        "address": _panel_address(request, campaign, saved) if saved else "",
        "files": _list_files(request, campaign, saved) if saved else [],
        "is_prolific": saved is not None and not _has_other_parameters(saved),
        "codes": list(_list_codes(campaign, saved)) if saved else [],
        "join_address": request.build_absolute_uri(reverse("annotate", args=(campaign.slug,))),
        "invited": others.filter(stage=Participation.Stage.INVITED).count(),
        "joined": others.exclude(stage=Participation.Stage.INVITED).count(),
        "from_panel": campaign.participations.exclude(sessions=None).distinct().count(),
    }
    return show(request, campaign, "recruiting", tab="recruiting", **context, status=form_status(form))


@for_managers
@require_safe
def bonuses(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Export the bonuses due to workers of Mechanical Turk as CSV."""
    settings = panels.find_settings(campaign)
    if settings is None or settings.external_question is None:
        raise NotFoundError
    try:
        text = bonuses_csv(get_user(request), campaign)
    except CampaignError as error:
        messages.error(request, f"{error}.")
        return redirect("campaign_recruiting", campaign.slug)
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="bonuses-{campaign.slug}.csv"'
    return answer


def _describe_admission(campaign: Campaign) -> str:
    """Return the sentence about admission to a campaign."""
    about = CampaignOptions.described()["open_to"]
    return render_sentence("open_to", about, get_options(campaign).model_dump())


def _panel_address(request: HttpRequest, campaign: Campaign, settings: panels.PanelSettings) -> str:
    """Return the address that the panel gives its workers, with the placeholders of their ids."""
    place = request.build_absolute_uri(reverse("annotate_panel", args=(campaign.slug,)))
    other = _has_other_parameters(settings)
    names = (settings.participant, settings.study, settings.session)
    return f"{place}?" + "&".join(
        f"{quote(name)}=" + (f"{{{name}}}" if other else f"{{{{%{name}%}}}}") for name in names
    )


def _list_files(
    request: HttpRequest, campaign: Campaign, settings: panels.PanelSettings
) -> list[dict[str, str]]:
    """Return the files with which a HIT is created, as parts of the page; none for other panels."""
    if settings.external_question is None:
        return []
    place = request.build_absolute_uri(reverse("annotate_panel", args=(campaign.slug,)))
    # Mechanical Turk accepts only HTTPS.
    address = urlunsplit(urlsplit(place)._replace(scheme="https"))
    requirements = external_questions.list_requirements(
        approval_rate=settings.approval_rate,
        approved_tasks=settings.approved_tasks,
        countries=settings.countries,
    )
    question = external_questions.question_xml(address, settings.external_question)
    return [
        {
            "text": "External question (XML)",
            "name": f"external-question-{campaign.slug}.xml",
            "address": f"data:application/xml;charset=utf-8,{quote(question)}",
        },
        {
            "text": "Worker requirements (JSON)",
            "name": f"worker-requirements-{campaign.slug}.json",
            "address": f"data:application/json,{quote(json.dumps(requirements, indent=2))}",
        },
    ]


def _has_other_parameters(settings: panels.PanelSettings) -> bool:
    """Return whether a panel has other parameters than Prolific. Its placeholders are unknown."""
    fields = panels.PanelSettings.model_fields
    return any(
        getattr(settings, name) != fields[name].default for name in ("participant", "study", "session")
    )


def _list_codes(campaign: Campaign, settings: panels.PanelSettings) -> Iterable[EndCode]:
    sessions = Session.objects.filter(participation__campaign=campaign)
    counts = dict(sessions.order_by().values_list("outcome").annotate(number=Count("pk")))
    is_turk = settings.external_question is not None
    for outcome, (text, action, note) in OUTCOMES.items():
        if is_turk and not panels.is_submitted(outcome):
            # The worker returns the HIT, so nobody enters the code.
            continue
        if is_turk:
            action = _TURK_APPROVE if action == _APPROVE else _TURK_REVIEW
        yield EndCode(
            outcome=outcome,
            text=text,
            code=settings.codes[outcome],
            action=action,
            note=note,
            sessions=counts.get(outcome, 0),
        )
