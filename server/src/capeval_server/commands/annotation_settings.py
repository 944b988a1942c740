"""Commands for the settings, rules, texts and panel of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import Slug, get_campaign, parse_setting, print_warnings
from capeval_server.commands.common import set_up

__all__ = ["answers", "panel", "quality", "rate", "rules", "settings", "texts", "webhook"]


def settings(slug: Slug) -> None:
    """Show all settings of a campaign."""
    set_up()
    campaign = get_campaign(slug)
    for name, value in campaign.settings.items():
        print(f"{name}: {value}")
    print_warnings(campaign)


def answers(
    slug: Slug,
    number: Annotated[int, Argument(metavar="NUMBER", help="Answers per item, such as 5.")],
) -> None:
    """Set the number of answers that each item needs, even while the campaign is open."""
    set_up()
    from capeval_server.annotation.campaigns.lifecycle import set_answers

    campaign = set_answers(None, get_campaign(slug), number)
    print(f"{slug}: {number} answers per item")
    print_warnings(campaign)


def quality(
    slug: Slug,
    changes: Annotated[
        list[str] | None,
        Argument(
            metavar="SETTING=VALUE",
            help="New values, such as reopened_for=everybody; by default, show all settings.",
        ),
    ] = None,
) -> None:
    """Show or change the quality settings of a campaign, even while it is open."""
    set_up()
    from capeval_server.annotation.campaigns import lifecycle

    campaign = get_campaign(slug)
    if changes:
        campaign = lifecycle.set_quality(None, campaign, dict(map(parse_setting, changes)))
    for name, value in lifecycle.quality_settings(campaign).items():
        print(f"{name}: {value}")
    print_warnings(campaign)


def rules(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="TOML with a [rules] table; by default, show the rules.")
    ] = None,
) -> None:
    """Show the caption rules, or set them with a new version of the campaign's texts."""
    set_up()
    from capeval_server.annotation.campaigns.definition import read_rules
    from capeval_server.annotation.campaigns.lifecycle import set_rules
    from capeval_server.annotation.text_rules.rules import RULES
    from capeval_server.annotation.text_rules.validation import settings_of
    from capeval_server.annotation.workers.enrollment import latest_texts

    campaign = get_campaign(slug)
    if path is not None:
        set_rules(None, campaign, read_rules(path.name, path.read_bytes()))
    texts = latest_texts(campaign)
    print(f"{slug}: version {texts.number}")
    settings = settings_of(texts)
    for rule in RULES.values():
        print(f"{rule.name}: {settings.level(rule)}")


def texts(
    slug: Slug,
    instructions: Annotated[Path | None, Option(help="Markdown file of the instructions.")] = None,
    consent: Annotated[Path | None, Option(help="Markdown file of the consent.")] = None,
) -> None:
    """Publish new instructions or a new consent text; workers must agree again."""
    set_up()
    from capeval_server.annotation.campaigns.consent import change_texts
    from capeval_server.annotation.campaigns.definition import read_markdown

    found = {
        name: None if path is None else read_markdown(path.name, path.read_bytes())
        for name, path in (("instructions", instructions), ("consent", consent))
    }
    print(f"{slug}: version {change_texts(None, get_campaign(slug), **found).number} of the texts")


def panel(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="The panel.toml; by default, show the panel.")
    ] = None,
) -> None:
    """Show the panel of a campaign with its completion codes, or set the panel."""
    set_up()
    from capeval_server.annotation.campaigns.definition import read_panel
    from capeval_server.annotation.workers import panels

    campaign = get_campaign(slug)
    if path is not None:
        panels.set_panel(
            None, campaign, read_panel(path.name, lambda name: (path.parent / name).read_bytes())
        )
    found = panels.panel_settings(campaign)
    print(f"{slug}: {found.name}; identities: {'signed' if found.signed else 'unverified'}")
    for outcome, code in found.codes.items():
        print(f"{outcome}: {code}")


def webhook(
    slug: Slug,
    url: Annotated[
        str, Argument(metavar="URL", help="URL that receives the alerts; by default, list the webhooks.")
    ] = "",
    remove: Annotated[bool, Option("--remove", help="Remove the webhook.")] = False,
) -> None:
    """List the webhooks that receive the alerts of a campaign, or add or remove one.

    A new webhook's secret, which signs the requests, is printed once.
    """
    set_up()
    from capeval_server.notifications import webhooks

    campaign = get_campaign(slug)
    own = webhooks.list_webhooks(campaign.challenge, slug)
    if not url:
        for each in own:
            print(each.url)
    elif not remove:
        made = webhooks.add(None, campaign.challenge, url, campaign=slug)
        print(f"{slug}: added the webhook {url}; secret: {made.secret}")
    elif (found := own.filter(url=url).first()) is not None:
        webhooks.remove(None, found, campaign.challenge)
        print(f"{slug}: removed the webhook {url}")
    else:
        raise OptionError(f"'URL' must be a webhook of {slug!r} (got {url!r})")


def rate(
    slug: Slug,
    amount: Annotated[str, Argument(help="Payment per answer, such as 0.12.")],
    currency: Annotated[str, Argument(help="Currency, such as EUR.")],
) -> None:
    """Set the payment per answer."""
    set_up()
    from capeval_server.annotation.workers.payments import set_rate

    set_rate(None, get_campaign(slug), amount, currency)
    print(f"{slug}: {amount} {currency} per answer")
