"""Taking a submission in: all of its checks, its quota and its files in one step, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone

from capeval_server.challenges.models import Phase
from capeval_server.errors import PhaseError, QuotaError, RepeatedKeyError, UploadError
from capeval_server.submissions.models import Submission, SubmissionFile
from capeval_server.submissions.uploads import Upload, read_upload

__all__ = ["Quota", "quota", "submit"]

_LONGEST_FIELD = 2000


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What a user may still submit to a phase.

    Attributes:
        left_today: How many more until midnight, UTC.
        left: How many more in all.
        allowed_from: When the next one is allowed: now, a later time, or never (none).
    """

    left_today: int
    left: int
    allowed_from: datetime | None


def quota(user_id: int, phase: Phase, now: datetime) -> Quota:
    """What a user may still submit to a phase."""
    counted = Submission.objects.filter(user_id=user_id, phase=phase, counts_for_quota=True)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    left = max(phase.quota_total - counted.count(), 0)
    today = max(min(left, phase.quota_per_day - counted.filter(created__gte=midnight).count()), 0)
    allowed = max(now, phase.opens) if today else max(midnight + timedelta(days=1), phase.opens)
    return Quota(
        left_today=today, left=left, allowed_from=allowed if left and allowed < phase.closes else None
    )


def submit(
    user: User,
    phase: Phase,
    name: str,
    file: Iterable[bytes],
    *,
    declared: Mapping[str, str],
    key: str | None = None,
) -> tuple[Submission, bool]:
    """Takes in a submission.

    Args:
        user: Who submits.
        phase: The phase submitted to.
        name: The name of the uploaded file.
        file: Its bytes, in chunks.
        declared: What the submitter declares, by the field's name.
        key: An idempotency key: the same upload with the same key again is the same submission.

    Returns:
        The submission, and whether it is new.

    Raises:
        UploadError: The upload or what is declared is wrong.
        PhaseError: The phase is not open.
        QuotaError: The quota is used up.
        RepeatedKeyError: The key was used for another upload.
    """
    now = timezone.now()
    if not phase.opens <= now < phase.closes:
        state = f"opens at {phase.opens.isoformat()}" if now < phase.opens else "is closed"
        raise PhaseError(f"phase {phase.name!r} {state}")
    _check_declared(phase, declared)
    upload = read_upload(name, file, list(phase.splits.order_by("name")))
    digest = _digest(phase, upload, declared)
    submission = Submission(
        user=user,
        phase=phase,
        declared=dict(declared),
        algorithm=upload.algorithm,
        sha256=digest,
        idempotency_key=key,
    )
    files = [
        SubmissionFile(submission=submission, split=split)
        for split in phase.splits.filter(name__in=upload.files).order_by("name")
    ]
    try:
        with transaction.atomic():
            # Who submits twice at once waits here: counting and adding are then one step.
            User.objects.select_for_update().get(pk=user.pk)
            known = Submission.objects.filter(user=user, idempotency_key=key).first() if key else None
            if known is not None:
                return _same(known, digest), False
            _spend(user.pk, phase)
            submission.created = timezone.now()
            submission.save(force_insert=True)
            for part in files:
                content = ContentFile(upload.files[part.split.name])
                part.file.save(_file_name(part), content, save=False)
                part.save()
    except BaseException:
        for part in files:
            # By the name that it would have: of a file that is half written, Django keeps none.
            part.file.storage.delete(f"submissions/{_file_name(part)}")
        raise
    return submission, True


def _file_name(part: SubmissionFile) -> str:
    return f"{part.submission_id}-{part.split.name}.json"


def _check_declared(phase: Phase, declared: Mapping[str, str]) -> None:
    fields = {field["name"]: field["required"] for field in phase.challenge.fields}
    for name, value in declared.items():
        if name not in fields:
            known = ", ".join(fields) or "nothing"
            raise UploadError(f"what is declared must be among {known} (got {name!r})")
        if len(value) > _LONGEST_FIELD or "\0" in value:
            raise UploadError(f"{name!r} must be text of at most {_LONGEST_FIELD:,} characters")
    missing = [name for name, required in fields.items() if required and not declared.get(name, "").strip()]
    if missing:
        raise UploadError(f"a submission must declare {', '.join(map(repr, missing))}")


def _digest(phase: Phase, upload: Upload, declared: Mapping[str, str]) -> str:
    parts = [str(phase.pk), *(f"{name}={value}" for name, value in sorted(declared.items()))]
    parts += [hashlib.sha256(data).hexdigest() for _, data in sorted(upload.files.items())]
    return hashlib.sha256("\0".join([upload.algorithm, *parts]).encode()).hexdigest()


def _same(known: Submission, digest: str) -> Submission:
    if known.sha256 != digest:
        raise RepeatedKeyError("the idempotency key was used before, for another upload")
    return known


def _spend(user_id: int, phase: Phase) -> None:
    now = timezone.now()
    there = quota(user_id, phase, now)
    if there.left_today:
        return
    which = f"{phase.quota_per_day} a day" if there.left else f"{phase.quota_total} in all"
    then = f"the next is allowed from {there.allowed_from.isoformat()}" if there.allowed_from else "no more"
    raise QuotaError(f"the quota of {which} is used up; {then}", allowed_from=there.allowed_from)
