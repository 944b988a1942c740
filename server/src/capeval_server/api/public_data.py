"""Downloads for participants: public references, and the format of submissions."""

from __future__ import annotations

import gzip
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import RootModel

from capeval.formats.io.json import to_json_bytes
from capeval_server.api import schemas
from capeval_server.api.path_parameters import Slug
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.public_data import (
    build_annotations,
    compute_annotations_key,
    describe_submissions,
    get_image_archive,
    get_public_references,
    get_public_subsets,
    name_annotations,
    name_image_archive,
    name_subsets,
)
from capeval_server.http.conditional_get import respond_conditionally
from capeval_server.http.range_requests import send_range
from capeval_server.leaderboards.render_cache import get_or_render_by_key

__all__ = ["router"]

router = Router(tags=["Challenges and teams"])


class AnnotationsAnswer(Schema):
    """References in COCO's format, with the known fields of their images."""

    info: dict[str, str]
    licenses: list[dict[str, Any]]
    type: str
    images: list[dict[str, Any]]
    annotations: list[dict[str, Any]]


class SubsetsAnswer(RootModel[dict[str, list[int | str]]]):
    """The images of each subset, as `capeval score --subset` reads them."""


class PhaseFormatAnswer(Schema):
    """A phase and the splits with required results."""

    name: str
    splits: list[str]


class SplitFormatAnswer(Schema):
    """Results of a split: the form of their file name, and the images.

    `file_names` has the name of each image file; it is empty if none is known.
    """

    name: str
    results: str
    image_ids: list[int | str]
    file_names: list[str]


class SubmissionFormatAnswer(Schema):
    """The format of submissions, for `capeval check --challenge`."""

    slug: str
    title: str
    fields: list[schemas.DeclaredFieldAnswer]
    caption_characters: int
    upload_bytes: int
    unpacked_bytes: int
    phases: list[PhaseFormatAnswer]
    splits: list[SplitFormatAnswer]


@router.get(
    "/challenges/{slug}/splits/{split}/references/{references}",
    response={200: AnnotationsAnswer, (404, 503): schemas.Problem},
)
def show_references(request: HttpRequest, slug: Slug, split: Slug, references: Slug) -> Any:
    """Return public references as COCO annotations. Private references are not found."""
    entry = get_public_references(slug, split, references)

    def key_now() -> str:
        return compute_annotations_key([get_public_references(slug, split, references)])

    made = get_or_render_by_key(
        key_now, "annotations", lambda: gzip.compress(build_annotations(entry), 6, mtime=0)
    )

    def answer() -> HttpResponse:
        sent = HttpResponse(gzip.decompress(made.content), content_type="application/json")
        sent["Content-Disposition"] = f'attachment; filename="{name_annotations(entry)}"'
        return sent

    return respond_conditionally(request, made.etag, answer)


@router.get("/challenges/{slug}/splits/{split}/subsets", response={200: SubsetsAnswer, 404: schemas.Problem})
def show_subsets(request: HttpRequest, slug: Slug, split: Slug) -> Any:
    """Return the images of each subset of a split. With private references, they are not found."""
    found, subsets = get_public_subsets(slug, split)
    sent = HttpResponse(to_json_bytes(subsets), content_type="application/json")
    sent["Content-Disposition"] = f'attachment; filename="{name_subsets(found)}"'
    return sent


@router.get("/challenges/{slug}/splits/{split}/images.zip", response={404: schemas.Problem})
def download_images(request: HttpRequest, slug: Slug, split: Slug) -> HttpResponseBase:
    """Return the image files of a split as a zip. Splits without image files are not found."""
    archive = get_image_archive(slug, split)
    name = name_image_archive(archive.split)
    etag = f'"{archive.sha256}"'
    return send_range(request, archive.file.open("rb"), name, size=archive.size, etag=etag)


@router.get(
    "/challenges/{slug}/submission-format", response={200: SubmissionFormatAnswer, 404: schemas.Problem}
)
def show_submission_format(request: HttpRequest, slug: Slug) -> Any:
    """Return the format of submissions: file names, images and declared fields."""
    return describe_submissions(get_object_or_404(Challenge, slug=slug))
