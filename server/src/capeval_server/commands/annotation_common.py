"""Helpers shared by the commands for annotation campaigns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument

if TYPE_CHECKING:
    from capeval_server.annotation.campaigns.item_files import ItemFiles
    from capeval_server.annotation.models import Campaign, Participation

__all__ = [
    "Pseudonym",
    "Slug",
    "get_campaign",
    "get_worker",
    "parse_setting",
    "print_warnings",
    "read_item_files",
]

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


def parse_setting(text: str) -> tuple[str, object]:
    """Return the name and the value of `SETTING=VALUE`.

    Raises:
        OptionError: The text has no name or no value.

    Examples:
        >>> parse_setting("review_first=5")
        ('review_first', 5)
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OptionError(f"a change must be SETTING=VALUE, such as review_first=5 (got {text!r})")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def read_item_files(path: Path, images: Path | None) -> ItemFiles:
    """Return a file of items, and the images in a folder if there is one.

    Raises:
        OptionError: The folder does not exist.
        OSError: The file can't be read.
    """
    from capeval_server.annotation.campaigns import item_files

    if images is not None and not images.is_dir():
        raise OptionError(f"'--images' must be a folder (got {str(images)!r})")
    content = path.read_bytes()
    folder = item_files.open_folder(images)
    return item_files.ItemFiles(table_name=path.name, table=content, columns={}, images=folder)


def print_warnings(campaign: Campaign) -> None:
    """Print the warnings about a campaign's settings to standard error."""
    from capeval_server.annotation.campaigns.setting_warnings import list_warnings

    for text in list_warnings(campaign):
        print(f"capeval: warning: {text}", file=sys.stderr)
