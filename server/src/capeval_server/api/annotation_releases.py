"""Operations to freeze, verify and download releases, and to use them in challenges."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Schema, Status
from pydantic import Field

from capeval.errors import CapevalError, FormatError
from capeval_server.annotation.models import Campaign, Release
from capeval_server.annotation.releases import archives, judgment_table, release_files
from capeval_server.annotation.task_types import task_named
from capeval_server.api.annotation_common import PAGE_SIZE, Start, create_router, find_row, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.challenges.selectors.access import get_organized_challenge
from capeval_server.core.errors import CampaignError, ConflictError
from capeval_server.hosting.services.reported_scores import reference_set
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["router"]

router = create_router()
ReleaseName = Annotated[str, Path(max_length=50, pattern="^[^/\\x00]+$")]
ShortName = Annotated[str, Field(max_length=50)]


class NewRelease(RequestBody):
    """A release to freeze.

    `plans` defines the splits of captions, the references per image and the held-out captions; without it, a
    split "all" contains all captions of all images. `leave_out` omits items that lack answers instead of
    failing, and `without_invisible` removes invisible characters from captions.
    """

    name: ShortName
    plans: dict[str, Any] | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    leave_out: bool = False
    without_invisible: bool = False


class ReleaseAnswer(Schema):
    """A release.

    `answers` is the number of its answers, and `outdated` is how many of them no longer count, for example
    because their worker was blocked later. `splits` lists the splits of a release of captions.
    """

    name: str
    who: str
    time: datetime
    answers: int
    outdated: int
    splits: list[str]

    @staticmethod
    def resolve_answers(release: Release) -> int:
        """Return the number of answers."""
        return release.responses.count()

    @staticmethod
    def resolve_outdated(release: Release) -> int:
        """Return how many of its answers no longer count."""
        return release_files.count_outdated_answers(release)

    @staticmethod
    def resolve_splits(release: Release) -> list[str]:
        """Return the names of the splits."""
        return [] if _is_judged(release.campaign) else release_files.list_splits(release)


class FrozenRelease(ReleaseAnswer):
    """A new release. `warnings` lists files that could not be written."""

    warnings: list[str]

    @staticmethod
    def resolve_warnings(_: Release) -> list[str]:
        """Return the warnings."""
        return list(filter(None, [judgment_table.explain_missing_parquet()]))


class Releases(Schema):
    """A range of the releases, latest first. `count` is their total number."""

    count: int
    releases: list[ReleaseAnswer]


class ReleaseVerification(Schema):
    """Result of verifying a release: the number of its files, all unchanged, and of outdated answers."""

    files: int
    outdated: int


class ReferencesToReplace(RequestBody):
    """The reference set that gets a new version, and the split of the release with its captions.

    `many` uses the larger reference set of the split, such as c40.
    """

    challenge: ShortName
    split: ShortName
    references: ShortName
    release_split: ShortName = ""
    many: bool = False


class PublishedVersion(Schema):
    """Number of the new version of the references."""

    version: int


def _is_judged(campaign: Campaign) -> bool:
    return task_named(campaign.kind).result.judges_systems


def _get_release(request: HttpRequest, slug: str, name: str) -> Release:
    rows = get_campaign(request, slug).releases.select_related("campaign__challenge")
    return find_row(rows, f"release {name!r}", name=name)


def _send_zip(data: bytes, name: str) -> HttpResponse:
    answer = HttpResponse(data, content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@router.get("/{slug}/releases", response={200: Releases, (403, 404): Problem})
def releases(request: HttpRequest, slug: Slug, start: Start = 0) -> Any:
    """List up to 200 releases from the position `start`."""
    found = get_campaign(request, slug).releases.select_related("campaign").order_by("-time", "-pk")
    return {"count": found.count(), "releases": list(found[start : start + PAGE_SIZE])}


@router.post("/{slug}/releases", response={201: FrozenRelease, (403, 404, 422): Problem})
@accepts_uploads
def freeze(request: HttpRequest, slug: Slug, wanted: NewRelease) -> Any:
    """Freeze the counted captions or judgments into a release, which never changes."""
    options = wanted.model_dump(exclude={"name", "plans"})
    plans = None if wanted.plans is None else ("plans", json.dumps(wanted.plans).encode())
    user, campaign = token_of(request).user, get_campaign(request, slug)
    return Status(201, archives.freeze_with_plans(user, campaign, wanted.name, plans, **options))


@router.get("/{slug}/releases/{name}", response={200: ReleaseAnswer, (403, 404): Problem})
def release(request: HttpRequest, slug: Slug, name: ReleaseName) -> Any:
    """Return a release."""
    return _get_release(request, slug, name)


@router.post("/{slug}/releases/{name}/verify", response={200: ReleaseVerification, (403, 404, 409): Problem})
def verify(request: HttpRequest, slug: Slug, name: ReleaseName) -> Any:
    """Verify that the files of a release are unchanged. Returns 409 if a file has changed."""
    found = _get_release(request, slug, name)
    try:
        number = release_files.verify(found)
    except CapevalError as error:
        raise ConflictError(f"the release {name} has changed since it was frozen: {error}") from None
    return {"files": number, "outdated": release_files.count_outdated_answers(found)}


@router.get("/{slug}/releases/{name}/files.zip", response={200: None, (403, 404): Problem})
def download(request: HttpRequest, slug: Slug, name: ReleaseName) -> Any:
    """Download the files of a release as a zip.

    They contain the worker of each answer by pseudonym, so the download is recorded in the history.
    """
    data = archives.zip_release(token_of(request).user, _get_release(request, slug, name))
    return _send_zip(data, f"{slug}-{name}.zip")


@router.get("/{slug}/releases/{name}/challenge.zip", response={200: None, (403, 404, 422): Problem})
def download_challenge(request: HttpRequest, slug: Slug, name: ReleaseName) -> Any:
    """Download the files of a new challenge with a release of captions as its references."""
    found = _get_release(request, slug, name)
    try:
        data = archives.zip_challenge(found)
    except CapevalError as error:
        raise CampaignError(f"the release {name} cannot be used in a challenge: {error}") from None
    return _send_zip(data, f"{slug}-{name}-challenge.zip")


@router.post(
    "/{slug}/releases/{name}/references", response={200: PublishedVersion, (403, 404, 409, 422): Problem}
)
def publish(request: HttpRequest, slug: Slug, name: ReleaseName, wanted: ReferencesToReplace) -> Any:
    """Publish a release as the next version of a challenge's references.

    All submissions are then scored again.
    """
    user, found = token_of(request).user, _get_release(request, slug, name)
    challenge = get_organized_challenge(user, wanted.challenge)
    entry = reference_set(challenge, wanted.split, wanted.references)
    split = wanted.release_split or wanted.split
    try:
        version = release_files.publish(user, found, split, entry, many=wanted.many)
    except FormatError as error:
        raise ConflictError(f"the release {name} has changed since it was frozen: {error}") from None
    return {"version": version}


@router.get("/{slug}/results.zip", response={200: None, (403, 404, 422): Problem})
def download_results(request: HttpRequest, slug: Slug, complete: Annotated[bool, Query()] = False) -> Any:
    """Download the answers that currently count as a zip of files for `capeval study`.

    With `complete`, items that lack answers are omitted. The download is recorded in the history.
    """
    campaign = get_campaign(request, slug)
    try:
        data = archives.zip_results(token_of(request).user, campaign, complete_only=complete)
    except CapevalError as error:
        raise CampaignError(str(error)) from None
    return _send_zip(data, f"{slug}-results.zip")
