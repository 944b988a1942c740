"""Taking away what nothing names any more: files, scratch folders, rows of workers that are gone."""

from __future__ import annotations

import shutil
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from django.core.files.storage import default_storage
from django.utils import timezone

from capeval_server.challenges.models import ReferenceVersion
from capeval_server.submissions.models import SubmissionFile, Worker

__all__ = ["SCRATCH", "tidy"]

SCRATCH = "capeval-worker-"
# What is younger may belong to a transaction that has not ended yet.
_AGE = timedelta(days=1)


def tidy() -> int:
    """Deletes what is older than a day and nothing names.

    That are stored files of uploads and imports that ended between the file and its row, drafts that
    nobody confirmed, folders of workers on this machine that were killed, and the rows of workers not
    seen since.

    Returns:
        How many files and folders were deleted.

    Raises:
        OSError: A file can't be deleted.
    """
    Worker.objects.filter(seen__lt=timezone.now() - _AGE).delete()
    named = {str(name) for name in SubmissionFile.objects.values_list("file", flat=True)}
    named |= {str(name) for name in ReferenceVersion.objects.values_list("file", flat=True)}
    deleted = _scratch()
    for kind in ("drafts", "references", "submissions"):
        for name in _stored(kind):
            if name not in named and _old(name):
                default_storage.delete(name)
                deleted += 1
    return deleted


def _stored(kind: str) -> list[str]:
    try:
        return [f"{kind}/{name}" for name in default_storage.listdir(kind)[1]]
    except FileNotFoundError:
        # Nothing was stored yet.
        return []


def _old(name: str) -> bool:
    try:
        return timezone.now() - default_storage.get_modified_time(name) > _AGE
    except FileNotFoundError:
        # Another worker was faster.
        return False


def _scratch() -> int:
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
