"""Cleanup of unused files, scratch folders, and rows of sessions and workers."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage

from capeval_server.accounts.services.reservations import expire
from capeval_server.challenges.models import ImageArchive, Picture, ReferenceVersion
from capeval_server.jobs import leases
from capeval_server.jobs.models import Worker
from capeval_server.submissions.models import SubmissionFile
from capeval_server.submissions.quotas.former_members import forget

__all__ = ["SCRATCH", "delete_scratch", "tidy"]

SCRATCH = "capeval-worker-"
# Younger files may belong to a transaction that has not ended yet.
_AGE = timedelta(days=1)


def tidy(renew: Callable[[], None] = lambda: None) -> int:
    """Delete unused data older than a day.

    Unused data is: stored files of uploads and imports that ended before the file's row was written,
    unconfirmed drafts, scratch folders of killed workers on this machine, and rows of workers that were not
    seen since. Also deleted are expired sessions, the quota usage of deleted accounts once it can't count
    anymore, and sign-ups whose address was not confirmed in time.

    Args:
        renew: Called before each file.

    Returns:
        The number of deleted files and folders.

    Raises:
        OSError: A file can't be deleted.
    """
    # By the database's clock: with a wrong clock of a worker's machine, new data would be deleted.
    now = leases.database_time()
    Worker.objects.filter(seen__lt=now - _AGE).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    forget(now)
    expire(now)
    named = {str(name) for name in SubmissionFile.objects.values_list("file", flat=True)}
    named |= {str(name) for name in ReferenceVersion.objects.values_list("file", flat=True)}
    named |= {str(name) for name in Picture.objects.values_list("file", flat=True)}
    named |= {str(name) for name in ImageArchive.objects.values_list("file", flat=True)}
    deleted = delete_scratch()
    for kind in ("drafts", "image_archives", "pictures", "references", "submissions"):
        for name in _list_stored(kind):
            renew()
            if name not in named and _is_old(name, now):
                default_storage.delete(name)
                deleted += 1
    return deleted


def _list_stored(kind: str) -> list[str]:
    try:
        return [f"{kind}/{name}" for name in default_storage.listdir(kind)[1]]
    except FileNotFoundError:
        # Nothing was stored yet.
        return []


def _is_old(name: str, now: datetime) -> bool:
    try:
        return now - default_storage.get_modified_time(name) > _AGE
    except FileNotFoundError:
        # Another worker already deleted it.
        return False


def delete_scratch() -> int:
    """Delete old scratch folders of this machine, and return their number."""
    deleted = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        try:
            old = time.time() - folder.stat().st_mtime > _AGE.total_seconds()
        except FileNotFoundError:
            continue
        if old:
            shutil.rmtree(folder, ignore_errors=True)
            deleted += 1
    return deleted
