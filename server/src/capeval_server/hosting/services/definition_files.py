"""Import of a challenge's definition and files, with a preview.

Entries that the files do not name are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction

from capeval.errors import FormatError
from capeval_server.audit.models import record
from capeval_server.challenges.definition import ChallengeDefinition, read_definition
from capeval_server.challenges.models import Challenge, ReferenceSet
from capeval_server.challenges.services.locks import lock_references
from capeval_server.core.errors import ChallengeError, ConflictError
from capeval_server.core.rollback import roll_back
from capeval_server.hosting.services.challenge_import import (
    Read,
    SplitFiles,
    change_challenge,
    delete_files_on_error,
    read_files,
)
from capeval_server.hosting.services.definition_merge import Merge
from capeval_server.hosting.services.description import Change, changes, describe, fingerprint, state_of
from capeval_server.submissions.models import Submission
from capeval_server.submissions.quotas.upload_locks import acquire_unpacking_slot
from capeval_server.submissions.services.standing import RANKING_RULES, update_standings
from capeval_server.submissions.services.upload_files import read_archive

__all__ = ["DefinitionPreview", "apply_files", "import_challenge", "import_files", "preview_files"]

_DEFINITION = "challenge.toml"
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class DefinitionPreview:
    """Changes that an import would make.

    Attributes:
        slug: The challenge.
        changes: The differences.
        kept: The places of entries that are not in the files and are kept.
        rescored: The number of submissions that would be scored again.
        seen: A fingerprint of the current challenge, to detect concurrent changes.
    """

    slug: str
    changes: list[Change]
    kept: list[str]
    rescored: int
    seen: str


@dataclass(frozen=True, kw_only=True)
class _Import:
    """Definition of an import, and the challenge when the definition was read.

    Attributes:
        challenge: The challenge to change; None to create one.
        before: Its state.
        wanted: The complete definition, including everything that is kept.
        kept: The places of entries that are not in the files and are kept.
        deleted: The places to delete.
    """

    challenge: Challenge | None
    before: dict[str, str]
    wanted: ChallengeDefinition
    kept: list[str]
    deleted: set[str]


def preview_files(challenge: Challenge | None, file: Iterable[bytes]) -> DefinitionPreview:
    """Return the changes that a zip of files would make.

    The changes are applied, compared, and rolled back.

    Args:
        challenge: The challenge to change; None to create one.
        file: The content of the zip, in chunks.

    Raises:
        UploadError: The zip is invalid.
        ChallengeError: A file in it is invalid, or removes content that submissions depend on.
        BusyError: Too many uploads are being checked.
        OSError: A file can't be stored.
    """
    with acquire_unpacking_slot():
        entries = read_archive(file)
        with roll_back(_change_by_zip(challenge, entries)) as (_, preview):
            return preview


def apply_files(user: User, challenge: Challenge | None, file: Iterable[bytes], *, seen: str) -> Challenge:
    """Change or create a challenge from a zip of files.

    The creator becomes the first organizer.

    Args:
        user: The actor.
        challenge: The challenge to change; None to create one.
        file: The content of the zip, in chunks.
        seen: The fingerprint from the preview.

    Raises:
        UploadError: The zip is invalid.
        ChallengeError: A file in it is invalid, or removes content that submissions depend on.
        BusyError: Too many uploads are being checked.
        ConflictError: The challenge changed since the preview.
        OSError: A file can't be stored.
    """
    with acquire_unpacking_slot(), _change_by_zip(challenge, read_archive(file)) as (changed, preview):
        if preview.seen != seen:
            raise ConflictError("the challenge was changed since the preview: check the changes again")
        _record(user, challenge, changed, preview)
    _update_standings(changed, preview)
    return changed


def import_challenge(path: Path, *, user: User | None = None) -> Challenge:
    """Create or change a challenge from its definition; see `import_files`."""
    changed, _ = import_files(path, user=user)
    return changed


def import_files(
    path: Path, *, user: User | None = None, delete: Sequence[str] = (), dry_run: bool = False
) -> tuple[Challenge, DefinitionPreview]:
    """Create or change a challenge from its definition; entries not in it are kept.

    Changed references become a new version, and submissions are scored again.

    Args:
        path: The definition; its files are in the same folder.
        user: The actor; None for the command line.
        delete: The places to delete, such as `splits.val.references.c5.reported.coco-2015`.
        dry_run: Whether to roll back all changes.

    Returns:
        The challenge, which does not exist after the dry run of a new one, and the changes.

    Raises:
        ChallengeError: The definition or a file is invalid, or changes content that submissions depend on.
        ConflictError: The challenge changed while the files were read.
        FormatError: A file of references or subsets is invalid.
        OSError: A file can't be read or stored.
    """

    def read(name: str) -> tuple[str, bytes]:
        place = path.parent / name
        return str(place), place.read_bytes()

    def find(slug: str) -> Challenge | None:
        return Challenge.objects.filter(slug=slug).first() if "\0" not in slug else None

    found = _read(find, *read(path.name), read, lambda file: (path.parent / file).exists(), delete)
    files = read_files(read, found.wanted, found.challenge, found.deleted)
    change = _change(found, files)
    with roll_back(change) if dry_run else change as (changed, preview):
        _record(user, found.challenge, changed, preview)
    if not dry_run:
        _update_standings(changed, preview)
    return changed, preview


def _update_standings(changed: Challenge, preview: DefinitionPreview) -> None:
    """Update the submissions on leaderboards if their rules changed, after the transaction of the change."""
    places = [place.split(".") for place, _, _ in preview.changes]
    named = {name for kind, name, *field in places if kind == "phases" and RANKING_RULES & {*field}}
    is_sorted_anew = any(place[0] == "splits" and place[2:] == ["sort_by"] for place in places)
    for phase in changed.phases.order_by("pk"):
        if is_sorted_anew or phase.name in named:
            update_standings(phase)


def _read(
    find: Callable[[str], Challenge | None],
    name: str,
    data: bytes,
    read: Read,
    is_there: Callable[[str], bool],
    delete: Sequence[str] = (),
) -> _Import:
    """Read the definition of an import.

    Args:
        find: Returns the challenge to change by the name in the definition; None to create one.
        name: The name of the definition in error messages.
        data: The content of the definition.
        read: Returns the name in error messages and the content of a file that the definition names.
        is_there: Returns whether a file with a name exists.
        delete: Places to delete in addition to those in the definition.
    """
    challenge: Challenge | None = None
    merge = Merge(now={}, places=(), is_there=is_there, delete=delete)

    def complete(content: dict[str, Any]) -> dict[str, Any]:
        nonlocal challenge, merge
        about = content.get("challenge")
        challenge = find(str(about.get("slug"))) if isinstance(about, dict) else None
        if challenge is not None:
            merge = replace(merge, now=describe(challenge), places=state_of(challenge))
        if isinstance(about, dict):
            content["challenge"] = _read_texts(about, "challenge", read)
        return merge(content)

    wanted = read_definition(name, data, complete)
    return _Import(
        challenge=challenge,
        before=state_of(challenge) if challenge else {},
        wanted=wanted,
        kept=merge.kept,
        deleted=merge.deleted,
    )


def _read_texts(value: Any, place: str, read: Read) -> Any:
    """Replace texts of the form `{ file = "about.md" }` by the content of the file.

    Raises:
        ChallengeError: A file is missing or is not text.
    """
    if isinstance(value, dict) and set(value) == {"file"}:
        if not isinstance(value["file"], str):
            raise ChallengeError(f"{place}.file must be the name of a file (got {value['file']!r})")
        try:
            return read(value["file"])[1].decode().replace("\r\n", "\n")
        except (KeyError, FileNotFoundError):
            raise ChallengeError(f"{place}: there is no file {value['file']!r}") from None
        except UnicodeDecodeError:
            raise ChallengeError(f"{place}: {value['file']!r} must be text in UTF-8") from None
    if isinstance(value, dict):
        return {key: _read_texts(each, f"{place}.{key}", read) for key, each in value.items()}
    if isinstance(value, list):
        return [_read_texts(each, f"{place}[{index}]", read) for index, each in enumerate(value)]
    return value


def _record(
    user: User | None, before: Challenge | None, changed: Challenge, preview: DefinitionPreview
) -> None:
    if before is None:
        if user is not None:
            changed.organizers.add(user)
        record(user, changed, "made the challenge from files")
    elif preview.changes:
        places = ", ".join(place for place, _, _ in preview.changes)
        record(user, changed, f"changed the challenge from files: {places}")


@contextmanager
def _change_by_zip(
    challenge: Challenge | None, entries: Mapping[str, bytes]
) -> Iterator[tuple[Challenge, DefinitionPreview]]:
    def find(slug: str) -> Challenge | None:
        if challenge is not None and slug != challenge.slug:
            raise ChallengeError(f"challenge.slug must be {challenge.slug!r} (got {slug!r})")
        return challenge

    with _convert_errors():

        def read(name: str) -> tuple[str, bytes]:
            return name, entries[name]

        found = _read(find, _DEFINITION, _get_definition(entries), read, entries.__contains__)
        _check_entries(found.wanted, entries)
        files = read_files(read, found.wanted, found.challenge, found.deleted)
    with _convert_errors(), _change(found, files) as changing:
        yield changing


@contextmanager
def _change(found: _Import, files: dict[str, SplitFiles]) -> Iterator[tuple[Challenge, DefinitionPreview]]:
    """Change a challenge in a transaction; yield it with a preview of the changes.

    After a rollback, its stored files are deleted.
    """
    with delete_files_on_error() as stored, transaction.atomic():
        slug = found.wanted.challenge.slug
        lock_references(ReferenceSet.objects.filter(split__challenge__slug=slug))
        there_now = _lock_or_create(found.challenge, slug)
        before = state_of(there_now) if found.challenge else {}
        if before != found.before:
            raise ConflictError("the challenge was changed while its files were read: import them again")
        scored = _count_scored(there_now)
        changed = change_challenge(found.wanted, files, stored, found.deleted)
        preview = DefinitionPreview(
            slug=changed.slug,
            changes=changes(before, state_of(changed)),
            kept=found.kept,
            rescored=max(scored - _count_scored(changed), 0),
            seen=fingerprint(before),
        )
        yield changed, preview


def _count_scored(challenge: Challenge) -> int:
    return Submission.objects.filter(phase__challenge=challenge, state=Submission.State.SCORED).count()


def _lock_or_create(challenge: Challenge | None, slug: str) -> Challenge:
    if challenge is not None:
        return Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)
    try:
        with transaction.atomic():
            return Challenge.objects.create(slug=slug)
    except IntegrityError:
        raise ChallengeError(f"challenge.slug must be new on this server (got {slug!r})") from None


def _get_definition(entries: Mapping[str, bytes]) -> bytes:
    if _DEFINITION not in entries:
        raise ChallengeError(f"the zip must contain the file {_DEFINITION!r}")
    for name in entries:
        if len(name.encode()) > _LONGEST_NAME:
            raise ChallengeError(f"file names must have at most {_LONGEST_NAME} bytes (got {name[:50]!r}...)")
    return entries[_DEFINITION]


def _check_entries(wanted: ChallengeDefinition, entries: Mapping[str, bytes]) -> None:
    """Check that a zip contains each file that its definition names, uncompressed."""
    named = {name for split in wanted.splits for name in (split.subsets, split.images, split.constraints)}
    for references in (references for split in wanted.splits for references in split.references):
        named |= {references.file, references.human}
    reported = {
        found.file for split in wanted.splits for entry in split.references for found in entry.reported
    }
    for split in wanted.splits:
        if split.image_archive is not None:
            raise ChallengeError(
                f"{_DEFINITION}: image_archive of split {split.name!r} can't be uploaded: leave it"
                " out here, and import it with capeval server import"
            )
    for name in sorted(name for name in named | reported if name is not None):
        if name not in entries:
            raise ChallengeError(f"{_DEFINITION}: the zip must contain the file {name!r}")
        if name in reported:
            # Their reader accepts only CSV and JSON.
            continue
        # Compressed formats can unpack to more than the available memory.
        if entries[name].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
            raise ChallengeError(f"{name}: the file must be JSON or JSON Lines")


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert errors in the files into `ChallengeError`."""
    try:
        yield
    except FormatError as error:
        raise ChallengeError(str(error)) from None
    except RecursionError:
        raise ChallengeError(f"{_DEFINITION} is nested too deeply") from None
    except DataError:
        raise ChallengeError("a text in the files is too long or contains a null character") from None
