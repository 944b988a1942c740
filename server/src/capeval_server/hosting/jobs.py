"""Export jobs: a worker writes a challenge's export, which organizers download.

A challenge has at most one export. A new request deletes the previous export.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from capeval_server.audit.models import Action, Export, record
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services.challenge_import import delete_files_on_error
from capeval_server.hosting.services.export_archive import export
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job

__all__ = ["DOWNLOADED", "REQUESTED", "ExportHandler", "open_export", "request_export"]

_KIND = "export"
# After submissions, because teams wait for those.
_PRIORITY = 2
# The audit log's texts of a request and of a download.
REQUESTED = "had everything of the challenge exported"
DOWNLOADED = "downloaded everything of the challenge"


def request_export(user: User, challenge: Challenge) -> Export:
    """Request an export of a challenge, which replaces the previous export."""
    with lock_challenge(challenge):
        earlier = Export.objects.filter(challenge=challenge).first()
        if earlier is not None:
            transaction.on_commit(partial(default_storage.delete, earlier.file))
            earlier.delete()
        made = Export.objects.create(challenge=challenge)
        leases.enqueue(Job(kind=_KIND, subject=str(challenge.pk), priority=_PRIORITY))
        record(user, challenge, REQUESTED)
    return made


def open_export(user: User, challenge: Challenge, *, again: bool) -> tuple[Export, File[bytes]]:
    """Return the export of a challenge with its open file, for download.

    Args:
        user: The organizer who downloads it.
        challenge: The challenge.
        again: Whether the request resumes a download. It is recorded like a new download, unless the user
            already began to download this export.

    Raises:
        ConflictError: There is no export, or it is not ready.
    """
    found = Export.objects.filter(challenge=challenge).first()
    if found is None:
        raise ConflictError("there is no export: request one first")
    if found.state != Export.State.READY:
        raise ConflictError(f"the export is {found.get_state_display()}")
    try:
        file = default_storage.open(found.file)
    except FileNotFoundError:
        raise ConflictError("the export no longer exists: request a new one") from None
    begun = Action.objects.filter(challenge=challenge, user=user, what=DOWNLOADED, time__gte=found.created)
    if not (again and begun.exists()):
        record(user, challenge, DOWNLOADED)
    return found, file


@register
class ExportHandler(Handler):
    """Handler of export jobs."""

    kind = _KIND

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Write the export of a challenge and store it."""
        found = Export.objects.select_related("challenge").filter(challenge=int(job.subject)).first()
        if found is None:
            # The challenge was deleted, or a new export was requested, which has its own job.
            leases.finish(job)
            return
        with tempfile.TemporaryFile() as file:
            export(found.challenge, _Renewing(file, renew))  # type: ignore[arg-type]
            size = file.tell()
            file.seek(0)
            with delete_files_on_error() as stored:
                stored.append(found.file)
                # A stopped attempt may have left a file.
                default_storage.delete(found.file)
                default_storage.save(found.file, File(file))
                with transaction.atomic():
                    made = {"state": Export.State.READY, "size": size, "finished": timezone.now()}
                    if not Export.objects.filter(pk=found.pk).update(**made):
                        raise leases.LostLeaseError
                    leases.finish(job)

    def give_up(self, job: Job, reason: str, log: str) -> None:  # noqa: ARG002
        """Mark the export as failed."""
        Export.objects.filter(challenge=int(job.subject)).update(state=Export.State.FAILED)


class _Renewing:
    """File that renews the lease of a job on every write."""

    def __init__(self, file: Any, renew: Callable[[], None]) -> None:
        self._file, self._renew = file, renew

    def write(self, data: bytes) -> int:
        """Write bytes."""
        self._renew()
        written: int = self._file.write(data)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
