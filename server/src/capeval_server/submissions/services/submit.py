"""Reception of submissions: checks, quota and files, all or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.utils import timezone

from capeval.errors import FormatError
from capeval.formats.declared_fields import check_declared
from capeval_server.challenges.models import Phase
from capeval_server.core.errors import PhaseError, RepeatedKeyError, TeamError, UploadError
from capeval_server.submissions.models import Submission, SubmissionFile
from capeval_server.submissions.quotas.limits import check_quota
from capeval_server.submissions.quotas.upload_locks import acquire_unpacking_slot
from capeval_server.submissions.services import lifecycle
from capeval_server.submissions.services.upload_files import Upload, read_upload
from capeval_server.teams.models import Membership, Team
from capeval_server.teams.services.enrollment import membership_of

__all__ = ["LONGEST_FIELD", "check_declared_fields", "entrant", "submit"]

LONGEST_FIELD = 2000
_REPEATED = "the idempotency key was already used for a different upload"


def submit(
    user: User,
    phase: Phase,
    name: str,
    file: Iterable[bytes],
    *,
    declared: Mapping[str, str],
    key: str | None = None,
    arrived: datetime | None = None,
) -> tuple[Submission, bool]:
    """Receive a submission.

    Args:
        user: The user, who submits for their team.
        phase: The phase.
        name: The name of the uploaded file.
        file: The content of the file, in chunks.
        declared: The declared fields by name, in their stored form.
        key: An idempotency key: repeating an upload with the same key returns the same submission.
        arrived: The time of arrival; by default now.

    Returns:
        The submission, and whether it is new.

    Raises:
        UploadError: The upload is invalid.
        PhaseError: The phase is not open.
        TeamError: The user has not joined the challenge.
        QuotaError: The quota is used up.
        RepeatedKeyError: The key was used for a different upload.
        BusyError: Too many uploads are being checked.
    """
    # The arrival time determines the deadline and the daily quota, however long the checks take.
    arrived = arrived or timezone.now()
    team = entrant(user, phase, arrived)
    with acquire_unpacking_slot():
        return _check_and_add(team, user, phase, name, file, declared=declared, key=key, arrived=arrived)


def _check_and_add(
    team: Team,
    user: User,
    phase: Phase,
    name: str,
    file: Iterable[bytes],
    *,
    declared: Mapping[str, str],
    key: str | None,
    arrived: datetime,
) -> tuple[Submission, bool]:
    splits = list(phase.splits.order_by("name"))
    upload = read_upload(name, file, splits, phase)
    submission = Submission(
        team=team,
        user=user,
        phase=phase,
        created=arrived,
        declared=dict(declared),
        algorithm=upload.algorithm,
        sha256=_compute_digest(phase, upload, declared),
        idempotency_key=key,
    )
    files = [
        (
            SubmissionFile(submission=submission, split=split, id_rule=upload.id_rules[split.name]),
            upload.files[split.name],
        )
        for split in splits
    ]
    with _delete_after_errors(files):
        try:
            return _add_once(submission, files, team, phase, user)
        except IntegrityError:
            if key is None:
                raise
            # Used at the same time for another challenge, which locks a different team's row.
            raise RepeatedKeyError(_REPEATED) from None


def _check_open(phase: Phase, arrived: datetime) -> None:
    if (when := phase.get_state(arrived)) != "open":
        state = f"opens at {phase.opens.isoformat()}" if when == "upcoming" else "is closed"
        raise PhaseError(f"phase {phase.name!r} {state}")
    if phase.challenge.is_archived:
        raise PhaseError(f"challenge {phase.challenge.slug!r} is archived")
    if phase.blind and phase.published is not None:
        raise PhaseError(f"the results of phase {phase.name!r} are published")
    if phase.final is not None:
        raise PhaseError(f"the results of phase {phase.name!r} are final")


def entrant(user: User, phase: Phase, arrived: datetime) -> Team:
    """Return the team for which a user submits.

    Raises:
        PhaseError: The phase is not open.
        TeamError: The user has not joined the challenge, or waits for approval.
    """
    _check_open(phase, arrived)
    member = membership_of(user, phase.challenge)
    if member is None:
        raise TeamError(f"to submit, join the challenge {phase.challenge.slug!r} first, alone or in a team")
    if not member.approved:
        raise TeamError("an organizer must approve you before you can submit")
    return member.team


def _add_once(
    submission: Submission,
    files: Iterable[tuple[SubmissionFile, bytes]],
    team: Team,
    phase: Phase,
    user: User,
) -> tuple[Submission, bool]:
    """Add a submission with its files, unless its key was used before.

    Returns:
        The new or existing submission, and whether it is new.
    """
    with transaction.atomic():
        _lock(team, user)
        key = submission.idempotency_key
        known = Submission.objects.filter(user=user, idempotency_key=key).first() if key else None
        if known is not None:
            return _check_same(known, submission.sha256), False
        # Read again: an organizer may have changed it while the upload was checked.
        phase = Phase.objects.select_related("challenge").get(pk=phase.pk)
        _check_open(phase, submission.created)
        check_quota(team, phase, submission.created)
        lifecycle.add(submission)
        for row, content in files:
            row.file.save(_get_file_name(row), ContentFile(content), save=False)
            row.save()
    return submission, True


@contextmanager
def _delete_after_errors(files: Iterable[tuple[SubmissionFile, bytes]]) -> Iterator[None]:
    """Delete the stored files if the context ends with an error."""
    try:
        yield
    except BaseException:
        for row, _ in files:
            # By the expected name, because Django does not store the name of a partially written file.
            row.file.storage.delete(f"submissions/{_get_file_name(row)}")
        raise


def _lock(team: Team, user: User) -> None:
    """Lock a team, so that its concurrent submissions are counted correctly."""
    locked = Team.objects.select_for_update(of=("self",), no_key=True).filter(
        pk=team.pk, memberships__in=Membership.objects.filter(user=user, approved=True)
    )
    if locked.first() is None:
        raise TeamError(f"{user.username!r} is no longer in team {team.name!r}")


def _get_file_name(row: SubmissionFile) -> str:
    return f"{row.submission_id}-{row.split.name}.json"


def check_declared_fields(phase: Phase, declared: Mapping[str, str]) -> dict[str, str]:
    """Return the declared fields of a submission in their stored form.

    Raises:
        UploadError: A field is invalid, missing or unknown.
    """
    for name, value in declared.items():
        if len(value) > LONGEST_FIELD or "\0" in value:
            raise UploadError(f"{name!r} must be a text of at most {LONGEST_FIELD:,} characters")
    try:
        return check_declared(phase.challenge.declared_fields, declared, phase.name)
    except FormatError as error:
        raise UploadError(str(error)) from None


def _compute_digest(phase: Phase, upload: Upload, declared: Mapping[str, str]) -> str:
    parts = [str(phase.pk), *(f"{name}={value}" for name, value in sorted(declared.items()))]
    parts += [hashlib.sha256(data).hexdigest() for _, data in sorted(upload.files.items())]
    return hashlib.sha256("\0".join([upload.algorithm, *parts]).encode()).hexdigest()


def _check_same(known: Submission, digest: str) -> Submission:
    if known.sha256 != digest:
        raise RepeatedKeyError(_REPEATED)
    return known
