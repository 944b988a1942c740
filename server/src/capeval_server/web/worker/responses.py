"""Page on which workers answer items, and the endpoints for its forms and script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from capeval.errors import CapevalError
from capeval_server.annotation.core.digests import compute_digest
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import (
    LONGEST_NOTE,
    Assignment,
    Draft,
    Image,
    Participation,
    Report,
    Response,
)
from capeval_server.annotation.responses import assignment, content_warnings, submit
from capeval_server.annotation.task_types import task_named, task_of
from capeval_server.annotation.text_rules import rules, validation
from capeval_server.annotation.text_rules.invisible_characters import find_invisible, remove_invisible
from capeval_server.annotation.workers import enrollment, panels, payments, training
from capeval_server.core.errors import AnswerError, NotFoundError, SentenceError
from capeval_server.http.error_pages import STATUSES
from capeval_server.http.stored_images import send_jpeg
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest
from capeval_server.web.worker.choices import build_questions, keys_of
from capeval_server.web.worker.enrollment import find_frame, for_workers, or_sign_in, show_texts
from capeval_server.web.worker.frames import get_submission
from capeval_server.web.worker.pictures import list_credits, picture_of
from capeval_server.web.worker.script_texts import list_script_texts
from capeval_server.web.worker.training import show_try

__all__ = ["answer", "check", "image", "renew", "save_draft", "set_aside", "show_rules", "show_work"]

_LONGEST_DRAFT = 5000
_MOST_REVISIONS = 1000


@require_GET
@or_sign_in
@for_workers
def show_work(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Show the batch to answer, or the step that comes before or after it.

    Instead of a batch, the page can show the end of the session, the texts to agree to, the result of a
    training attempt, or the reason why there is no work.
    """
    frame = find_frame(request, participation.campaign)
    end = panels.get_session_end(participation, frame)
    if end is not None:
        return _show_end(request, participation, end)
    if participation.stage == Participation.Stage.INVITED or _must_agree_again(participation):
        return show_texts(request, participation)
    done = training.finished_try(participation)
    if done is not None:
        return show_try(request, participation, done)
    work = assignment.assign_work(participation)
    if not work.assignments:
        # Asking for work may have ended the session.
        end = panels.get_session_end(participation, frame)
        if end is not None:
            return _show_end(request, participation, end)
        shown = {
            "campaign": participation.campaign,
            "why": gettext(work.why),
            "answered": participation.answered,
            "can_finish": panels.open_session(participation) is not None,
            "others": enrollment.list_other_campaigns(participation),
        }
        return render(request, "web/worker/nothing.html", shown)
    batch = participation.assignments.filter(batch=work.assignments[0].batch)
    answered = _list_answered(batch)
    # All items of a batch are of one task type: campaign items, or one part of the training.
    task, trains = (
        task_of(work.assignments[0].item, participation.campaign),
        work.assignments[0].item.is_training,
    )
    texts = enrollment.latest_texts(participation.campaign)
    title, rest = title_and_rest(texts.instructions)
    if work.assignments[0].item.is_quiz:
        title = gettext(task.title)
    if task.written:
        # Loads the rules in advance, so that the first check of a sentence is fast.
        rules.prepare()
    drafts = Draft.objects.filter(assignment__in=work.assignments)
    typed = {draft.assignment_id: draft.content.get("caption", "") for draft in drafts}
    rows = sorted([*work.assignments, *answered], key=lambda held: held.place)
    images = Image.objects.in_bulk([held.item.image_id for held in rows if held.item.image_id])
    seconds, pay = payments.measure_work(participation)
    shown = {
        "campaign": participation.campaign,
        "title": title,
        "quiz": work.assignments[0].item.is_quiz,
        "instructions": to_html(rest),
        "items": [
            _build_item(participation, held, images, typed.get(held.pk, ""), answered.get(held))
            for held in rows
        ],
        "number": batch.count(),
        "credits": list_credits(rows, images),
        "answered": participation.answered,
        "minutes": round(seconds / 60),
        "pay": pay,
        "options": get_options(participation.campaign),
        "training": trains and not task.written,
        "practice": trains and task.written,
        "task": task,
        "from_panel": panels.open_session(participation) is not None,
        "reasons": [(value, gettext(label)) for value, label in Report.Reason.choices],
        "kind": f"web/worker/_{'judge' if task.choices else 'write'}.html",
        "judged": bool(task.choices),
        "written": bool(task.written),
        "keys": keys_of(task),
        "script_texts": list_script_texts(),
    }
    return render(request, "web/worker/work.html", shown)


def _show_end(request: HttpRequest, participation: Participation, end: panels.SessionEnd) -> HttpResponse:
    frame = find_frame(request, participation.campaign)
    shown = {
        "campaign": participation.campaign,
        "end": end,
        "text": gettext(end.text),
        "answered": participation.answered,
        "framed": frame is not None,
        "submission": get_submission(request, frame, end),
    }
    return render(request, "web/worker/end.html", shown)


def _must_agree_again(participation: Participation) -> bool:
    begun = participation.stage in (Participation.Stage.TRAINING, Participation.Stage.WORKING)
    return begun and not enrollment.has_agreed(participation)


def _list_answered(batch: QuerySet[Assignment]) -> dict[Assignment, Response]:
    """Return the answered assignments of a batch, which can be revised, with their newest answers."""
    newest: dict[Assignment, Response] = {}
    rows = Response.objects.filter(assignment__in=batch.filter(state=Assignment.State.SUBMITTED), redacted="")
    for row in rows.select_related("assignment__item").order_by("revision"):
        newest[row.assignment] = row
    return newest


def _build_item(
    participation: Participation,
    held: Assignment,
    images: Mapping[int, Image],
    typed: str,
    answered: Response | None,
) -> dict[str, Any]:
    task, payload = task_of(held.item, participation.campaign), held.item.payload
    shown = task.shown(payload, mirrored=held.mirrored)
    chosen = task.find_choices(payload, answered.answer, mirrored=held.mirrored) if answered else {}
    if answered and task.written:
        typed = answered.answer[task.written]
    return {
        "lease": held.lease,
        "place": held.place,
        "image": picture_of(images[held.item.image_id]) if held.item.image_id else None,
        "typed": typed,
        "has_invisible": bool(find_invisible(typed)),
        "revision": answered.revision if answered else 0,
        **shown,
        **(build_questions(task, shown, chosen) if task.choices else {}),
    }


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _redirect_with_message(
    request: HttpRequest, participation: Participation, text: str, error: bool
) -> HttpResponse:
    """Redirect to the page with a message, for forms sent without the script."""
    (messages.error if error else messages.success)(request, text)
    return redirect("annotate", participation.campaign.slug)


def _reject(request: HttpRequest, participation: Participation, error: CapevalError) -> HttpResponse:
    if _wants_json(request):
        status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 422)
        found = {"findings": error.findings} if isinstance(error, SentenceError) else {}
        return JsonResponse({"detail": str(error), **found}, status=status)
    return _redirect_with_message(
        request, participation, gettext("Not stored: {problem}.").format(problem=error), error=True
    )


@require_POST
@for_workers
def answer(request: HttpRequest, participation: Participation, lease: UUID) -> HttpResponse:
    """Store an answer."""
    held = assignment.get_assignment(participation, lease)
    if "clean" in request.POST:
        return _save_cleaned(request, participation, held)
    names = task_of(held.item, participation.campaign).choices or ("caption",)
    raw = {name: request.POST[name] for name in names if name in request.POST}
    number = request.POST.get("revision", "1")
    try:
        if number not in map(str, range(1, _MOST_REVISIONS + 1)):
            raise AnswerError(f"'revision' must be from 1 to {_MOST_REVISIONS}")
        given = submit.SubmittedAnswer(
            answer=raw,
            revision=int(number),
            key=_compute_key(held, raw, int(number)),
            events=_parse_events(request),
            reasons=dict.fromkeys(rules.RULES, request.POST.get("keep", "")),
        )
        done = submit.submit(held, given)
    except CapevalError as error:
        if isinstance(error, SentenceError) and not _wants_json(request):
            # Without the script, the page is reloaded, and shows the typed text from the draft.
            assignment.save_draft(held, {"caption": raw["caption"]})
        return _reject(request, participation, error)
    if _wants_json(request):
        found = {"outcome": done.outcome, "text": done.text, "revision": done.response.revision}
        return JsonResponse(found)
    return _redirect_with_message(request, participation, done.text, error=False)


def _save_cleaned(request: HttpRequest, participation: Participation, held: Assignment) -> HttpResponse:
    """Save the typed text without invisible characters, for the worker to submit."""
    assignment.save_draft(held, {"caption": remove_invisible(_get_typed(request))})
    text = gettext("Invisible characters were removed. Please read the sentence again, then submit it.")
    return _redirect_with_message(request, participation, text, error=False)


@require_POST
@for_workers
def check(request: HttpRequest, participation: Participation, lease: UUID) -> HttpResponse:
    """Check a sentence against the rules while it is written."""
    held = assignment.get_assignment(participation, lease)
    if not task_of(held.item, participation.campaign).written:
        raise NotFoundError
    texts = enrollment.latest_texts(participation.campaign)
    try:
        found = validation.check_draft(texts, held.item, request.POST.get("caption", ""))
    except CapevalError as error:
        return _reject(request, participation, error)
    return JsonResponse(asdict(found))


@require_GET
@for_workers
def show_rules(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Show the active writing rules with their levels and reasons."""
    if not task_named(participation.campaign.kind).written:
        raise NotFoundError
    settings = validation.settings_of(enrollment.latest_texts(participation.campaign))
    rows = [
        {
            "rule": rule,
            "level": settings.level(rule),
            "name": gettext(rule.name),
            "why": gettext(rule.why),
        }
        for rule in rules.RULES.values()
    ]
    shown = {"campaign": participation.campaign, "rows": [row for row in rows if row["level"] != "off"]}
    return render(request, "web/worker/rules.html", shown)


def _compute_key(held: Assignment, answer: dict[str, str], revision: int) -> str:
    """Return the idempotency key of an answer, equal in all windows."""
    return f"{held.lease}-{revision}-{compute_digest(answer)[:16]}"


def _parse_events(request: HttpRequest) -> dict[str, float]:
    """Return the valid counts that the page's script sent."""
    try:
        found = json.loads(request.POST.get("events", "{}"))
    except (ValueError, RecursionError):
        return {}
    names = ("seconds", "keys", "pastes", "pasted")
    if not isinstance(found, dict):
        return {}
    return {
        name: value
        for name in names
        if isinstance(value := found.get(name), int) and not isinstance(value, bool) and 0 <= value < 10**9
    }


@require_POST
@for_workers
def save_draft(request: HttpRequest, participation: Participation, lease: UUID) -> HttpResponse:
    """Save the typed text as a draft."""
    held = assignment.get_assignment(participation, lease)
    assignment.save_draft(held, {"caption": _get_typed(request)})
    return HttpResponse(status=204)


def _get_typed(request: HttpRequest) -> str:
    return request.POST.get("caption", "").replace("\0", "")[:_LONGEST_DRAFT]


@require_POST
@for_workers
def renew(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Renew the leases of the worker's items, because the worker is active."""
    assignment.renew_all_leases(participation)
    return HttpResponse(status=204)


@require_POST
@for_workers
def set_aside(request: HttpRequest, participation: Participation, lease: UUID) -> HttpResponse:
    """Skip an item, or report it with a reason."""
    held = assignment.get_assignment(participation, lease)
    reason, note = request.POST.get("reason", ""), request.POST.get("note", "")
    try:
        if len(note) > LONGEST_NOTE or "\0" in note:
            text = gettext("the note must have at most {most} characters")
            raise AnswerError(text.format(most=LONGEST_NOTE))
        if reason in Report.Reason.values:
            assignment.report_item(held, reason, note)
        else:
            assignment.set_aside(held, Assignment.State.SKIPPED, note)
    except CapevalError as error:
        return _reject(request, participation, error)
    return _redirect_with_message(
        request, participation, gettext("Thank you. This item has been set aside."), error=False
    )


@require_GET
@for_workers
def image(request: HttpRequest, participation: Participation, lease: UUID, size: str) -> HttpResponseBase:
    """Send the image of an item that is assigned to the worker."""
    held = assignment.get_assignment(participation, lease)
    if size not in ("small", "large"):
        raise NotFoundError
    sent = send_jpeg(getattr(content_warnings.show_image(held), size))
    sent["Cache-Control"] = "private, max-age=600"
    return sent
