"""Commands for annotation campaigns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.commands import Argument, Command, Group, Option
from capeval.errors import OptionError
from capeval_server.commands.common import set_up, user_named

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign

__all__ = ["group"]

Slug = Annotated[
    str, Argument(metavar="CAMPAIGN", help="The campaign, as its file names it.", show_default=False)
]


def _campaign_named(slug: str) -> Campaign:
    from capeval_server.annotation.models import Campaign as Campaigns

    found = Campaigns.objects.filter(slug=slug).first()
    if found is None:
        raise OptionError(f"'CAMPAIGN' must be the name of a campaign (got {slug!r})")
    return found


def create(
    path: Annotated[Path, Argument(metavar="FILE", help="Its campaign.toml.", show_default=False)],
    manager: Annotated[
        str, Option("--manager", help="The user who manages it, beside the challenge's organisers.")
    ] = "",
) -> None:
    """Makes a campaign, as a draft, from its file and items."""
    set_up()
    from capeval_server.annotation.making import make_campaign

    made = make_campaign(user_named(manager) if manager else None, path)
    print(f"{made.slug}: made, a draft; items: {made.items.count()}")


def state(
    slug: Slug,
    to: Annotated[
        str,
        Argument(metavar="STATE", help="pilot, open, paused, closing, closed or draft.", show_default=False),
    ],
    reason: Annotated[str, Option(help="Why; to open a closed campaign again, it must be given.")] = "",
) -> None:
    """Opens, pauses or closes a campaign."""
    set_up()
    from capeval_server.annotation.campaigns import change_state

    print(f"{slug}: {change_state(None, _campaign_named(slug), to, reason=reason).state}")


def invite(
    slug: Slug,
    number: Annotated[int, Option(help="How many.", min=1, max=10_000)] = 1,
) -> None:
    """Makes invite tokens, one a person, and shows them once."""
    set_up()
    from capeval_server.annotation import entering

    for token in entering.invite(None, _campaign_named(slug), number):
        print(token)


def status(slug: Slug) -> None:
    """Says how far a campaign is, and why it does not get further."""
    set_up()
    from dataclasses import asdict

    from capeval_server.annotation.progress import progress_of

    for name, value in asdict(progress_of(_campaign_named(slug))).items():
        if name != "waiting":
            print(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
            continue
        for reason in value:
            print(f"waiting: {reason}")


def audit(
    slug: Annotated[
        str, Argument(metavar="CAMPAIGN", help="The campaign; all by default.", show_default=False)
    ] = "",
) -> None:
    """Checks from the tables alone that all holds that must hold of campaigns; exits with 1 if not."""
    set_up()
    from capeval_server.annotation.auditing import audit as findings
    from capeval_server.annotation.locks import held
    from capeval_server.annotation.models import Campaign as Campaigns

    wrong = 0
    for campaign in [_campaign_named(slug)] if slug else Campaigns.objects.order_by("slug"):
        with held(campaign) as now:
            found = list(findings(now))
        for finding in found:
            print(f"{campaign.slug}: {finding}")
        if not found:
            print(f"{campaign.slug}: all holds")
        wrong += len(found)
    sys.exit(1 if wrong else 0)


def group() -> Group:
    """`capeval server annotate`."""
    commands = (create, state, invite, status, audit)
    return Group(
        name="annotate",
        help="Campaigns in which people write, compare, rate and check captions.",
        no_args_is_help=True,
        commands=[Command(run, run.__name__) for run in commands],
    )
