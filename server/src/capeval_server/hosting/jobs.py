"""Exports as jobs: a worker writes everything of a challenge to a file, which organizers then download.

A challenge has one export at most. When another is asked for, the one before is deleted.
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
from capeval_server.challenges.services.locks import held
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services.challenge_import import taking_back
from capeval_server.hosting.services.export_archive import export
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job

__all__ = ["ExportHandler", "ask_for_export", "opened_export"]

_KIND = "export"
# After the submissions, which teams wait for.
_PRIORITY = 2
# What the history says of a download.
_DOWNLOADED = "downloaded everything of the challenge"


def ask_for_export(user: User, challenge: Challenge) -> Export:
    """Has a worker export a challenge, in place of any earlier export."""
    with held(challenge):
        earlier = Export.objects.filter(challenge=challenge).first()
        if earlier is not None:
            transaction.on_commit(partial(default_storage.delete, earlier.file))
            earlier.delete()
        made = Export.objects.create(challenge=challenge)
        leases.enqueue(Job(kind=_KIND, subject=str(challenge.pk), priority=_PRIORITY))
        record(user, challenge, "had everything of the challenge exported")
    return made


def opened_export(user: User, challenge: Challenge, *, again: bool) -> tuple[Export, File[bytes]]:
    """The export of a challenge and its file, for an organizer to download.

    Args:
        user: Who downloads it.
        challenge: The challenge.
        again: Whether they say that they go on with a download. That is recorded too, unless they began
            to download this export before.

    Raises:
        ConflictError: There is none, or it is not ready.
    """
    found = Export.objects.filter(challenge=challenge).first()
    if found is None:
        raise ConflictError("there is no export: ask for one first")
    if found.state != Export.State.READY:
        raise ConflictError(f"the export is {found.get_state_display()}")
    try:
        file = default_storage.open(found.file)
    except FileNotFoundError:
        raise ConflictError("there is no export any more: ask for another one") from None
    begun = Action.objects.filter(challenge=challenge, user=user, what=_DOWNLOADED, time__gte=found.created)
    if not (again and begun.exists()):
        record(user, challenge, _DOWNLOADED)
    return found, file


@register
class ExportHandler(Handler):
    """Exports one challenge after the other."""

    kind = _KIND

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Writes the export of a challenge, and stores it."""
        found = Export.objects.select_related("challenge").filter(challenge=int(job.subject)).first()
        if found is None:
            # The challenge is gone, or its organizer asked again; that has a job of its own.
            leases.finish(job)
            return
        with tempfile.TemporaryFile() as file:
            export(found.challenge, _Renewing(file, renew))  # type: ignore[arg-type]
            size = file.tell()
            file.seek(0)
            with taking_back() as stored:
                stored.append(found.file)
                # What an attempt that was stopped left there.
                default_storage.delete(found.file)
                default_storage.save(found.file, File(file))
                with transaction.atomic():
                    made = {"state": Export.State.READY, "size": size, "finished": timezone.now()}
                    if not Export.objects.filter(pk=found.pk).update(**made):
                        raise leases.LostLeaseError
                    leases.finish(job)

    def give_up(self, job: Job, reason: str, log: str) -> None:  # noqa: ARG002
        """Notes that there will be no export."""
        Export.objects.filter(challenge=int(job.subject)).update(state=Export.State.FAILED)


class _Renewing:
    """A file whose writer keeps the lease of a job."""

    def __init__(self, file: Any, renew: Callable[[], None]) -> None:
        self._file, self._renew = file, renew

    def write(self, data: bytes) -> int:
        """Writes some bytes."""
        self._renew()
        written: int = self._file.write(data)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
