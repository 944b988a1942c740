"""Withdrawn workers: their later requests and new enrollments are rejected."""

from __future__ import annotations

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from capeval_server.annotation.models import Campaign, Departure, Participation
from capeval_server.core.errors import AssignmentError
from capeval_server.core.translatable_texts import gettext_noop

__all__ = ["check_may_enroll", "check_not_withdrawn", "departure_digest"]

_LEFT = gettext_noop("you have withdrawn from this campaign")


def departure_digest(campaign: Campaign, who: str) -> str:
    """Return a keyed hash that marks a withdrawal without revealing the person."""
    return salted_hmac(f"left the campaign {campaign.pk}", who, algorithm="sha256").hexdigest()


def check_may_enroll(campaign: Campaign, who: str) -> None:
    """Reject withdrawn persons, so that nobody answers an item twice.

    Args:
        campaign: The campaign.
        who: An account, such as "user 7"; the hash of an invite token, such as "link 0a1b..."; or a panel and
            its id.

    Raises:
        AssignmentError: The person has withdrawn.
    """
    if Departure.objects.filter(campaign=campaign, digest=departure_digest(campaign, who)).exists():
        raise AssignmentError(gettext(_LEFT))


def check_not_withdrawn(participation: Participation) -> None:
    """Reject requests of workers after their withdrawal.

    The caller has locked the participation.

    Raises:
        AssignmentError: The worker has withdrawn.
    """
    if participation.stage == Participation.Stage.WITHDREW:
        raise AssignmentError(gettext(_LEFT))
