"""Commands for annotation campaigns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Command, Group, Option
from capeval_server.commands import annotation_items as items
from capeval_server.commands import annotation_releases as releases
from capeval_server.commands import annotation_reviews as reviews
from capeval_server.commands import annotation_settings as settings
from capeval_server.commands import annotation_workers as workers
from capeval_server.commands.annotation_common import Slug, get_campaign, print_warnings, read_item_files
from capeval_server.commands.annotation_lists import print_list
from capeval_server.commands.common import set_up, user_named
from capeval_server.commands.judging import leaderboard
from capeval_server.commands.reconciliation import reconcile

__all__ = ["group"]


def create(
    path: Annotated[Path, Argument(metavar="FILE", help="The campaign.toml.")],
    manager: Annotated[
        str, Option(help="User who manages it, together with the challenge's organizers.")
    ] = "",
    replace: Annotated[
        bool, Option("--replace", help="Replace the draft of the same name, if no worker has entered it.")
    ] = False,
) -> None:
    """Create a campaign as a draft, from its file and items."""
    set_up()
    from capeval_server.annotation.campaigns.creation import make_campaign

    made = make_campaign(user_named(manager) if manager else None, path, replace=replace)
    print(f"{made.slug}: {'saved' if replace else 'created'} as a draft; items: {made.items.count()}")
    print_warnings(made)


def copy(
    slug: Slug,
    name: Annotated[str, Argument(metavar="NAME", help="Name of the copy in URLs.")],
    title: Annotated[str, Option(help="Title of the copy.", show_default="Copy of, and the title")] = "",
    manager: Annotated[
        str, Option(help="User who manages it, together with the challenge's organizers.")
    ] = "",
    items: Annotated[
        Path | None, Option(metavar="FILE", help="New items in place of those of the campaign.")
    ] = None,
    images: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Folder of new images; others are the campaign's."),
    ] = None,
) -> None:
    """Copy a campaign in any state as a draft, with its items and images or with new ones."""
    set_up()
    from capeval_server.annotation.campaigns.copies import clone_campaign

    if images is not None and items is None:
        raise OptionError("'--images' requires '--items'")
    user, campaign = user_named(manager) if manager else None, get_campaign(slug)
    files = read_item_files(items, images) if items else None
    made = clone_campaign(user, campaign, name, title, items=files)
    print(f"{made.slug}: created as a draft; items: {made.items.count()}")


def delete(slug: Slug) -> None:
    """Delete a draft that no worker has entered. This cannot be undone."""
    set_up()
    from capeval_server.annotation.campaigns.deletion import count_deleted, delete_draft

    campaign = get_campaign(slug)
    found = count_deleted(campaign)
    delete_draft(None, campaign)
    print(f"{slug}: deleted; items: {found.items:,}; images: {found.images:,}; links: {found.links:,}")


def state(
    slug: Slug,
    to: Annotated[
        str, Argument(metavar="STATE", help="pilot (a preview), open, paused, closing, closed or draft.")
    ],
    reason: Annotated[str, Option(help="Reason; required to reopen a closed campaign.")] = "",
) -> None:
    """Open, pause or close a campaign."""
    set_up()
    from capeval_server.annotation.campaigns.lifecycle import change_state

    print(f"{slug}: {change_state(None, get_campaign(slug), to, reason=reason).state}")


def status(slug: Slug) -> None:
    """Show the progress of a campaign, and the reasons if it is waiting."""
    set_up()
    from dataclasses import asdict

    from capeval_server.annotation.campaigns.progress import get_progress

    for name, value in asdict(get_progress(get_campaign(slug))).items():
        if name != "waiting":
            print(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
            continue
        for reason in value:
            print(f"waiting: {reason}")


def audit(
    slug: Annotated[
        str, Argument(metavar="CAMPAIGN", help="Name of the campaign; by default, all campaigns.")
    ] = "",
) -> None:
    """Check the integrity of campaigns from the database; exit with 1 on a violation."""
    set_up()
    from capeval_server.annotation.core.locks import held
    from capeval_server.annotation.models import Campaign as Campaigns
    from capeval_server.annotation.releases.integrity import audit as findings

    wrong = 0
    for campaign in [get_campaign(slug)] if slug else Campaigns.objects.order_by("slug"):
        with held(campaign) as now:
            found = list(findings(now))
        for finding in found:
            print(f"{campaign.slug}: {finding}")
        if not found:
            print(f"{campaign.slug}: no problems found")
        wrong += len(found)
    sys.exit(1 if wrong else 0)


def replay(slug: Slug) -> None:
    """Recompute the adaptive choices of items from the answers.

    Exits with 1 if a choice differs.
    """
    set_up()
    from capeval_server.annotation.core.locks import held
    from capeval_server.annotation.responses.adaptive_sampling import replay as replayed

    with held(get_campaign(slug)) as now:
        found = list(replayed(now))
    for each in found:
        said = "; ".join(each.differs) or "unchanged"
        if each.removed:
            said += f" (wins could not be recounted; answers removed since: {each.removed:,})"
        print(f"choice {each.choice.number}, {each.choice.time:%Y-%m-%d %H:%M}: {said}")
    print(f"choices: {len(found)}")
    sys.exit(1 if any(each.differs for each in found) else 0)


def group() -> Group:
    """Return the command group `capeval server annotate`."""
    commands = (
        *(
            items.fetch,
            items.quiz,
            create,
            copy,
            delete,
            items.items,
            state,
            settings.settings,
            settings.answers,
        ),
        *(settings.quality, settings.texts, settings.rules, workers.invite, settings.panel, reconcile),
        *(
            workers.link,
            status,
            workers.block,
            workers.lift,
            workers.resume,
            workers.revoke,
            workers.withdraw,
        ),
        *(
            settings.webhook,
            settings.rate,
            workers.payments,
            items.warn,
            items.hold,
            items.known,
            reviews.review,
        ),
        *(
            reviews.compare,
            reviews.recheck,
            reviews.agreement,
            reviews.plan,
            releases.results,
            releases.judgments,
            audit,
            replay,
        ),
        *(releases.freeze, releases.verify, releases.download, releases.challenge, releases.publish),
        leaderboard,
    )
    return Group(
        name="annotate",
        help="Manage campaigns in which people write, compare, rate and check captions.",
        no_args_is_help=True,
        commands=[
            Command(print_list, "list"),
            Command(items.add_items, "add-items"),
            *(Command(run, run.__name__) for run in commands),
        ],
    )
