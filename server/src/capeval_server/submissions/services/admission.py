"""Letting an upload in before its body is read: by its size, the quota, and the turn of who sends it."""

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
from capeval_server.submissions.quotas.limits import spend
from capeval_server.submissions.quotas.upload_locks import turn_of
from capeval_server.submissions.services import submit

__all__ = ["Admission", "admitted"]

_WINDOW = timedelta(minutes=10)
# When to try again while another upload is checked.
_SOON = timedelta(seconds=5)


class Admission:
    """An upload that was let in: now its body may be read.

    Attributes:
        costs: Whether it costs the user one of the few uploads that may make no submission.
    """

    def __init__(self, user: User, phase: Phase, arrived: datetime, key: str | None) -> None:
        self.costs = True
        self._user, self._phase, self._arrived, self._key = user, phase, arrived, key

    def submit(
        self, name: str, file: Iterable[bytes], *, declared: Mapping[str, str]
    ) -> tuple[Submission, bool]:
        """Receives the submission; see `submit.submit`."""
        submission, new = submit.submit(
            self._user, self._phase, name, file, declared=declared, key=self._key, arrived=self._arrived
        )
        self.costs = not new
        return submission, new


@contextmanager
def admitted(user: User, phase: Phase, *, size: int, key: str | None) -> Iterator[Admission]:
    """Lets an upload in while the context lasts. Other uploads of the user are refused meanwhile.

    Args:
        user: Who sends it.
        phase: The phase submitted to.
        size: How many bytes its request says that it has.
        key: Its idempotency key. What was sent with it before is answered even when the quota is used up.

    Raises:
        UploadError: It is too large.
        PhaseError: The phase is not open.
        TeamError: The user has not joined the challenge.
        QuotaError: The quota is used up.
        RateError: Too many uploads made no submission, or another one is being checked.
    """
    arrived = timezone.now()
    team = submit.entrant(user, phase, arrived)
    if size > settings.REQUEST_BYTES:
        raise UploadError(f"the upload must have at most {settings.UPLOAD_BYTES:,} bytes (got more)")
    with turn_of(user) as free:
        if not free:
            raise RateLimitError(
                "another upload of yours is being checked: wait until that is done",
                allowed_from=arrived + _SOON,
            )
        _check_rate(user, arrived)
        if key is None or not Submission.objects.filter(user=user, idempotency_key=key).exists():
            spend(team, phase, arrived)
        admission = Admission(user, phase, arrived, key)
        try:
            yield admission
        except (OSError, BusyError, DatabaseError):
            # The server's failures cost nothing.
            admission.costs = False
            raise
        finally:
            if admission.costs:
                _count(user, arrived)


def _check_rate(user: User, now: datetime) -> None:
    refused = RefusedUpload.objects.filter(user=user, time__gt=now - _WINDOW).order_by("-time")
    times = list(refused.values_list("time", flat=True)[: settings.REFUSED_UPLOADS])
    if len(times) == settings.REFUSED_UPLOADS:
        allowed = times[-1] + _WINDOW
        raise RateLimitError(
            f"{len(times)} of your uploads within 10 minutes made no submission; the next is allowed from"
            f" {allowed:%Y-%m-%d %H:%M:%S} UTC (capeval check FILE checks a file beforehand)",
            allowed_from=allowed,
        )


def _count(user: User, now: datetime) -> None:
    RefusedUpload.objects.filter(user=user, time__lte=now - _WINDOW).delete()
    RefusedUpload.objects.create(user=user, time=now)
