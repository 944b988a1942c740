"""Images of a split as a page and as a file, and the starter kit."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse

from capeval.formats.io.json import to_json_bytes
from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import (
    Challenge,
    ImageArchive,
    ImageList,
    Phase,
    ReferenceSet,
    Split,
    Subset,
)
from capeval_server.challenges.selectors.public_data import (
    build_annotations,
    compute_annotations_key,
    describe_submissions,
    list_public_references,
    list_public_subsets,
    name_annotations,
    name_image_archive,
    name_subsets,
)
from capeval_server.challenges.services.image_lists import as_image_info, get_images
from capeval_server.core.errors import NotFoundError
from capeval_server.http.conditional_get import respond_conditionally
from capeval_server.leaderboards.render_cache import get_or_render_by_key
from capeval_server.web.presenters import example_name
from capeval_server.web.public.leaderboard_table import near_pages

__all__ = ["kit", "send_images", "show_images"]

# Rows of a page.
_PER_PAGE = 100
_CAPTION = "a photo"


def _get_split(slug: str, split: str) -> Split:
    return get_object_or_404(Split.objects.select_related("challenge"), challenge__slug=slug, name=split)


def show_images(request: HttpRequest, slug: str, split: str) -> HttpResponse:
    """List the images of a split with file names, sizes, licenses, authors and links."""
    found = _get_split(slug, split)
    images = get_images(found)
    wanted = request.GET.get("image", "").strip()[:200]
    matching = [image for image in images if wanted in (str(image.id), image.file_name)] if wanted else images
    pages = max(1, -(-len(matching) // _PER_PAGE))
    page = _parse_page_number(request, pages)
    rows = [
        {"image": image, "url": safe_link(image.url), "license_url": safe_link(image.license_url)}
        for image in matching[(page - 1) * _PER_PAGE : page * _PER_PAGE]
    ]
    place = reverse("images", args=(slug, split))
    context = {
        "challenge": found.challenge,
        "split": found,
        "rows": rows,
        "wanted": wanted,
        "images": len(images),
        "named": any(image.file_name for image in images),
        "sized": any(image.width and image.height for image in images),
        "licensed": any(image.license for image in images),
        "with_authors": any(image.author for image in images),
        "pages": [(number, f"{place}?{urlencode({'page': number})}") for number in near_pages(page, pages)],
        "page": page,
    }
    return render(request, "web/public/images.html", context)


def _parse_page_number(request: HttpRequest, pages: int) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= pages):
        raise NotFoundError
    return int(text)


def send_images(_: HttpRequest, slug: str, split: str) -> HttpResponse:
    """Send the images of a split as a COCO `image_info` file."""
    found = _get_split(slug, split)
    answer = HttpResponse(as_image_info(found), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{_file_name(found)}"'
    return answer


def _file_name(split: Split) -> str:
    return f"image_info_{split.name}.json"


def kit(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the starter kit of a challenge as a zip.

    It contains image lists, public references and subsets, valid example results, the format of submissions,
    and instructions.
    """
    found = get_object_or_404(Challenge, slug=slug)
    server = request.build_absolute_uri("/").rstrip("/")
    packed = get_or_render_by_key(
        lambda: _compute_kit_key(found.pk), f"kit {server}", lambda: _build_kit(found.pk, server)
    )

    def answer() -> HttpResponse:
        made = HttpResponse(packed.content, content_type="application/zip")
        made["Content-Disposition"] = f'attachment; filename="{slug}-kit.zip"'
        return made

    return respond_conditionally(request, packed.etag, answer)


def _compute_kit_key(challenge: int) -> str:
    """Return a cache key that depends on all data in a kit."""
    rows = [
        list(kind.objects.filter(**{name: challenge}).order_by("pk").values_list())
        for kind, name in ((Challenge, "pk"), (Phase, "challenge"), (Split, "challenge"))
    ]
    images = (
        ImageList.objects.filter(split__challenge=challenge).order_by("pk").values_list("split", "sha256")
    )
    archives = ImageArchive.objects.filter(split__challenge=challenge).order_by("pk").values_list()
    subsets = Subset.objects.filter(split__challenge=challenge).order_by("pk").values_list()
    sets = ReferenceSet.objects.filter(split__challenge=challenge).order_by("pk").values_list("pk", "public")
    public = ReferenceSet.objects.filter(split__challenge=challenge, public=True, version__gte=1)
    references = compute_annotations_key(public.select_related("split__image_list").order_by("pk"))
    content = (rows, list(images), list(archives), list(subsets), list(sets), references)
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _build_kit(pk: int, server: str) -> bytes:
    challenge = Challenge.objects.get(pk=pk)
    splits = list(challenge.splits.order_by("name"))
    # Of the phases that close last, the one with the most submissions is for development.
    phase = challenge.phases.order_by("-closes", "-quota_total", "pk").first()
    sent = [] if phase is None else list(phase.splits.all())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        about = {
            "challenge": challenge,
            "phase": phase,
            "upload": _name_example(sent[0], splits) if len(sent) == 1 else "results.zip",
            "splits": [
                {
                    "split": split,
                    "images": _file_name(split),
                    "example": _name_example(split, splits),
                    "references": [name_annotations(entry) for entry in list_public_references(split)],
                    "archive": name_image_archive(split) if hasattr(split, "image_archive") else "",
                    "subsets": name_subsets(split) if list_public_subsets(split) else "",
                }
                for split in splits
            ],
            "declared": [field for field in challenge.declared_fields if field.required],
            "server": server,
        }
        archive.writestr("README.md", render_to_string("web/public/kit.md", about))
        for split in splits:
            archive.writestr(_file_name(split), as_image_info(split))
            archive.writestr(_name_example(split, splits), _build_example(split))
            for entry in list_public_references(split):
                archive.writestr(name_annotations(entry), build_annotations(entry))
            if subsets := list_public_subsets(split):
                archive.writestr(name_subsets(split), to_json_bytes(subsets))
        archive.writestr("challenge.json", to_json_bytes(describe_submissions(challenge)))
    return out.getvalue()


def _name_example(split: Split, splits: Sequence[Split]) -> str:
    """Return the name of a split's example results, which is different for each split."""
    is_shared = sum(other.results == split.results for other in splits) > 1
    return example_name(split, f"example-{split.name}" if is_shared else "example")


def _build_example(split: Split) -> str:
    """Return valid example results, with the same caption for each image."""
    return json.dumps([{"image_id": image, "caption": _CAPTION} for image in split.image_ids])
