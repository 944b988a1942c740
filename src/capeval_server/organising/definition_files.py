"""Making or changing a challenge from a zip of its files, after a look at what would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction

from capeval.errors import FormatError
from capeval_server.challenges.definition import Definition, read_definition
from capeval_server.challenges.locking import lock_references
from capeval_server.challenges.models import Challenge, ReferenceSet
from capeval_server.errors import ChallengeError, ConflictError
from capeval_server.organising.description import Change, changes, fingerprint, state_of
from capeval_server.organising.importing import Files, change_challenge, read_files, taking_back
from capeval_server.organising.models import record
from capeval_server.submissions.models import Submission
from capeval_server.submissions.turns import unpacking
from capeval_server.submissions.uploads import read_archive

__all__ = ["Preview", "apply_files", "import_challenge", "preview_files"]

_DEFINITION = "challenge.toml"
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What files would change.

    Attributes:
        slug: The challenge that they are of.
        changes: What would be different.
        rescored: How many submissions would be scored again.
        seen: A fingerprint of the challenge as it was, by which a change in between is noticed.
    """

    slug: str
    changes: list[Change]
    rescored: int
    seen: str


class _UndoneError(Exception):
    """Ends a preview, so that its transaction is undone."""


def _undo() -> NoReturn:
    raise _UndoneError


def preview_files(challenge: Challenge | None, file: Iterable[bytes]) -> Preview:
    """What a zip of files would change: it is applied, looked at, and undone.

    Args:
        challenge: The challenge to change; none to make a new one.
        file: The bytes of the zip, in chunks.

    Raises:
        UploadError: The zip is wrong.
        ChallengeError: A file in it is wrong, or removes what submissions depend on.
        BusyError: Too many uploads are being checked.
        OSError: A file can't be stored.
    """
    with unpacking():
        entries = read_archive(file)
        try:
            with _changing_by_zip(challenge, entries) as (_, preview):
                _undo()
        except _UndoneError:
            pass
    return preview


def apply_files(user: User, challenge: Challenge | None, file: Iterable[bytes], *, seen: str) -> Challenge:
    """Changes a challenge to what a zip of files says, or makes it; its maker becomes its organiser.

    Args:
        user: Who does it.
        challenge: The challenge to change; none to make a new one.
        file: The bytes of the zip, in chunks.
        seen: The fingerprint from the preview.

    Raises:
        UploadError: The zip is wrong.
        ChallengeError: A file in it is wrong, or removes what submissions depend on.
        BusyError: Too many uploads are being checked.
        ConflictError: The challenge changed since the preview.
        OSError: A file can't be stored.
    """
    with unpacking(), _changing_by_zip(challenge, read_archive(file)) as (changed, preview):
        if preview.seen != seen:
            raise ConflictError("the challenge was changed meanwhile: check again what would change")
        _record(user, challenge, changed, preview)
    return changed


def import_challenge(path: Path, *, user: User | None = None) -> Challenge:
    """Makes a challenge from its definition, or changes it to what its definition says now.

    References that changed become a new version, and what was submitted is scored again.

    Args:
        path: The definition, with the files that it names beside it.
        user: Who does it; none for the command line.

    Raises:
        ChallengeError: The definition or a file is wrong, or takes away what submissions depend on.
        FormatError: A file of references or subsets is wrong.
        OSError: A file can't be read or stored.
    """

    def read(name: str) -> tuple[str, bytes]:
        place = path.parent / name
        return str(place), place.read_bytes()

    wanted = read_definition(*read(path.name))
    files = read_files(read, wanted)
    challenge = Challenge.objects.filter(slug=wanted.challenge.slug).first()
    with _changing(challenge, wanted, files) as (changed, preview):
        _record(user, challenge, changed, preview)
    return changed


def _record(user: User | None, before: Challenge | None, changed: Challenge, preview: Preview) -> None:
    if before is None:
        if user is not None:
            changed.organisers.add(user)
        record(user, changed, "made the challenge from files")
    elif preview.changes:
        places = ", ".join(place for place, _, _ in preview.changes)
        record(user, changed, f"changed the challenge from files: {places}")


@contextmanager
def _changing_by_zip(
    challenge: Challenge | None, entries: Mapping[str, bytes]
) -> Iterator[tuple[Challenge, Preview]]:
    with _named():
        wanted = _definition(entries)
        files = read_files(lambda name: (name, entries[name]), wanted)
    _check_slug(challenge, wanted)
    with _named(), _changing(challenge, wanted, files) as found:
        yield found


@contextmanager
def _changing(
    challenge: Challenge | None, wanted: Definition, files: dict[str, Files]
) -> Iterator[tuple[Challenge, Preview]]:
    """Changes a challenge in a transaction; when that is undone, the files that it stored are deleted."""
    with taking_back() as stored, transaction.atomic():
        slug = wanted.challenge.slug
        lock_references(ReferenceSet.objects.filter(split__challenge__slug=slug))
        there_now = _held(challenge, slug)
        before = state_of(there_now) if challenge else {}
        scored = _scored(there_now)
        changed = change_challenge(wanted, files, stored)
        preview = Preview(
            slug=changed.slug,
            changes=changes(before, state_of(changed)),
            rescored=max(scored - _scored(changed), 0),
            seen=fingerprint(before),
        )
        yield changed, preview


def _scored(challenge: Challenge) -> int:
    return Submission.objects.filter(phase__challenge=challenge, state=Submission.State.SCORED).count()


def _check_slug(challenge: Challenge | None, wanted: Definition) -> None:
    slug = wanted.challenge.slug
    if challenge is not None and slug != challenge.slug:
        raise ChallengeError(f"challenge.slug must be {challenge.slug!r} (got {slug!r})")


def _held(challenge: Challenge | None, slug: str) -> Challenge:
    if challenge is not None:
        return Challenge.objects.select_for_update(no_key=True).get(pk=challenge.pk)
    try:
        with transaction.atomic():
            return Challenge.objects.create(slug=slug)
    except IntegrityError:
        raise ChallengeError(f"challenge.slug must be new on this server (got {slug!r})") from None


def _definition(entries: Mapping[str, bytes]) -> Definition:
    """The definition in a zip, which has each file that it names."""
    if _DEFINITION not in entries:
        raise ChallengeError(f"the zip must have the file {_DEFINITION!r}")
    for name in entries:
        if len(name.encode()) > _LONGEST_NAME:
            raise ChallengeError(f"a file's name must have at most {_LONGEST_NAME} bytes (got {name[:50]!r})")
    wanted = read_definition(_DEFINITION, entries[_DEFINITION])
    named = {name for split in wanted.splits for name in (split.subsets, split.images, split.constraints)}
    for references in (references for split in wanted.splits for references in split.references):
        named |= {references.file, references.human}
    reported = {
        found.file for split in wanted.splits for entry in split.references for found in entry.reported
    }
    for name in sorted({name for name in named if name is not None} | reported):
        if name not in entries:
            raise ChallengeError(f"{_DEFINITION}: the zip must have the file {name!r}")
        if name in reported:
            # Their reader takes no other form than CSV and JSON.
            continue
        # Other forms can unpack to much more than there is room for.
        if entries[name].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
            raise ChallengeError(f"{name}: the file must be JSON or JSON lines")
    return wanted


@contextmanager
def _named() -> Iterator[None]:
    """Turns errors in the files into a `ChallengeError`."""
    try:
        yield
    except FormatError as error:
        raise ChallengeError(str(error)) from None
    except RecursionError:
        raise ChallengeError(f"{_DEFINITION} must not be nested so deeply") from None
    except DataError:
        raise ChallengeError("a text in the files is too long, or has a zero character") from None
