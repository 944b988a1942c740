"""Checks of an upload before its body is read: size, quota, rate and upload lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.utils import timezone

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import BusyError, RateLimitError, UploadError
from capeval_server.submissions.models import RefusedUpload, Submission
from capeval_server.submissions.quotas.limits import check_quota
from capeval_server.submissions.quotas.upload_locks import lock_user_uploads
from capeval_server.submissions.services import submit

__all__ = ["Admission", "admit_upload"]

_WINDOW = timedelta(minutes=10)
# Time until a retry while another upload is checked.
_SOON = timedelta(seconds=5)


class Admission:
    """Admitted upload: its body may be read.

    Attributes:
        costs: Whether it counts toward the user's limit of checked uploads without a new submission.
    """

    def __init__(self, user: User, phase: Phase, arrived: datetime, key: str | None) -> None:
        self.costs = False
        self._user, self._phase, self._arrived, self._key = user, phase, arrived, key

    def submit(
        self, name: str, file: Iterable[bytes], *, declared: Mapping[str, str]
    ) -> tuple[Submission, bool]:
        """Check the declared fields, and receive the submission; see `submit.submit`.

        Raises:
            UploadError: A declared field or the upload is invalid.
        """
        declared = submit.check_declared_fields(self._phase, declared)
        self.costs = True
        submission, new = submit.submit(
            self._user, self._phase, name, file, declared=declared, key=self._key, arrived=self._arrived
        )
        self.costs = not new
        return submission, new


@contextmanager
def admit_upload(user: User, phase: Phase, *, size: int, key: str | None) -> Iterator[Admission]:
    """Admit an upload, and reject other uploads of the user until the context ends.

    Args:
        user: The user who uploads.
        phase: The phase.
        size: The size of the request in bytes, as declared.
        key: The idempotency key. A repeated upload gets its response even if the quota is used up.

    Raises:
        UploadError: The upload is too large.
        PhaseError: The phase is not open.
        TeamError: The user has not joined the challenge.
        QuotaError: The quota is used up.
        RateLimitError: Too many uploads created no submission, or another one is being checked.
    """
    arrived = timezone.now()
    team = submit.entrant(user, phase, arrived)
    if size > settings.REQUEST_BYTES:
        raise UploadError(f"the upload must have at most {settings.UPLOAD_BYTES:,} bytes (got more)")
    with lock_user_uploads(user) as free:
        if not free:
            raise RateLimitError(
                "another upload of yours is being checked: try again when it is done",
                allowed_from=arrived + _SOON,
            )
        _check_rate(user, arrived)
        if key is None or not Submission.objects.filter(user=user, idempotency_key=key).exists():
            check_quota(team, phase, arrived)
        admission = Admission(user, phase, arrived, key)
        try:
            yield admission
        except (OSError, BusyError, DatabaseError):
            # Failures of the server do not count toward the limit.
            admission.costs = False
            raise
        finally:
            if admission.costs:
                _count_upload(user, arrived)


def _check_rate(user: User, now: datetime) -> None:
    refused = RefusedUpload.objects.filter(user=user, time__gt=now - _WINDOW).order_by("-time")
    times = list(refused.values_list("time", flat=True)[: settings.REFUSED_UPLOADS])
    if len(times) == settings.REFUSED_UPLOADS:
        allowed = times[-1] + _WINDOW
        raise RateLimitError(
            f"{len(times)} of your uploads within 10 minutes were invalid or repeated an earlier one; the"
            f" next is allowed from {allowed:%Y-%m-%d %H:%M:%S} UTC (check files before uploading: capeval"
            " check FILE --challenge challenge.json)",
            allowed_from=allowed,
        )


def _count_upload(user: User, now: datetime) -> None:
    RefusedUpload.objects.filter(user=user, time__lte=now - _WINDOW).delete()
    RefusedUpload.objects.create(user=user, time=now)
