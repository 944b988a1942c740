"""Pages of a campaign's workers: statistics, invitations, blocks and payments."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.responses.content_warnings import count_warned_images
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.review_requests import request_worker_reviews
from capeval_server.annotation.review.worker_summaries import summarize_workers
from capeval_server.annotation.workers import enrollment, training
from capeval_server.annotation.workers.mailboxes import find_same_mailboxes
from capeval_server.annotation.workers.payments import payments_csv
from capeval_server.core.errors import CampaignError
from capeval_server.web.campaigns.common import for_managers, show, worker_of
from capeval_server.web.campaigns.forms import InviteForm, ReasonForm
from capeval_server.web.campaigns.presenters import format_count
from capeval_server.web.hosting.common import add_success_message, errors_in_form, form_status

__all__ = ["block", "invite", "lift", "payments", "request_reviews", "resume", "revoke", "worker", "workers"]


@for_managers
@require_safe
def workers(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show statistics of each worker's answers."""
    return _show_workers(request, campaign, InviteForm())


def _show_workers(
    request: HttpRequest, campaign: Campaign, form: InviteForm, links: list[str] | None = None
) -> HttpResponse:
    waiting = campaign.participations.filter(stage=Participation.Stage.INVITED).count()
    rows = summarize_workers(campaign)
    return show(
        request,
        campaign,
        "workers",
        tab="workers",
        workers=rows,
        flagged=[one for one in rows if one.signals],
        mailboxes=find_same_mailboxes(campaign),
        competing=enrollment.list_competing(campaign),
        invited=waiting,
        form=form,
        links=links or [],
        status=form_status(form),
    )


@for_managers
@require_POST
def invite(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Create invite links, and show them once."""
    form = InviteForm(request.POST)
    links: list[str] = []
    if form.is_valid():
        tokens: list[str] = []
        with errors_in_form(form):
            tokens = enrollment.invite(get_user(request), campaign, form.cleaned_data["number"])
        links = [
            request.build_absolute_uri(reverse("annotate_enter", args=(campaign.slug, token)))
            for token in tokens
        ]
    return _show_workers(request, campaign, form, links)


@for_managers
@require_safe
def worker(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Show a worker, and the effect that blocking them would have."""
    return _show_worker(request, campaign, worker_of(campaign, pseudonym), ReasonForm())


def _show_worker(
    request: HttpRequest, campaign: Campaign, participation: Participation, form: ReasonForm
) -> HttpResponse:
    rows = summarize_workers(campaign)
    summary = next((one for one in rows if one.participation.pk == participation.pk), None)
    return show(
        request,
        campaign,
        "worker",
        tab="workers",
        participation=participation,
        summary=summary,
        options=get_options(campaign),
        warned=count_warned_images(participation),
        same_mailbox=find_same_mailboxes(campaign).get(participation.pk, []),
        is_competing=participation.pk in enrollment.list_competing(campaign),
        effect=moderation.effect_of_blocking(participation),
        exclusions=participation.exclusions.order_by("-time", "-pk"),
        blocked=participation.stage == Participation.Stage.BLOCKED,
        paused=participation.stage == Participation.Stage.PAUSED,
        again=ReasonForm(auto_id="again_%s"),
        form=form,
        status=form_status(form),
    )


@for_managers
@require_POST
def block(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Block a worker. Their answers no longer count."""

    def done(participation: Participation, reason: str) -> str:
        _, effect = moderation.block(get_user(request), participation, reason)
        return f"Blocked the worker. {format_count(effect.answers, 'answer')} excluded."

    return _act_with_reason(request, campaign, pseudonym, done)


@for_managers
@require_POST
def lift(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Lift a block. Answers count again if their items still need them."""

    def done(participation: Participation, reason: str) -> str:
        exclusion = participation.exclusions.filter(lifted=None).first()
        if exclusion is None:
            raise CampaignError("this worker is not blocked")
        number = moderation.unblock(get_user(request), exclusion, reason)
        return f"Lifted the block. {format_count(number, 'answer')} restored."

    return _act_with_reason(request, campaign, pseudonym, done)


@for_managers
@require_POST
def resume(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Resume a worker after a pause for failed attention checks."""

    def done(participation: Participation, reason: str) -> str:
        training.resume(get_user(request), participation, reason)
        return "Resumed the worker."

    return _act_with_reason(request, campaign, pseudonym, done)


def _act_with_reason(
    request: HttpRequest, campaign: Campaign, pseudonym: str, do: Callable[[Participation, str], str]
) -> HttpResponse:
    """Run an action on a worker with the submitted reason, and show its message."""
    participation = worker_of(campaign, pseudonym)
    form = ReasonForm(request.POST)
    if form.is_valid():
        try:
            said = do(participation, form.cleaned_data["reason"])
        except CapevalError as error:
            form.add_error("reason", str(error))
        else:
            add_success_message(request, said)
            return redirect("campaign_worker", campaign.slug, pseudonym)
    return _show_worker(request, campaign, participation, form)


@for_managers
@require_POST
def request_reviews(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Send the answers of a worker to review."""
    participation = worker_of(campaign, pseudonym)
    try:
        number = request_worker_reviews(get_user(request), participation)
    except CapevalError as error:
        messages.error(request, f"Nothing changed: {error}.")
        return redirect("campaign_worker", campaign.slug, pseudonym)
    add_success_message(request, f"Sent {format_count(number, 'answer')} to review.")
    place = reverse("campaign_reviews", args=(campaign.slug,))
    return redirect(f"{place}?state=waiting&worker={pseudonym}")


@for_managers
@require_POST
def revoke(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Revoke a worker's invite link."""
    participation = worker_of(campaign, pseudonym)
    if request.POST.get("confirm") != "on":
        messages.error(request, "Nothing changed: please confirm that you want to revoke the link.")
    else:
        enrollment.revoke(get_user(request), participation)
        add_success_message(request, "Revoked the worker's link. Their answers are kept.")
    return redirect("campaign_worker", campaign.slug, pseudonym)


@for_managers
@require_safe
def payments(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Export the payments due to workers as CSV."""
    text = payments_csv(get_user(request), campaign)
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="payments-{campaign.slug}.csv"'
    return answer
