"""Freezing what counts in a campaign into files that never change, and using captions in a challenge."""

from __future__ import annotations

import csv
import hashlib
import io
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tomli_w
from django.conf import settings
from django.contrib.auth.models import User

from capeval import __version__
from capeval.datasets.building import SplitPlan, build_dataset, load_plans
from capeval.datasets.versions import freeze as freeze_dataset
from capeval.datasets.versions import verify as verify_dataset
from capeval.errors.messages import listed
from capeval.formats.io.json import read_json, write_json
from capeval.toolkit import plain_row, written_whole
from capeval_server.annotation.campaigns.lifecycle import unfinished
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.core.options import options_of
from capeval_server.annotation.core.slots import countable, ended
from capeval_server.annotation.models import Campaign, Release, ReleasedResponse, Response, ReviewRequest
from capeval_server.annotation.releases.result_files import write_results
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
    "changed_since",
    "folder_of",
    "freeze",
    "publish",
    "split_file",
    "splits_of",
    "verify",
    "write_challenge",
]

_PROVENANCE = "provenance.csv"
_COLUMNS = ("response", "image", "worker", "texts", "received")
_CHALLENGE_DAYS = 365
_LONGEST_NAME = 50
_MOST_NAMED = 5
_INVISIBLE = "one with invisible characters"


def _root() -> Path:
    return Path(settings.RELEASES)


def folder_of(release: Release) -> Path:
    """The folder of a release's files."""
    return _root() / release.folder / release.name


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
    """Freezes what counts now: captions, split and drawn as the plans say; or judgments.

    Captions with invisible characters, of before the rule against them, are refused and sent to review.

    Args:
        user: Who does it; none for the command line.
        campaign: The campaign.
        name: The release's name, such as 1.0.
        plans: A file of plans of splits, of captions alone; by default, one split has all captions of all
            images.
        seed: The seed of what is drawn.
        leave_out: Whether items that lack answers are left out.
        without_invisible: Whether invisible characters are removed from captions, which the manifest
            records, in place of refusing them.

    Raises:
        CampaignError: The campaign has a release of that name, items lack answers, judgments have plans, or
            captions have invisible characters.
        CapevalError: The plans are wrong, or do not fit the captions.
        OSError: A file can't be read or written.
    """
    _check_name(name)
    judged = task_named(campaign.kind).result.judges_systems
    if judged and plans is not None:
        raise CampaignError(f"only captions are split by plans (got the kind {campaign.kind!r})")
    # Of two that freeze at once, or after one that was killed half way, each has a folder of its own.
    place = uuid.uuid4().hex
    with held(campaign) as now:
        if now.releases.filter(name=name).exists():
            raise CampaignError(f"this campaign has a release {name!r} already, and releases never change")
        _check_complete(now, leave_out=leave_out)
        rows = list(_counted(now, leave_out=leave_out))
        refused = [] if judged else _with_invisible(rows, only_empty=without_invisible)
        if refused:
            _send_to_review(refused)
        else:
            if judged:
                target = _frozen_judgments(now, name, place, leave_out=leave_out)
            else:
                target = _frozen(now, rows, name, place, plans, seed)
            made = _recorded(user, now, rows, target, seed)
    # The requests for reviews stay, so this is raised outside of the transaction.
    if refused:
        raise CampaignError(_refusal(refused))
    return made


def _recorded(
    user: User | None, campaign: Campaign, rows: list[Response], target: Path, seed: int
) -> Release:
    provenance = _provenance(rows)
    with written_whole(target.parent / _PROVENANCE) as file:
        file.write(provenance)
    made = Release.objects.create(
        campaign=campaign,
        name=target.name,
        folder=target.parent.name,
        manifest={
            "manifest.json": _sha256((target / "manifest.json").read_bytes()),
            _PROVENANCE: _sha256(provenance),
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


def _caption(row: Response) -> str:
    return str(row.answer[task_named(row.item.campaign.kind).written])


def _with_invisible(rows: list[Response], *, only_empty: bool = False) -> list[Response]:
    """Return the answers whose captions have invisible characters; or only those that have nothing else."""
    found = [row for row in rows if find_invisible(_caption(row))]
    return [row for row in found if not remove_invisible(_caption(row))] if only_empty else found


def _send_to_review(rows: list[Response]) -> None:
    now = database_time()
    asked = (ReviewRequest(response=row, reason=_INVISIBLE, time=now) for row in rows)
    ReviewRequest.objects.bulk_create(asked, ignore_conflicts=True)


def _refusal(rows: list[Response]) -> str:
    named = [
        f"answer {row.pk} of image {row.item.key!r}: {describe_invisible(_caption(row))}"
        for row in rows[:_MOST_NAMED]
    ]
    more = [f"and {len(rows) - _MOST_NAMED:,} more answers"] if len(rows) > _MOST_NAMED else []
    return (
        f"captions must have no invisible characters (got {'; '.join([*named, *more])}); reject these"
        " answers (those without a review are now in the review queue), or choose to remove the characters"
        " (--without-invisible)"
    )


def _check_name(name: str) -> None:
    """Refuses what can't be a folder's name, or is too long for the database."""
    plain_name = not name.startswith(".") and name.replace(".", "").replace("-", "").isalnum()
    if not plain_name or len(name) > _LONGEST_NAME:
        raise CampaignError(
            f"a release's name must be 1 to {_LONGEST_NAME} letters, digits, '.' and '-', and not begin with"
            f" '.' (got {name!r})"
        )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_complete(campaign: Campaign, *, leave_out: bool) -> None:
    keys = list(unfinished(campaign).order_by("pk").values_list("key", flat=True))
    if keys and not leave_out:
        what = (
            "item must have all its answers"
            if task_named(campaign.kind).result.judges_systems
            else "image must have all its captions"
        )
        raise CampaignError(f"each {what} (got fewer of {listed(keys)})")


def _counted(campaign: Campaign, *, leave_out: bool) -> Iterator[Response]:
    """The answers that count, of images that have all, in the order of images and of when they came."""
    rows = Response.objects.filter(filled_slot__isnull=False, item__campaign=campaign)
    if leave_out:
        rows = rows.exclude(item__in=unfinished(campaign).values("pk"))
    rows = rows.select_related("item__campaign", "participation__worker", "texts")
    return rows.order_by("item_id", "pk").iterator()


def _image_ids(rows: list[Response]) -> dict[str, int | str]:
    """The image of each item: numbers where all keys are numbers, as COCO's ids are."""
    keys = {row.item.key for row in rows}
    numbers = all(key.isdecimal() and str(int(key)) == key for key in keys)
    return {key: int(key) if numbers else key for key in keys}


def _frozen(
    campaign: Campaign, rows: list[Response], name: str, place: str, plans: Path | None, seed: int
) -> Path:
    ids = _image_ids(rows)
    captions: dict[Any, list[str]] = {}
    for row in rows:
        caption = _caption(row)
        visible = remove_invisible(caption) if find_invisible(caption) else caption
        captions.setdefault(ids[row.item.key], []).append(visible)
    if not captions:
        raise CampaignError("there must be captions to freeze (got none)")
    if plans is None:
        splits = {"all": SplitPlan(images=tuple(captions), references=None)}
    else:
        splits = load_plans(plans, list(captions), seed=seed)
    dataset = build_dataset(captions, splits, seed=seed)
    target = freeze_dataset(dataset, _root() / place, version=name, description=campaign.title)
    changed = _with_invisible(rows)
    if changed:
        _record_removed(changed, target / "manifest.json")
    return target


def _record_removed(rows: list[Response], manifest: Path) -> None:
    """Record in the manifest of captions which invisible characters of which answers were removed."""
    removed = []
    for row in rows:
        caption = _caption(row)
        codes = [f"U+{ord(caption[place]):04X}" for place in find_invisible(caption)]
        removed.append({"response": row.pk, "image": row.item.key, "characters": codes})
    write_json({**read_json(manifest), "invisible_removed": removed}, manifest)


def _frozen_judgments(campaign: Campaign, name: str, place: str, *, leave_out: bool) -> Path:
    """The files of `write_results`, with their manifest."""
    target = _root() / place / name
    label = f"{campaign.slug} {name}"
    checksums = {}
    paths = write_results(campaign, target, release=label, complete_only=leave_out)
    if options_of(campaign).next_pairs:
        paths.append(_write_choices(campaign, target / "next_pairs.json"))
    for path in paths:
        data = path.read_bytes()
        checksums[path.name] = {"sha256": _sha256(data), "bytes": len(data)}
    options, over = options_of(campaign), ended(campaign)
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
        "files": checksums,
    }
    write_json(manifest, target / "manifest.json")
    return target


def _write_choices(campaign: Campaign, path: Path) -> Path:
    """Writes each choice of the items that came next, with all that it followed from."""
    names = ("number", "seed", "last_response", "left_out", "systems", "wins", "pairs")
    choices = campaign.next_pairs.order_by("number")
    rows = [
        {"time": choice.time.isoformat(), **{name: getattr(choice, name) for name in names}}
        for choice in choices
    ]
    write_json({"floor": options_of(campaign).next_pairs_floor, "choices": rows}, path)
    return path


def _provenance(rows: list[Response]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for row in rows:
        worker = row.participation.worker.pseudonym
        cells = (row.pk, row.item.key, worker, row.texts.number, row.received.isoformat())
        writer.writerow(plain_row(cells))
    return out.getvalue().encode()


def verify(release: Release) -> int:
    """Checks that the files of a release are as they were frozen; says how many there are.

    Raises:
        CampaignError: The manifest or what is beside it changed.
        FormatError: Another file changed, is missing, or is too many.
    """
    folder = folder_of(release)
    number = verify_dataset(folder)
    for path in (folder / "manifest.json", folder.parent / _PROVENANCE):
        if not path.exists() or _sha256(path.read_bytes()) != release.manifest[path.name]:
            raise CampaignError(f"release {release.name}: {path.name} is not as it was frozen")
    return number + 2


def changed_since(release: Release) -> int:
    """How many captions of a release no longer count: excluded, rejected, revised or removed since."""
    return release.responses.exclude(response__in=countable().values("pk")).count()


def splits_of(release: Release) -> list[str]:
    """The splits of a release of captions; that of the larger set of a split ends in `_many`."""
    return sorted(
        path.stem.removeprefix("captions_") for path in folder_of(release).glob("*/captions_*.json")
    )


def split_file(release: Release, split: str) -> tuple[str, bytes]:
    """The name and the content of the file of a split's captions; the release is verified first.

    Args:
        release: The release.
        split: One of `splits_of`.

    Raises:
        CampaignError: The release has no such split, or changed.
        FormatError: A file of it changed.
    """
    verify(release)
    path = _file(release, split)
    return path.name, path.read_bytes()


def _file(release: Release, split: str, *, many: bool = False, human: bool = False) -> Path:
    """The file of a split.

    Raises:
        CampaignError: The release has none.
    """
    name = f"human_{split}.json" if human else f"captions_{split}{'_many' if many else ''}.json"
    for part in ("public", "private"):
        if (folder_of(release) / part / name).exists():
            return folder_of(release) / part / name
    raise CampaignError(f"release {release.name} must have the file {name!r} (got none)")


def publish(user: User, release: Release, split: str, entry: ReferenceSet, *, many: bool = False) -> int:
    """Makes a split's captions the next version of a challenge's references; all is scored again.

    Returns:
        The number of the version.

    Raises:
        CampaignError: The release has no such split.
        ChallengeError: It is of other images than the references.
    """
    name, data = split_file(release, f"{split}_many" if many else split)
    return publish_references(user, entry, name, data, seen=entry.version)


def write_challenge(release: Release, folder: Path) -> Path:
    """Writes the files of a new challenge, of all splits of a release, ready to be looked at and imported.

    Raises:
        OSError: A file can't be written.
    """
    verify(release)
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in splits_of(release) if not name.endswith("_many")]
    opens = release.time.replace(microsecond=0)
    definition = {
        "challenge": {"slug": release.campaign.slug, "title": release.campaign.title},
        "splits": [_split(release, name, folder) for name in names],
        "phases": [_phase(name, opens) for name in names],
    }
    path = folder / "challenge.toml"
    path.write_text(tomli_w.dumps(definition), encoding="utf-8")
    return path


def _split(release: Release, name: str, folder: Path) -> dict[str, Any]:
    def copied(path: Path) -> str:
        (folder / path.name).write_bytes(path.read_bytes())
        return path.name

    source = _file(release, name)
    references: dict[str, Any] = {
        "name": "references",
        "file": copied(source),
        "public": source.parent.name == "public",
    }
    found = [references]
    if (source.parent / f"captions_{name}_many.json").exists():
        many = copied(_file(release, name, many=True))
        found.append({**references, "name": "many", "file": many, "partial": True})
    if (source.parent / f"human_{name}.json").exists():
        references["human"] = copied(_file(release, name, human=True))
    return {
        "name": name,
        "results": f"captions_{name}_<alg>_results.json",
        "references": found,
        "sort_by": "CIDEr-D",
    }


def _phase(name: str, opens: datetime) -> dict[str, Any]:
    return {
        "name": name,
        "opens": opens,
        "closes": opens + timedelta(days=_CHALLENGE_DAYS),
        "splits": [name],
        "quota_per_day": 5,
        "quota_total": 100,
    }
