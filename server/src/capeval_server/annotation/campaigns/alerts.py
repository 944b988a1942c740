"""Conditions of campaigns that their managers are alerted to: paused, stuck or complete."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from capeval_server.annotation.campaigns.progress import CampaignProgress, get_progress
from capeval_server.annotation.models import Assignment, Campaign, Response, Slot
from capeval_server.annotation.responses.assignment import expire_leases
from capeval_server.jobs.leases import database_time
from capeval_server.notifications.services import CampaignAlert, notify_campaign

__all__ = ["SILENCE", "list_watched", "send_alert"]

SILENCE = timedelta(hours=1)
"""Time without an answer after which a campaign can be stuck."""

_State = Campaign.State


def list_watched() -> QuerySet[Campaign]:
    """Return all campaigns except drafts and previews, which have no condition."""
    return Campaign.objects.exclude(state__in=(_State.DRAFT, _State.PILOT)).order_by("pk")


def send_alert(campaign: Campaign) -> bool:
    """Alert the managers of a campaign to its condition, once per change of the condition.

    Returns:
        Whether an alert was sent.
    """
    condition, text, progress = _describe_condition(campaign)
    about: dict[str, Any] = {"state": campaign.state}
    if progress is not None:
        counts = {"items": progress.items, "finished": progress.finished, "to_review": progress.to_review}
        about |= {**counts, "waiting": list(progress.waiting)}
    return notify_campaign(
        CampaignAlert(
            slug=campaign.slug,
            title=campaign.title,
            challenge=campaign.challenge,
            managers=_list_managers(campaign),
            condition=condition,
            text=text,
            about=about,
        )
    )


def _list_managers(campaign: Campaign) -> list[User]:
    """Return the organizers of a campaign and of its challenge, each once."""
    found = list(campaign.organizers.all())
    if campaign.challenge is not None:
        found += campaign.challenge.organizers.all()
    return list(dict.fromkeys(found))


def _describe_condition(campaign: Campaign) -> tuple[str, str, CampaignProgress | None]:
    """Return the condition, its description, and the progress if it is known.

    The progress of a large campaign takes seconds, so it is only computed if no work seems to be done.
    """
    if campaign.state == _State.PAUSED:
        progress = get_progress(campaign)
        text = "The campaign is paused: no items are assigned until you select Resume."
        return "paused", f"{text} {_describe_items(progress)}", progress
    if campaign.state != _State.OPEN or _is_active(campaign):
        return "", "", None
    expire_leases(campaign)
    progress = get_progress(campaign)
    if progress.items and progress.finished == progress.items:
        review = f" Answers that wait for a review: {progress.to_review:,}." if progress.to_review else ""
        return "complete", f"All items have their answers: {progress.items:,}.{review}", progress
    if progress.waiting:
        reasons = "\n".join(f"- {reason}" for reason in progress.waiting)
        text = f"No answers have arrived for an hour. {_describe_items(progress)}"
        return "stuck", f"{text}\n\n{reasons}", progress
    return "", "", progress


def _describe_items(progress: CampaignProgress) -> str:
    return f"Finished items: {progress.finished:,} of {progress.items:,}."


def _is_active(campaign: Campaign) -> bool:
    """Return whether items lack answers, and workers hold some or have sent answers recently.

    A campaign without any answer has not begun, so it also counts as active.
    """
    if not Slot.objects.filter(item__campaign=campaign, closed=False, filled_by=None).exists():
        return False
    now = database_time()
    held = Assignment.objects.filter(item__campaign=campaign, state=Assignment.State.HELD)
    if held.filter(lease_until__gt=now).exists():
        return True
    answers = Response.objects.filter(item__campaign=campaign)
    latest = answers.order_by("-received").values_list("received", flat=True).first()
    return latest is None or latest > now - SILENCE
