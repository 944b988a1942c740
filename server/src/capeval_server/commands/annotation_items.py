"""Commands for the items and images of a campaign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import Slug, get_campaign, read_item_files
from capeval_server.commands.common import set_up

__all__ = ["add_items", "fetch", "hold", "items", "known", "quiz", "warn"]


def fetch(
    path: Annotated[Path, Argument(metavar="FILE", help="CSV of image and address, or image_info.json.")],
    folder: Annotated[Path, Argument(help="Folder for the images; created if missing.")],
) -> None:
    """Download images into a folder, from the hosts in CAPEVAL_SERVER_IMAGE_HOSTS.

    Existing files are not fetched again. Exits with 1 if a download failed.
    """
    set_up(database=False)
    from capeval_server.annotation.campaigns import image_downloads

    found = []
    for one in image_downloads.fetch_images(
        image_downloads.read_addresses(path.name, path.read_bytes()), folder
    ):
        found.append(one)
        if one.outcome == "failed":
            print(f"{one.name}: failed: {one.reason}", flush=True)
    print(image_downloads.summary(found))
    sys.exit(1 if any(one.outcome == "failed" for one in found) else 0)


def quiz(
    text: Annotated[str, Argument(help="Task text with the rules of the quiz.")] = "write-coco",
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Write the bundled quiz of a task text as lines of an items file, to edit them."""
    set_up(database=False)
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.task_types.quiz import quiz_lines

    deliver(b"\n".join((*quiz_lines(text), b"")).decode(), output)


def items(
    plan: Annotated[Path, Argument(help="Output folder of 'capeval study plan'.")],
    kind: Annotated[
        str,
        Option(
            help="Task type of the items, such as triplet or pairwise.",
            show_default="the first that fits the plan",
        ),
    ] = "",
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Create the items of a campaign from a plan of 'capeval study plan'.

    The output has one JSON object per line.
    """
    set_up()
    import json

    from capeval.formats.judgments.plans import get_plan_paths, load_plan
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.releases.result_files import plan_items

    lines = [
        json.dumps(item, ensure_ascii=False) for item in plan_items(load_plan(*get_plan_paths(plan)), kind)
    ]
    deliver("".join(f"{line}\n" for line in lines), output)


def add_items(
    slug: Slug,
    path: Annotated[Path, Argument(metavar="FILE", help="Items, in a format of item files.")],
    images: Annotated[
        Path | None, Option(metavar="FOLDER", help="Folder of new images; others are the campaign's.")
    ] = None,
) -> None:
    """Add items to a campaign that is not closing or closed. Their keys must be new."""
    set_up()
    from capeval_server.annotation.campaigns.additions import extend_campaign

    added = extend_campaign(None, get_campaign(slug), read_item_files(path, images))
    print(
        f"{slug}: added items: {added.items:,}; attention checks: {added.checks:,};"
        f" training items: {added.training:,}; images: {added.images:,}"
    )


def known(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="Captions, in a format for references.")
    ] = None,
    any_image: Annotated[bool, Option(help="Match the captions for every image.")] = False,
    submissions: Annotated[bool, Option(help="Add the captions submitted to the challenge.")] = False,
    reference_id_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of image ids.", show_default="by name")
    ] = None,
    reference_caption_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of captions.", show_default="by name")
    ] = None,
) -> None:
    """Add hashes of known captions; answers with the same caption go to review."""
    set_up()
    from capeval.formats import load_references
    from capeval_server.annotation.responses import text_flags

    campaign = get_campaign(slug)
    if (path is None) != submissions:
        raise OptionError("either 'FILE' or '--submissions' must be given")
    if path is None:
        number = text_flags.add_submissions(campaign)
    else:
        references = load_references(
            path, id_column=reference_id_column, caption_column=reference_caption_column
        )
        captions = (
            ("" if any_image else str(image), text) for image, texts in references.items() for text in texts
        )
        number = text_flags.add_known(campaign, captions)
    print(f"{slug}: {number:,} captions added")


def warn(
    slug: Slug,
    image: Annotated[str, Argument(help="Name of the image.")],
    text: Annotated[str, Argument(help="Warning, such as blood; empty to remove it.")],
) -> None:
    """Hide an image behind a content warning."""
    set_up()
    from capeval_server.annotation.responses.content_warnings import set_warning

    print(f"{image}: {set_warning(None, get_campaign(slug), image, text).warning or 'no warning'}")


def hold(
    slug: Slug,
    key: Annotated[
        str,
        Argument(metavar="ITEM", help="Key of the item; by default, list the items on hold."),
    ] = "",
    reason: Annotated[str, Option(help="Reason for the hold.")] = "",
    give: Annotated[bool, Option(help="Release the item.")] = False,
) -> None:
    """Put an item on hold or release it, and list the releases with its answers."""
    set_up()
    from capeval_server.annotation.review import moderation

    items = get_campaign(slug).items.filter(repeats=None)
    if (give or reason) and not key:
        raise OptionError("'--give' and '--reason' require an ITEM")
    if give and reason:
        raise OptionError("'--reason' and '--give' exclude each other: a release has no reason")
    if not key:
        for item in items.filter(held=True).order_by("pk"):
            names = ", ".join(moderation.releases_of(item)) or "none"
            print(f"{item.key}: {item.held_reason or 'on hold'}; releases: {names}")
        return
    found = items.filter(key=key).first()
    if found is None:
        raise OptionError(f"'ITEM' must be the key of an item of {slug!r} (got {key!r})")
    found_in = moderation.set_hold(None, found, held=not give, reason=reason)
    print(f"{key}: {'released' if give else 'on hold'}; releases: {', '.join(found_in) or 'none'}")
