"""Requests of managers to review all answers of a worker."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from capeval_server.annotation.models import Participation, Response, ReviewRequest
from capeval_server.annotation.review.moderation import list_review_queue
from capeval_server.annotation.task_types import task_named
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError
from capeval_server.jobs.leases import database_time

__all__ = ["REQUESTED", "request_worker_reviews"]

REQUESTED = "requested for this worker"
"""Reason of these review requests."""


def request_worker_reviews(user: User | None, participation: Participation) -> int:
    """Send the answers of a worker to review that have no verdict and do not wait for one.

    Answers of previews, training and attention checks are not reviewed.

    Args:
        user: The manager; None for the command line.
        participation: The worker in a campaign.

    Returns:
        The number of answers that now wait in addition.

    Raises:
        CampaignError: The answers of the campaign's task type are not reviewed.
    """
    campaign = participation.campaign
    if not task_named(campaign.kind).reviewed:
        raise CampaignError(f"answers of the task type {campaign.kind} are not reviewed")
    waiting = list_review_queue(campaign).filter(participation=participation)
    with transaction.atomic():
        before, now = waiting.count(), database_time()
        answers = Response.objects.filter(
            participation=participation, may_count=True, redacted="", item__is_check=False, item__repeats=None
        )
        ReviewRequest.objects.bulk_create(
            (ReviewRequest(response=one, reason=REQUESTED, time=now) for one in answers.only("pk")),
            ignore_conflicts=True,
        )
        number = waiting.count() - before
        what = f"requested reviews of {number} answers of the worker {participation.worker}"
        record(user, campaign.challenge, f"{what} in the campaign {campaign.slug}")
    return number
