"""Creation of a campaign with all items and slots, in one transaction, and replacement of a draft."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from capeval_server.annotation.campaigns.definition import (
    CampaignDefinition,
    parse_items,
    read_definition,
)
from capeval_server.annotation.campaigns.deletion import check_unused, delete_images, delete_items
from capeval_server.annotation.campaigns.images import build_images, copy_images, insert_images
from capeval_server.annotation.campaigns.item_files import (
    ImageFiles,
    ItemFiles,
    list_rows,
    open_files,
    open_folder,
)
from capeval_server.annotation.campaigns.item_tables import read_json_lines
from capeval_server.annotation.campaigns.items import ItemSummary, add_items, summarize_items
from capeval_server.annotation.campaigns.setting_warnings import list_warnings
from capeval_server.annotation.campaigns.system_results import pair_results
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.models import Campaign, TextVersion
from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.core.errors import CampaignError, ConflictError, NotFoundError
from capeval_server.core.rollback import roll_back
from capeval_server.hosting.services.challenge_import import delete_files_on_error
from capeval_server.submissions.models import Submission

__all__ = [
    "CampaignOrigin",
    "CampaignPreview",
    "compute_version",
    "make_campaign",
    "make_from_files",
    "make_from_texts",
    "preview_files",
]

_DEFINITION = "campaign.toml"


@dataclass(frozen=True, kw_only=True)
class CampaignOrigin:
    """The campaign that a new campaign copies, or the draft that it replaces.

    Attributes:
        campaign: The campaign. Items can name its images.
        replaced: Version of the draft that is replaced, as computed by `compute_version`; empty for a copy.
    """

    campaign: Campaign
    replaced: str = ""


@dataclass(frozen=True, kw_only=True)
class CampaignPreview(ItemSummary):
    """Preview of a campaign before it is created.

    Attributes:
        definition: Content of `campaign.toml`.
        images: Number of images.
        warnings: Warnings about settings that contradict the number of items or checks.
    """

    definition: CampaignDefinition
    images: int
    warnings: tuple[str, ...]


def compute_version(campaign: Campaign) -> str:
    """Return a digest of the content of a draft, which changes with its settings, texts and items."""
    texts = campaign.texts.order_by("pk").values_list("pk", flat=True)
    items = campaign.items.order_by("pk").values_list("pk", flat=True)
    warnings = campaign.images.order_by("pk").values_list("pk", "warning")
    about = (campaign.title, campaign.kind, campaign.challenge_id, campaign.settings, campaign.systems)
    state = repr((about, list(texts), list(items), list(warnings)))
    return hashlib.sha256(state.encode()).hexdigest()


def make_campaign(user: User | None, path: Path, *, replace: bool = False) -> Campaign:
    """Create a campaign in the draft state from its file.

    Args:
        user: The creator, who manages the campaign; None for the command line.
        path: Path of the file.
        replace: Replace the draft of the same name, if there is one.

    Raises:
        CampaignError: The file or its items are invalid, or the campaign's name is taken.
        OSError: A file can't be read.
    """
    wanted = read_definition(path.name, lambda name: (path.parent / name).read_bytes())
    files = _read_item_files(
        wanted,
        lambda name: (path.parent / name).read_bytes(),
        None if wanted.images is None else open_folder(path.parent / wanted.images),
    )
    draft = Campaign.objects.filter(slug=wanted.slug).first() if replace else None
    origin = CampaignOrigin(campaign=draft, replaced=compute_version(draft)) if draft else None
    with _create_campaign(user, wanted, files, origin) as made:
        return made


def make_from_texts(
    user: User,
    texts: Mapping[str, str],
    images: Mapping[str, bytes] | None = None,
    draft: Campaign | None = None,
) -> Campaign:
    """Create a campaign in the draft state from the texts of its files and its images, by file name.

    Args:
        user: The creator, who manages the campaign.
        texts: The files.
        images: The images.
        draft: The draft to replace; its images can be used again.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        NotFoundError: The user does not organize the campaign's challenge.
    """
    files = {**(images or {}), **{name: text.encode() for name, text in texts.items()}}
    origin = CampaignOrigin(campaign=draft, replaced=compute_version(draft)) if draft else None
    return make_from_files(user, files, origin)


def make_from_files(
    user: User | None, files: Mapping[str, bytes], origin: CampaignOrigin | None = None
) -> Campaign:
    """Create a campaign in the draft state from its files, by name.

    Images are in no folder. Without a user, as for the command line, no permission is needed.

    Args:
        user: The creator, who manages the campaign.
        files: The files.
        origin: The campaign that is copied or replaced, if any.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        ConflictError: The draft that is replaced has changed.
        NotFoundError: The user does not organize the campaign's challenge.
        OSError: An image can't be stored.
    """
    with _create_from_files(user, files, origin) as (made, _):
        return made


def preview_files(
    user: User, files: Mapping[str, bytes], origin: CampaignOrigin | None = None
) -> CampaignPreview:
    """Return a preview of the campaign that files define.

    The campaign is created, summarized, and rolled back.

    Raises:
        CampaignError: A file is missing or invalid, or the campaign's name is taken.
        ConflictError: The draft that is replaced has changed.
        NotFoundError: The user does not organize the campaign's challenge.
        OSError: An image can't be stored.
    """
    with roll_back(_create_from_files(user, files, origin)) as (made, wanted):
        return CampaignPreview(
            **vars(summarize_items(made.items.all())),
            definition=wanted,
            images=made.images.count(),
            warnings=tuple(list_warnings(made)),
        )


def _check_permission(user: User, wanted: CampaignDefinition, origin: CampaignOrigin | None) -> None:
    """Check that a user may create a campaign, or move a draft that they manage to another challenge."""
    if origin is not None and origin.replaced:
        challenge = origin.campaign.challenge
        if wanted.challenge == (challenge.slug if challenge else None):
            return
    if wanted.challenge is not None:
        if not list_organized_challenges(user).filter(slug=wanted.challenge).exists():
            raise NotFoundError(f"there is no challenge {wanted.challenge!r} that you organize")
    elif not may_create_challenges(user):
        raise NotFoundError(
            "you may create campaigns of the challenges that you organize: name one as campaign.challenge;"
            " campaigns without a challenge require the permission to add challenges"
        )


@contextmanager
def _create_from_files(
    user: User | None, contents: Mapping[str, bytes], origin: CampaignOrigin | None
) -> Iterator[tuple[Campaign, CampaignDefinition]]:
    images = open_files(contents)
    wanted = read_definition(_DEFINITION, images.read)
    if user is not None:
        _check_permission(user, wanted, origin)
    files = _read_item_files(wanted, images.read, None if wanted.images is None else images)
    with _create_campaign(user, wanted, files, origin) as made:
        yield made, wanted


def _read_item_files(
    wanted: CampaignDefinition, read: Callable[[str], bytes], images: ImageFiles | None
) -> ItemFiles:
    """Read the file of items; the results of several systems become one."""
    contents = [(name, read(name)) for name in wanted.items]
    if len(contents) > 1:
        contents = [pair_results(wanted.kind, contents, limit=settings.UNPACKED_BYTES)]
    table_name, table = contents[0] if contents else (None, None)
    return ItemFiles(table_name=table_name, table=table, columns=wanted.columns, images=images)


@contextmanager
def _create_campaign(
    user: User | None, wanted: CampaignDefinition, files: ItemFiles, origin: CampaignOrigin | None
) -> Iterator[Campaign]:
    """Create or replace a campaign; an error in the context rolls it back."""
    earlier = set(origin.campaign.images.values_list("name", flat=True)) if origin else set()
    rows = [*list_rows(wanted.kind, files, earlier), *read_json_lines(wanted.quiz)]
    problems: list[str] = []
    parsed = parse_items(rows, wanted.kind, problems)
    named = dict.fromkeys(item.image for item in parsed if item.image)
    with delete_files_on_error() as stored, transaction.atomic():
        if origin is not None and origin.replaced:
            made, done = _empty_draft(wanted, origin), "edited the draft of the campaign"
            _delete_replaced(made, named, files.images)
        else:
            made, done = _insert_campaign(wanted), "created the campaign"
            if user is not None:
                made.organizers.add(user)
        _insert_texts(made, wanted)
        same: dict[str, int] = {}
        if files.images is not None:
            read = files.images.select(named, earlier)
            if origin is not None and not origin.replaced:
                copy_images(origin.campaign, made, named.keys() - set(read))
            built = build_images(made, read, files.images.read, stored, wanted.sources)
            insert_images(built.rows, stored)
            problems, same = [*problems, *built.problems], built.same
        files.raise_problems(problems)
        number = add_items(made, parse_items(rows, wanted.kind, []), wanted.options.answers, same)
        record(user, made.challenge, f"{done} {made.slug} with {number} item{'' if number == 1 else 's'}")
        yield made


def _empty_draft(wanted: CampaignDefinition, origin: CampaignOrigin) -> Campaign:
    """Delete the items and texts of a draft, and change its row; its images are kept."""
    with held(origin.campaign) as draft:
        check_unused(draft, "edited")
        if compute_version(draft) != origin.replaced:
            raise ConflictError("the draft has changed since you began to edit it: edit it again")
        if wanted.slug != draft.slug:
            raise CampaignError(f"campaign.slug must be {draft.slug!r}, as before (got {wanted.slug!r})")
        delete_items(draft)
        draft.texts.all().delete()
        challenge = _get_challenge(wanted)
        draft.title, draft.kind, draft.challenge = wanted.title, wanted.kind.name, challenge
        draft.settings, draft.systems = wanted.options.model_dump(), _check_systems(wanted, challenge)
        draft.save()
    return draft


def _delete_replaced(draft: Campaign, named: Collection[str], files: ImageFiles | None) -> None:
    """Delete the images of a draft that its new items do not name, or that new files replace."""
    uploaded = set() if files is None else set(files.names)
    deleted = []
    for image in draft.images.all():
        is_replaced = (
            files is not None
            and image.name in uploaded
            and hashlib.sha256(files.read(image.name)).hexdigest() != image.digest
        )
        if is_replaced or image.name not in named:
            deleted.append(image.pk)
    delete_images(draft.images.filter(pk__in=deleted))


def _insert_campaign(wanted: CampaignDefinition) -> Campaign:
    challenge = _get_challenge(wanted)
    try:
        with transaction.atomic():
            return Campaign.objects.create(
                slug=wanted.slug,
                title=wanted.title,
                kind=wanted.kind.name,
                challenge=challenge,
                settings=wanted.options.model_dump(),
                systems=_check_systems(wanted, challenge),
            )
    except IntegrityError:
        raise CampaignError(f"campaign.slug must be new on this server ({wanted.slug!r} is taken)") from None


def _insert_texts(made: Campaign, wanted: CampaignDefinition) -> None:
    TextVersion.objects.create(
        campaign=made,
        number=1,
        instructions=wanted.instructions,
        consent=wanted.consent,
        rules=wanted.rules,
    )


def _get_challenge(wanted: CampaignDefinition) -> Challenge | None:
    if wanted.challenge is None:
        return None
    found = Challenge.objects.filter(slug=wanted.challenge).first()
    if found is None:
        raise CampaignError(f"campaign.challenge: unknown challenge {wanted.challenge!r}")
    return found


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
