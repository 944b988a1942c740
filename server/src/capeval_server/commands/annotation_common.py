"""Helpers shared by the commands for annotation campaigns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign, Participation

__all__ = ["Pseudonym", "Slug", "get_campaign", "get_worker", "print_warnings"]

Slug = Annotated[str, Argument(metavar="CAMPAIGN", help="Name of the campaign.")]
Pseudonym = Annotated[str, Argument(metavar="WORKER", help="The worker's pseudonym.")]


def get_campaign(slug: str) -> Campaign:
    """Return the campaign with a name.

    Raises:
        OptionError: There is no such campaign.
    """
    from capeval_server.annotation.models import Campaign as Campaigns

    found = Campaigns.objects.filter(slug=slug).first()
    if found is None:
        raise OptionError(f"'CAMPAIGN' must be the name of a campaign (got {slug!r})")
    return found


def get_worker(slug: str, pseudonym: str) -> Participation:
    """Return the worker of a campaign with a pseudonym.

    Raises:
        OptionError: There is no such campaign or worker.
    """
    rows = get_campaign(slug).participations.select_related("worker", "campaign")
    found = rows.filter(worker__pseudonym=pseudonym).first()
    if found is None:
        raise OptionError(f"'WORKER' must be the pseudonym of a worker of {slug!r} (got {pseudonym!r})")
    return found


def print_warnings(campaign: Campaign) -> None:
    """Print the warnings about a campaign's settings to standard error."""
    from capeval_server.annotation.workers.trust import trust_warnings

    for text in trust_warnings(campaign):
        print(f"capeval: warning: {text}", file=sys.stderr)
