"""Releases in requests and responses: plans that are sent, and zips to download."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from capeval.errors import CapevalError
from capeval_server.annotation.models import Campaign, Release
from capeval_server.annotation.releases.challenge_files import write_challenge
from capeval_server.annotation.releases.release_files import folder_of, freeze
from capeval_server.annotation.releases.result_files import write_results
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError
from capeval_server.hosting.services.new_challenge import zipped

__all__ = ["freeze_with_plans", "zip_challenge", "zip_release", "zip_results"]


def freeze_with_plans(
    user: User, campaign: Campaign, name: str, plans: tuple[str, bytes] | None, **options: Any
) -> Release:
    """Freeze the counted answers, with the plans of splits as the name and content of a file.

    Args:
        user: The user who freezes.
        campaign: The campaign.
        name: Name of the release, such as 1.0.
        plans: Name and content of the file of plans; None for a single split.
        options: Further options of `freeze`.

    Raises:
        CampaignError: As `freeze`, or the plans are invalid or do not match the captions.
        OSError: A file can't be read or written.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = None
        if plans is not None:
            # Error messages contain the file name, so the original name is kept.
            path = Path(folder) / Path(plans[0]).name
            path.write_bytes(plans[1])
        try:
            return freeze(user, campaign, name, plans=path, **options)
        except CapevalError as error:
            raise CampaignError(str(error).replace(f"{folder}/", "")) from None


def zip_release(user: User | None, release: Release) -> bytes:
    """Return a zip of the files of a release.

    They contain the worker of each answer by pseudonym, so the download is recorded in the audit log.

    Raises:
        OSError: A file can't be read.
    """
    # Each download of a release is the same zip.
    data = _zip_folder(folder_of(release).parent, release.time)
    campaign = release.campaign
    record(user, campaign.challenge, f"downloaded the release {release.name} of the campaign {campaign.slug}")
    return data


def zip_results(user: User | None, campaign: Campaign, *, complete_only: bool = False) -> bytes:
    """Return a zip of the answers that currently count, as files for `capeval study`.

    Args:
        user: The user who downloads.
        campaign: The campaign.
        complete_only: Whether to omit items that lack answers.

    Raises:
        CampaignError: The task type does not judge captions, or no answer counts.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_results(campaign, Path(folder), complete_only=complete_only)
        data = _zip_folder(Path(folder))
    record(user, campaign.challenge, f"downloaded the results of the campaign {campaign.slug}")
    return data


def zip_challenge(release: Release) -> bytes:
    """Return a zip of the files of a new challenge with a release as its references.

    Raises:
        CapevalError: The release was changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = write_challenge(release, Path(folder))
        files = {each.name: each.read_bytes() for each in sorted(path.parent.iterdir())}
        return zipped(files, time=release.time)


def _zip_folder(folder: Path, time: datetime | None = None) -> bytes:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return zipped({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}, time=time)
