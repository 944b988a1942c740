"""Organizer pages of submissions."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django import forms as django_forms
from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from capeval.toolkit import escape_row
from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.challenges.selectors.main_leaderboard import get_main
from capeval_server.hosting.services import moderation
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.selectors.scores import headline
from capeval_server.submissions.services.standing import is_settled
from capeval_server.web.hosting import forms
from capeval_server.web.hosting.common import (
    FAILURES,
    actions_of,
    add_success_message,
    errors_as_message,
    errors_in_form,
    for_organizers,
    form_status,
    paginate,
    show,
)
from capeval_server.web.presenters import label

__all__ = ["mark", "rerun_many", "rerun_one", "submission", "submissions", "take_off"]


@for_organizers
@require_safe
def submissions(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the submissions that match the filter, with `format=csv` all of them as CSV."""
    form = forms.FilterForm(challenge, request.GET)
    given = form.cleaned_data if form.is_valid() else {}
    everything = moderation.of_challenge(challenge).annotate(failures=FAILURES)
    listed = everything.order_by("-created", "-pk") if form.is_valid() else everything.none()
    for name in ("state", "mark"):
        if given.get(name):
            listed = listed.filter(**{name: "" if given[name] == "none" else given[name]})
    if given.get("phase"):
        listed = listed.filter(phase__name=given["phase"])
    if given.get("team"):
        listed = listed.filter(team__name__icontains=given["team"])
    if given.get("failures"):
        listed = listed.filter(failures__gt=0)
    some = any(given.values())
    if request.GET.get("format") == "csv" and form.is_valid():
        answer = HttpResponse(
            _render_csv(challenge, list(listed.defer("log"))), content_type="text/csv; charset=utf-8"
        )
        answer["Content-Disposition"] = f'attachment; filename="{challenge.slug}-submissions.csv"'
        return answer
    # Only keys are sorted: databases sort complete rows, with the count of failures, many times slower.
    page = paginate(request, listed.values_list("pk", flat=True))
    keys = list(page["found"])
    rows = everything.in_bulk(keys)
    page["found"].object_list = [rows[key] for key in keys if key in rows]
    _add_scores(challenge, page["found"].object_list)
    return show(
        request,
        challenge,
        "submissions",
        tab="submissions",
        form=form,
        some=some or not form.is_valid(),
        with_scores=True,
        status=form_status(form),
        **page,
    )


# The columns before the declared fields and the score.
_COLUMNS = (
    "id", "team", "phase", "baseline of", "submitted", "by", "state", "reason", "failed metrics", "mark",
    "mark reason", "on the leaderboard", "algorithm",
)  # fmt: skip


def _render_csv(challenge: Challenge, listed: list[Any]) -> str:
    """Render submissions with all of their declared fields, and scores with all digits."""
    _add_scores(challenge, listed, full=True)
    declared = [field.name for field in challenge.declared_fields]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(escape_row([*_COLUMNS, *declared, "score name", "score"]))
    for submission in listed:
        references = submission.baseline_of
        placed = submission.stands and submission.mark != Submission.Mark.HIDDEN
        row = [
            str(submission.pk),
            submission.team.name if submission.team else "",
            submission.phase.name if submission.phase else "",
            f"{references.split.name}/{references.name}" if references else "",
            submission.created.isoformat(),
            submission.user.get_username() if submission.user else "",
            submission.state,
            submission.reason,
            submission.failures,
            submission.mark,
            submission.mark_reason,
            "yes" if placed else "no",
            submission.algorithm,
            *(str(submission.declared.get(name, "")) for name in declared),
            getattr(submission, "score_name", ""),
            getattr(submission, "score", None),
        ]
        writer.writerow(escape_row(row))
    return out.getvalue()


def _add_scores(challenge: Challenge, listed: Iterable[Any], *, full: bool = False) -> None:
    """Set the score that the main leaderboard sorts by on each submission; a baseline has that of its set.

    Args:
        challenge: The challenge of the submissions.
        listed: The submissions.
        full: Whether scores by private references have all digits.
    """
    splits = Prefetch("splits", Split.objects.defer("image_ids").order_by("name"))
    phases = challenge.phases.prefetch_related(splits, "splits__reference_sets")
    main = {phase.pk: get_main(phase, phase.splits.all()) for phase in phases}
    scores = headline(listed, challenge.splits.defer("image_ids"), full=full)
    for submission in listed:
        if submission.baseline_of is not None:
            references = submission.baseline_of
            split = references.split
        elif (found := main.get(submission.phase_id)) is not None:
            split, references = found
        else:
            continue
        submission.score_name = split.sort_by
        submission.score = scores.get(submission.pk, {}).get(references.pk)


def _get_submission(challenge: Challenge, pk: UUID) -> Submission:
    return get_object_or_404(moderation.of_challenge(challenge), pk=pk)


@for_organizers
@require_safe
def submission(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Show a submission with its scores, failures and logs."""
    found = _get_submission(challenge, pk)
    form = forms.MarkForm(initial={"mark": found.mark, "reason": found.mark_reason})
    return _show_submission(request, challenge, found, form)


def _show_submission(
    request: HttpRequest, challenge: Challenge, found: Submission, form: django_forms.Form
) -> HttpResponse:
    scores = Score.objects.filter(subset="").defer("samples").order_by("pk")
    results = (
        Result.objects.filter(submission=found)
        .select_related("reference_version__reference_set__split")
        .defer("reference_version__reference_set__split__image_ids")
        .prefetch_related(Prefetch("scores", scores))
        .order_by("reference_version__reference_set_id", "-reference_version__number", "pk")
    )
    return show(
        request,
        challenge,
        "submission",
        tab="submissions",
        submission=found,
        results=results,
        files=found.files.select_related("split").defer("split__image_ids").order_by("split__name"),
        actions=actions_of(challenge).filter(submission=found),
        form=form,
        declared=[
            (label(field.name), found.declared.get(field.name, "")) for field in challenge.declared_fields
        ],
        settled=found.phase is not None and is_settled(found.phase),
        logs=bool(found.log) or any(result.log for result in results),
        status=form_status(form),
    )


@for_organizers
@require_POST
def rerun_one(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Score a submission again."""
    return _act_on_submission(
        request, challenge, pk, moderation.rerun, "The submission will be scored again."
    )


@for_organizers
@require_POST
def take_off(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Remove a submission from the leaderboard."""
    text = "The submission is no longer on the leaderboard."
    return _act_on_submission(request, challenge, pk, moderation.take_off, text)


def _act_on_submission(
    request: HttpRequest,
    challenge: Challenge,
    pk: UUID,
    act: Callable[[User, Challenge, Submission], object],
    text: str,
) -> HttpResponse:
    found = _get_submission(challenge, pk)
    with errors_as_message(request):
        act(get_user(request), challenge, found)
        add_success_message(request, text)
    return redirect("organizer_submission", challenge.slug, pk)


@for_organizers
@require_POST
def mark(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Flag or hide a submission, or remove its mark."""
    found = _get_submission(challenge, pk)
    form = forms.MarkForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        with errors_in_form(form, "reason"):
            moderation.mark(get_user(request), challenge, found, given["mark"], given["reason"])
            add_success_message(
                request, "Saved the mark." if given["mark"] else "The submission has no mark."
            )
            return redirect("organizer_submission", challenge.slug, pk)
    return _show_submission(request, challenge, found, form)


@for_organizers
def rerun_many(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Preview how many submissions will be scored again, and score them."""
    form = forms.RerunForm(challenge, request.POST or request.GET or None)
    if not form.is_valid():
        return show(request, challenge, "rerun", tab="submissions", form=form, status=form_status(form))
    chosen: Phase | None = challenge.phases.filter(name=form.cleaned_data["phase"]).first()
    failed = form.cleaned_data["which"] == "failed"
    if request.method == "POST":
        number = moderation.rerun_all(get_user(request), challenge, phase=chosen, failed=failed)
        add_success_message(request, f"{number} submission{'' if number == 1 else 's'} will be scored again.")
        return redirect("organizer_submissions", challenge.slug)
    number = moderation.repeatable(challenge, phase=chosen, failed=failed).count()
    return show(request, challenge, "rerun", tab="submissions", form=form, number=number, asked=True)
