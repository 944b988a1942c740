"""Releases: permanent snapshots of counted answers, and their use in challenges."""

from __future__ import annotations

import csv
import hashlib
import io
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from capeval import __version__
from capeval.datasets.building import SplitPlan, build_dataset, load_plans
from capeval.datasets.versions import freeze as freeze_dataset
from capeval.datasets.versions import verify as verify_dataset
from capeval.errors.messages import format_names
from capeval.formats.io.json import read_json, write_json
from capeval.toolkit import atomic_write, escape_row
from capeval_server.annotation.campaigns.lifecycle import unfinished
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import find_ended_items, select_countable
from capeval_server.annotation.models import Campaign, Release, ReleasedResponse, Response, ReviewRequest
from capeval_server.annotation.releases.dataset_metadata import describe_dataset, describe_images
from capeval_server.annotation.releases.judgment_table import write_judgments
from capeval_server.annotation.releases.result_files import write_choices, write_results
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.text_rules.invisible_characters import (
    describe_invisible,
    find_invisible,
    remove_invisible,
)
from capeval_server.audit.models import COMMAND_LINE, record
from capeval_server.challenges.models import ReferenceSet
from capeval_server.core.errors import CampaignError
from capeval_server.hosting.services.settings import publish_references
from capeval_server.jobs.leases import database_time

__all__ = [
    "count_outdated_answers",
    "find_file",
    "folder_of",
    "freeze",
    "list_splits",
    "publish",
    "split_file",
    "verify",
]

_PROVENANCE = "provenance.csv"
_COLUMNS = ("response", "image", "worker", "texts", "received")
_LONGEST_NAME = 50
_MOST_NAMED = 5
_INVISIBLE = "one with invisible characters"


def _get_root() -> Path:
    return Path(settings.RELEASES)


def folder_of(release: Release) -> Path:
    """Return the folder that contains the files of a release."""
    return _get_root() / release.folder / release.name


def freeze(
    user: User | None,
    campaign: Campaign,
    name: str,
    *,
    plans: Path | None = None,
    seed: int = 0,
    leave_out: bool = False,
    without_invisible: bool = False,
) -> Release:
    """Freeze the counted answers: captions in splits according to plans, or judgments.

    Captions with invisible characters, from before the rule against them, are rejected and sent to review.

    Args:
        user: The user who freezes; None for the command line.
        campaign: The campaign.
        name: Name of the release, such as 1.0.
        plans: File with plans of splits, only for captions; by default, a single split contains all captions
            of all images.
        seed: Seed of random draws.
        leave_out: Whether to omit items that lack answers.
        without_invisible: Whether to remove invisible characters from captions instead of rejecting the
            captions. The manifest records the removals.

    Raises:
        CampaignError: The name is invalid or taken, items lack answers, plans are given for judgments, or
            captions have invisible characters.
        CapevalError: The plans are invalid, or do not match the captions.
        OSError: A file can't be read or written.
    """
    _check_name(name)
    judged = task_named(campaign.kind).result.judges_systems
    if judged and plans is not None:
        raise CampaignError(f"plans require a task type that collects captions (got {campaign.kind!r})")
    # Each attempt has its own folder, so concurrent and interrupted attempts don't collide.
    place = uuid.uuid4().hex
    with held(campaign) as now:
        if now.releases.filter(name=name).exists():
            raise CampaignError(f"release {name!r} already exists and cannot change; choose another name")
        _check_complete(now, leave_out=leave_out)
        rows = list(_iterate_counted(now, leave_out=leave_out))
        refused = [] if judged else _filter_invisible(rows, only_empty=without_invisible)
        if refused:
            _send_to_review(refused)
        else:
            if judged:
                target = _freeze_judgments(now, name, place, leave_out=leave_out)
            else:
                target = _freeze_captions(now, rows, name, place, plans, seed)
            _add_judgments(now, rows, target)
            made = _record_release(user, now, rows, target, seed)
    # Raised after the transaction, so that the review requests are kept.
    if refused:
        raise CampaignError(_format_refusal(refused))
    return made


def _record_release(
    user: User | None, campaign: Campaign, rows: list[Response], target: Path, seed: int
) -> Release:
    provenance = _build_provenance(rows)
    with atomic_write(target.parent / _PROVENANCE) as file:
        file.write(provenance)
    made = Release.objects.create(
        campaign=campaign,
        name=target.name,
        folder=target.parent.name,
        manifest={
            "manifest.json": _compute_sha256((target / "manifest.json").read_bytes()),
            _PROVENANCE: _compute_sha256(provenance),
            "seed": seed,
            "texts": sorted({row.texts.number for row in rows}),
            "capeval": __version__,
        },
        who=COMMAND_LINE if user is None else user.username,
        time=database_time(),
    )
    ReleasedResponse.objects.bulk_create(
        (ReleasedResponse(release=made, response=row) for row in rows), batch_size=5000
    )
    what = f"froze the release {made.name} of the campaign {campaign.slug} ({len(rows)} answers)"
    record(user, campaign.challenge, what)
    return made


def _add_judgments(campaign: Campaign, rows: list[Response], target: Path) -> None:
    """Write the table of all judgments, and add its files to the manifest."""
    manifest = read_json(target / "manifest.json")
    paths = write_judgments(campaign, {row.pk for row in rows}, target)
    manifest["files"] |= {path.name: _describe_file(path) for path in paths}
    write_json(manifest, target / "manifest.json")


def _describe_file(path: Path) -> dict[str, str | int]:
    data = path.read_bytes()
    return {"sha256": _compute_sha256(data), "bytes": len(data)}


def _get_caption(row: Response) -> str:
    return str(row.answer[task_named(row.item.campaign.kind).written])


def _filter_invisible(rows: list[Response], *, only_empty: bool = False) -> list[Response]:
    """Return the answers with invisible characters in their captions.

    With `only_empty`, return only those whose captions have no other characters.
    """
    found = [row for row in rows if find_invisible(_get_caption(row))]
    return [row for row in found if not remove_invisible(_get_caption(row))] if only_empty else found


def _send_to_review(rows: list[Response]) -> None:
    now = database_time()
    asked = (ReviewRequest(response=row, reason=_INVISIBLE, time=now) for row in rows)
    ReviewRequest.objects.bulk_create(asked, ignore_conflicts=True)


def _format_refusal(rows: list[Response]) -> str:
    named = [
        f"answer {row.pk} of image {row.item.key!r}: {describe_invisible(_get_caption(row))}"
        for row in rows[:_MOST_NAMED]
    ]
    more = [f"and {len(rows) - _MOST_NAMED:,} more answers"] if len(rows) > _MOST_NAMED else []
    return (
        f"captions must have no invisible characters (got {'; '.join([*named, *more])}); reject these"
        " answers (those without a review are now in the review queue), or choose to remove the characters"
        " (--without-invisible)"
    )


def _check_name(name: str) -> None:
    """Reject names that can't be a folder's name, or are too long for the database."""
    plain_name = not name.startswith(".") and name.replace(".", "").replace("-", "").isalnum()
    if not plain_name or len(name) > _LONGEST_NAME:
        raise CampaignError(
            f"a release's name must be 1 to {_LONGEST_NAME} letters, digits, '.' and '-', and not begin with"
            f" '.' (got {name!r})"
        )


def _compute_sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_complete(campaign: Campaign, *, leave_out: bool) -> None:
    keys = list(unfinished(campaign).order_by("pk").values_list("key", flat=True))
    if keys and not leave_out:
        judged = task_named(campaign.kind).result.judges_systems
        what, answers = ("item", "answers") if judged else ("image", "captions")
        missing = f"each {what} must have all its {answers} (missing for {format_names(keys)})"
        raise CampaignError(f"{missing}; wait for them, or leave out these {what}s")


def _iterate_counted(campaign: Campaign, *, leave_out: bool) -> Iterator[Response]:
    """Yield the counted answers, in the order of images and of arrival.

    With `leave_out`, images that lack answers are omitted.
    """
    rows = Response.objects.filter(filled_slot__isnull=False, item__campaign=campaign)
    if leave_out:
        rows = rows.exclude(item__in=unfinished(campaign).values("pk"))
    rows = rows.select_related("item__campaign", "item__image", "participation__worker", "texts")
    return rows.order_by("item_id", "pk").iterator()


def _get_image_ids(rows: list[Response]) -> dict[str, int | str]:
    """Return the image id of each item key.

    The ids are integers, like COCO's, if all keys are numbers.
    """
    keys = {row.item.key for row in rows}
    numbers = all(key.isdecimal() and str(int(key)) == key for key in keys)
    return {key: int(key) if numbers else key for key in keys}


def _freeze_captions(
    campaign: Campaign, rows: list[Response], name: str, place: str, plans: Path | None, seed: int
) -> Path:
    ids = _get_image_ids(rows)
    captions: dict[Any, list[str]] = {}
    for row in rows:
        caption = _get_caption(row)
        visible = remove_invisible(caption) if find_invisible(caption) else caption
        captions.setdefault(ids[row.item.key], []).append(visible)
    if not captions:
        raise CampaignError("no captions to freeze: the campaign has no counted answers")
    if plans is None:
        splits = {"all": SplitPlan(images=tuple(captions), references=None)}
    else:
        splits = load_plans(plans, list(captions), seed=seed)
    dataset = build_dataset(captions, splits, seed=seed)
    image_info, licenses = describe_images(rows, ids)
    target = freeze_dataset(
        dataset,
        _get_root() / place,
        version=name,
        texts=describe_dataset(campaign, rows),
        image_info=image_info,
        licenses=licenses,
    )
    changed = _filter_invisible(rows)
    if changed:
        _record_removed(changed, target / "manifest.json")
    return target


def _record_removed(rows: list[Response], manifest: Path) -> None:
    """Record the removed invisible characters of each answer in the manifest."""
    removed = []
    for row in rows:
        caption = _get_caption(row)
        codes = [f"U+{ord(caption[place]):04X}" for place in find_invisible(caption)]
        removed.append({"response": row.pk, "image": row.item.key, "characters": codes})
    write_json({**read_json(manifest), "invisible_removed": removed}, manifest)


def _freeze_judgments(campaign: Campaign, name: str, place: str, *, leave_out: bool) -> Path:
    """Write the files of `write_results` and their manifest, and return the folder."""
    target = _get_root() / place / name
    label = f"{campaign.slug} {name}"
    paths = write_results(campaign, target, release=label, complete_only=leave_out)
    if get_options(campaign).next_pairs:
        paths.append(write_choices(campaign, target / "next_pairs.json"))
    options, over = get_options(campaign), find_ended_items(campaign)
    manifest = {
        "description": campaign.title,
        "version": name,
        "kind": campaign.kind,
        "answers": options.answers,
        "curtail": options.curtail,
        "confidence": options.confidence,
        "confidence_votes": options.confidence_votes,
        "ended": {"items_decided": over.decided, "pairs_confident": over.pairs},
        "next_pairs": options.next_pairs,
        "files": {path.name: _describe_file(path) for path in paths},
    }
    write_json(manifest, target / "manifest.json")
    return target


def _build_provenance(rows: list[Response]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for row in rows:
        worker = row.participation.worker.pseudonym
        cells = (row.pk, row.item.key, worker, row.texts.number, row.received.isoformat())
        writer.writerow(escape_row(cells))
    return out.getvalue().encode()


def verify(release: Release) -> int:
    """Verify that the files of a release are unchanged, and return their number.

    Raises:
        CampaignError: The manifest or `provenance.csv` was changed.
        FormatError: Another file was changed, is missing, or was added.
    """
    folder = folder_of(release)
    number = verify_dataset(folder)
    for path in (folder / "manifest.json", folder.parent / _PROVENANCE):
        if not path.exists() or _compute_sha256(path.read_bytes()) != release.manifest[path.name]:
            raise CampaignError(
                f"release {release.name}: {path.name} has changed since the release was frozen"
            )
    return number + 2


def count_outdated_answers(release: Release) -> int:
    """Return how many answers of a release no longer count.

    They were excluded, rejected, revised or redacted since the release.
    """
    return release.responses.exclude(response__in=select_countable().values("pk")).count()


def list_splits(release: Release) -> list[str]:
    """Return the splits of a caption release.

    The larger reference set of a split has a name that ends in `_many`.
    """
    return sorted(
        path.stem.removeprefix("captions_") for path in folder_of(release).glob("*/captions_*.json")
    )


def split_file(release: Release, split: str) -> tuple[str, bytes]:
    """Verify a release, and return the name and the content of a split's caption file.

    Args:
        release: The release.
        split: One of `list_splits`.

    Raises:
        CampaignError: The release has no such split, or was changed.
        FormatError: A file of the release was changed.
    """
    verify(release)
    path = find_file(release, split)
    return path.name, path.read_bytes()


def check_captions(release: Release) -> None:
    """Check that a release has captions, which can be references.

    Raises:
        CampaignError: The release has judgments.
    """
    if task_named(release.campaign.kind).result.judges_systems:
        raise CampaignError("references require a release of captions")


def find_file(release: Release, split: str, *, many: bool = False, human: bool = False) -> Path:
    """Return the path of a file of a split.

    Raises:
        CampaignError: The release has no such file.
    """
    name = f"human_{split}.json" if human else f"captions_{split}{'_many' if many else ''}.json"
    for part in ("public", "private"):
        if (folder_of(release) / part / name).exists():
            return folder_of(release) / part / name
    raise CampaignError(f"release {release.name} has no file {name!r}")


def publish(user: User, release: Release, split: str, entry: ReferenceSet, *, many: bool = False) -> int:
    """Publish a split's captions as the next version of a challenge's references.

    All scores are recomputed.

    Returns:
        The number of the version.

    Raises:
        CampaignError: The release has judgments, or no such split.
        ChallengeError: The split has different images than the references.
    """
    check_captions(release)
    name, data = split_file(release, f"{split}_many" if many else split)
    return publish_references(user, entry, name, data, seen=entry.version)
