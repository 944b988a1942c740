"""Creation of a campaign with all items and slots, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from capeval.toolkit.random import make_python_random
from capeval_server.annotation.campaigns.columns import (
    build_rows,
    find_images,
    is_by_image,
    recognize_columns,
    validate_columns,
)
from capeval_server.annotation.campaigns.definition import (
    CampaignDefinition,
    ItemDefinition,
    parse_items,
    read_definition,
)
from capeval_server.annotation.campaigns.images import add_images
from capeval_server.annotation.campaigns.item_tables import (
    ItemTable,
    Row,
    read_item_table,
    read_json_lines,
)
from capeval_server.annotation.core.digests import draw_number
from capeval_server.annotation.models import Campaign, Item, TextVersion
from capeval_server.annotation.workers.training import MOST_PRACTICED, graded_items
from capeval_server.annotation.workers.trust import trust_warnings
from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_organized_challenge, may_create_challenges
from capeval_server.core.errors import CampaignError, CampaignFilesError, NotFoundError
from capeval_server.hosting.services.challenge_import import delete_files_on_error
from capeval_server.submissions.models import Submission

__all__ = [
    "CampaignPreview",
    "add_items",
    "make_campaign",
    "make_from_files",
    "make_from_texts",
    "preview_files",
]

# Number of items per INSERT statement.
_AT_ONCE = 2000
_DEFINITION = "campaign.toml"


@dataclass(frozen=True, kw_only=True)
class CampaignPreview:
    """Preview of a campaign before it is created.

    Attributes:
        definition: Content of `campaign.toml`.
        items: Number of items, without checks.
        checks: Number of checks.
        training: Number of training items.
        images: Number of images.
        classes: Number of items of each class, without checks; empty if no item has a class.
        warnings: Warnings about settings that contradict the number of items or checks.
        first: The first item that is no check, with its image.
    """

    definition: CampaignDefinition
    items: int
    checks: int
    training: int
    images: int
    classes: dict[str, int]
    warnings: tuple[str, ...]
    first: Item | None


class _UndoneError(Exception):
    """Ends a preview and rolls back its transaction."""


def _undo_preview() -> NoReturn:
    raise _UndoneError


def make_campaign(user: User | None, path: Path) -> Campaign:
    """Create a campaign in the draft state from its file.

    Args:
        user: The creator, who manages the campaign; None for the command line.
        path: Path of the file.

    Raises:
        CampaignError: The file or its items are invalid, or the campaign's name is taken.
        OSError: A file can't be read.
    """
    wanted = read_definition(path.name, lambda name: (path.parent / name).read_bytes())
    table = None if wanted.items is None else (path.parent / wanted.items).read_bytes()
    read_image, names = None, None
    if wanted.images is not None:
        folder = path.parent / wanted.images
        names = [each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()]

        def read_image(name: str) -> bytes:
            return _resolve_inside(folder, name).read_bytes()

    with _create_campaign(user, wanted, list_rows(wanted, table, names), read_image) as made:
        return made


def _resolve_inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; reject names or links that lead outside."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise CampaignError(f"'image' must be a file in {folder} (got {name!r})")
    return path


def make_from_texts(user: User, texts: Mapping[str, str]) -> Campaign:
    """Create a campaign in the draft state from the texts of its files, by file name.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        NotFoundError: The user does not organize the campaign's challenge.
    """
    files = {name: text.encode() for name, text in texts.items()}
    if read_definition(_DEFINITION, _make_reader(files)).images is not None:
        raise CampaignError("campaign.images: images cannot be uploaded here; use the command line")
    return make_from_files(user, files)


def make_from_files(user: User | None, files: Mapping[str, bytes]) -> Campaign:
    """Create a campaign in the draft state from its files, by name.

    Images are in no folder. Without a user, as for the command line, no permission is needed.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        NotFoundError: The user does not organize the campaign's challenge.
        OSError: An image can't be stored.
    """
    with _create_from_files(user, files) as (made, _):
        return made


def preview_files(user: User, files: Mapping[str, bytes]) -> CampaignPreview:
    """Return a preview of the campaign that files define.

    The campaign is created, summarized, and rolled back.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        NotFoundError: The user does not organize the campaign's challenge.
        OSError: An image can't be stored.
    """
    try:
        with _create_from_files(user, files) as (made, wanted):
            classes = Counter(made.items.filter(is_check=False).values_list("category", flat=True))
            found = CampaignPreview(
                definition=wanted,
                items=classes.total(),
                checks=made.items.filter(is_check=True, is_training=False).count(),
                training=made.items.filter(is_training=True).count(),
                images=made.images.count(),
                classes=dict(sorted(classes.items())) if any(classes) else {},
                warnings=tuple(trust_warnings(made)),
                first=made.items.filter(is_check=False).select_related("image").order_by("pk").first(),
            )
            _undo_preview()
    except _UndoneError:
        return found


def _check_permission(user: User, wanted: CampaignDefinition) -> None:
    if wanted.challenge is not None:
        get_organized_challenge(user, wanted.challenge)
    elif not may_create_challenges(user):
        raise NotFoundError


@contextmanager
def _create_from_files(
    user: User | None, files: Mapping[str, bytes]
) -> Iterator[tuple[Campaign, CampaignDefinition]]:
    read = _make_reader(files)
    wanted = read_definition(_DEFINITION, read)
    if user is not None:
        _check_permission(user, wanted)
    table = None if wanted.items is None else read(wanted.items)
    names = None if wanted.images is None else find_images(files)
    rows = list_rows(wanted, table, names)
    with _create_campaign(user, wanted, rows, None if wanted.images is None else read) as made:
        yield made, wanted


def list_rows(wanted: CampaignDefinition, table: bytes | None, images: Sequence[str] | None) -> list[Row]:
    """Return the items of a campaign as in an item file, or the problem of each invalid row.

    Args:
        wanted: The definition.
        table: Content of the file of items, if there is one.
        images: Names of the available images; None if the campaign has none.

    Raises:
        CampaignError: The file is invalid, lacks a column or has no rows.
    """
    task = wanted.kind
    if table is None or wanted.items is None:
        if images is None or not is_by_image(task):
            raise CampaignError(
                f"campaign.items: a campaign of the task type {task.name} needs a file of items"
            )
        found = find_images(images)
        if not found:
            raise CampaignError("campaign.images: there are no items, because there are no images")
        rows = tuple((name, {"image": name}) for name in found)
        return build_rows(task, ItemTable(columns=("image",), rows=rows), {"image": "image"}, found)
    content = read_item_table(wanted.items, table, by_image=is_by_image(task), limit=settings.UNPACKED_BYTES)
    if content.is_native and not wanted.columns:
        return list(content.rows)
    columns = {**recognize_columns(task, content, wanted.items), **wanted.columns}
    columns = {part: column for part, column in columns.items() if column}
    validate_columns(task, content, columns)
    return build_rows(task, content, columns, images)


def _make_reader(files: Mapping[str, bytes]) -> Callable[[str], bytes]:
    def read(name: str) -> bytes:
        if name not in files:
            raise CampaignError(f"missing file {name!r}")
        return files[name]

    return read


@contextmanager
def _create_campaign(
    user: User | None,
    wanted: CampaignDefinition,
    rows: Sequence[Row],
    read_image: Callable[[str], bytes] | None = None,
) -> Iterator[Campaign]:
    """Create a campaign; an error in the context rolls the creation back."""
    rows = [*rows, *read_json_lines(wanted.quiz)]
    with delete_files_on_error() as stored, transaction.atomic():
        made = _insert_campaign(wanted)
        if user is not None:
            made.organizers.add(user)
        problems: list[str] = []
        if read_image is not None:
            names = (item.image for item in parse_items(rows, wanted.kind, problems) if item.image)
            problems += add_images(made, dict.fromkeys(names), read_image, stored, wanted.sources)
            _raise_problems(wanted, problems)
        number = add_items(made, parse_items(rows, wanted.kind, problems), wanted.options.answers)
        _raise_problems(wanted, problems)
        record(user, made.challenge, f"created the campaign {made.slug} with {number} items")
        yield made


def _raise_problems(wanted: CampaignDefinition, problems: Sequence[str]) -> None:
    if problems:
        raise CampaignFilesError(wanted.items or "", problems)


def _insert_campaign(wanted: CampaignDefinition) -> Campaign:
    challenge = None
    if wanted.challenge is not None:
        challenge = Challenge.objects.filter(slug=wanted.challenge).first()
        if challenge is None:
            raise CampaignError(f"campaign.challenge: unknown challenge {wanted.challenge!r}")
    try:
        with transaction.atomic():
            made = Campaign.objects.create(
                slug=wanted.slug,
                title=wanted.title,
                kind=wanted.kind.name,
                challenge=challenge,
                settings=wanted.options.model_dump(),
                systems=_check_systems(wanted, challenge),
            )
    except IntegrityError:
        raise CampaignError(f"campaign.slug must be new on this server ({wanted.slug!r} is taken)") from None
    TextVersion.objects.create(
        campaign=made,
        number=1,
        instructions=wanted.instructions,
        consent=wanted.consent,
        rules=wanted.rules,
    )
    return made


def _check_systems(wanted: CampaignDefinition, challenge: Challenge | None) -> dict[str, str]:
    """Return the judged submissions by system; all must be submissions to the challenge."""
    submissions = (
        Submission.objects.filter(phase__challenge=challenge) if challenge else Submission.objects.none()
    )
    found = {
        str(pk) for pk in submissions.filter(pk__in=wanted.systems.values()).values_list("pk", flat=True)
    }
    for system, submission in wanted.systems.items():
        if submission not in found:
            raise CampaignError(
                f"systems.{system} must be a submission to the campaign's challenge (got {submission!r})"
            )
    return wanted.systems


def add_items(campaign: Campaign, items: Iterable[ItemDefinition], answers: int) -> int:
    """Add items with their slots, and return the number of items.

    Raises:
        CampaignError: An item's image is missing, or the training has too few or too many items.
    """
    rng = make_python_random(campaign.settings["seed"])
    groups: dict[str, int] = {}
    images = dict(campaign.images.values_list("name", "pk"))
    number = 0
    found = iter(items)
    while rows := [_build_item(campaign, item, images, groups, answers) for item in islice(found, _AT_ONCE)]:
        for row in rows:
            row.rank = rng.getrandbits(31)
        Item.objects.bulk_create(rows)
        number += len(rows)
    _check_training(campaign)
    _add_slots(campaign, answers)
    return number


def _check_training(campaign: Campaign) -> None:
    wanted, found = campaign.settings["training_items"], graded_items(campaign).count()
    if 0 < found < wanted:
        raise CampaignError(f"the training must have at least {wanted} items per attempt (got {found})")
    practiced = campaign.items.filter(is_training=True).count() - found
    if practiced > MOST_PRACTICED:
        raise CampaignError(
            f"the training must have at most {MOST_PRACTICED} practice items (got {practiced})"
        )


def _add_slots(campaign: Campaign, answers: int) -> None:
    # The database itself creates up to half a million rows in seconds.
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(number) AS"
            " (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < %s)"
            " INSERT INTO annotation_slot (item_id, number, trusted_only, closed)"
            " SELECT item.id, numbers.number, FALSE, FALSE FROM annotation_item item CROSS JOIN numbers"
            " WHERE item.campaign_id = %s AND NOT item.is_check ORDER BY item.id, numbers.number",
            [answers, campaign.pk],
        )


def _build_item(
    campaign: Campaign, item: ItemDefinition, images: dict[str, int], groups: dict[str, int], answers: int
) -> Item:
    if item.image and item.image not in images:
        raise CampaignError(f"{item.key}: the campaign has no image {item.image!r}")
    compared = {"first_by", "second_by"} <= item.payload.keys()
    if campaign.settings["next_pairs"] and not item.expected and not compared:
        raise CampaignError(f"{item.key}: 'first_by' and 'second_by' are required with 'next_pairs'")
    # The first side of a group is random: otherwise, in groups of one item, workers who get the same slot of
    # each item would see the same side.
    first = draw_number(campaign.settings["seed"], item.group or item.key, "side") % 2
    place = groups[item.group] = groups.get(item.group, first - 1) + 1
    return Item(
        campaign=campaign,
        key=item.key,
        group=item.group,
        category=item.category,
        image_id=images.get(item.image),
        payload=item.payload,
        is_check=bool(item.expected),
        is_training=item.training,
        is_quiz=item.is_quiz,
        explanation=item.explanation,
        expected=item.expected,
        rank=0,
        mirrors_odd=place % 2 == 1,
        free=0 if item.expected else answers,
    )
