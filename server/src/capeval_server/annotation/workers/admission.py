"""Admission to a campaign, by its option `open_to`."""

from __future__ import annotations

from typing import Literal, get_args

from django.utils.translation import gettext

from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.core.errors import AssignmentError
from capeval_server.core.translatable_texts import gettext_noop

__all__ = ["WAYS", "Way", "admits", "check_admission"]

Way = Literal["account", "invited", "panel"]
WAYS: tuple[Way, ...] = get_args(Way)
"""The ways into a campaign."""

_REASONS = {
    "invited": gettext_noop("this campaign is only for people with an invite link"),
    "panel": gettext_noop(
        "this campaign is only for workers of its panel: please start from the panel's page"
    ),
}


def admits(campaign: Campaign, way: Way) -> bool:
    """Return whether new people may enter a campaign in a way: by account, invite link or panel."""
    return get_options(campaign).open_to in ("everybody", way)


def check_admission(campaign: Campaign, way: Way, known: Participation | None = None) -> None:
    """Reject people without access to a campaign, unless they have agreed to its texts.

    Args:
        campaign: The campaign.
        way: The way by which the person comes.
        known: The person's participation, if there is one.

    Raises:
        AssignmentError: The campaign is only open to others.
    """
    if known is not None and known.stage != Participation.Stage.INVITED:
        return
    if not admits(campaign, way):
        raise AssignmentError(gettext(_REASONS[get_options(campaign).open_to]))
