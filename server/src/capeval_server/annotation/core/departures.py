"""Who has left a campaign: nothing more of them is stored, and they don't begin again."""

from __future__ import annotations

from django.utils.crypto import salted_hmac

from capeval_server.annotation.models import Campaign, Departure, Participation
from capeval_server.core.errors import AssignmentError

__all__ = ["check_here", "check_not_left", "departure_digest"]

_LEFT = "you have left this campaign"


def departure_digest(campaign: Campaign, who: str) -> str:
    """A hash with the server's key: it shows that somebody has left, and of nobody who it was."""
    return salted_hmac(f"left the campaign {campaign.pk}", who, algorithm="sha256").hexdigest()


def check_not_left(campaign: Campaign, who: str) -> None:
    """Refuses who has left a campaign, so that nobody answers an item twice.

    Args:
        campaign: The campaign.
        who: An account, as "user 7"; the hash of an invite token, as "link 0a1b..."; or a panel and its id.

    Raises:
        AssignmentError: They have.
    """
    if Departure.objects.filter(campaign=campaign, digest=departure_digest(campaign, who)).exists():
        raise AssignmentError(_LEFT)


def check_here(participation: Participation) -> None:
    """Refuses what a worker sends who has left meanwhile. The caller has locked the participation.

    Raises:
        AssignmentError: They have.
    """
    if participation.stage == Participation.Stage.WITHDREW:
        raise AssignmentError(_LEFT)
