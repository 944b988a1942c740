"""Pages of a challenge's texts and announcements, and the images in them."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from capeval_server.challenges.models import Challenge, Picture
from capeval_server.core.errors import NotFoundError
from capeval_server.web.markdown import to_html

__all__ = ["announcements", "contact", "faq", "page", "pictures_of", "show_picture"]

_PER_PAGE = 20


def pictures_of(challenge: Challenge) -> dict[str, str]:
    """Return the URLs of a challenge's images, by name."""
    names = challenge.pictures.values_list("name", flat=True)
    return {name: reverse("picture", args=[challenge.slug, name]) for name in names}


@require_safe
def faq(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the FAQ of a challenge."""
    challenge = get_object_or_404(Challenge, slug=slug)
    return _show_text(request, challenge, "faq", "FAQ", challenge.faq)


@require_safe
def page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show an additional page of a challenge."""
    challenge = get_object_or_404(Challenge, slug=slug)
    found = next((each for each in challenge.pages if each["name"] == name), None)
    if found is None:
        raise NotFoundError
    return _show_text(request, challenge, f"page {name}", found["title"], found["text"])


@require_safe
def contact(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the contact page of a challenge."""
    challenge = get_object_or_404(Challenge, slug=slug)
    return _show_text(request, challenge, "contact", "Contact", challenge.contact)


def _show_text(
    request: HttpRequest, challenge: Challenge, name: str, heading: str, text: str
) -> HttpResponse:
    if not text.strip():
        raise NotFoundError
    html = to_html(text, pictures_of(challenge))
    context = {"challenge": challenge, "text": html, "name": name, "heading": heading}
    return render(request, "web/public/text.html", context)


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """List the announcements of a challenge, latest first."""
    challenge = get_object_or_404(Challenge, slug=slug)
    found = Paginator(challenge.announcements.order_by("-created", "-pk"), _PER_PAGE)
    page = found.get_page(request.GET.get("page"))
    pictures = pictures_of(challenge)
    shown = [(one, to_html(one.text, pictures)) for one in page.object_list]
    context = {"challenge": challenge, "announcements": shown, "page": page}
    return render(request, "web/public/announcements.html", context)


@require_safe
def show_picture(_: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """Send an image of a challenge's texts."""
    # PostgreSQL rejects queries with NUL characters, and no stored name contains one.
    if "\0" in name:
        raise NotFoundError
    picture = get_object_or_404(Picture, challenge__slug=slug, name=name)
    # For hidden challenges, the middleware forbids shared caches.
    answer = FileResponse(picture.file.open("rb"), content_type=picture.media_type)
    answer["Cache-Control"] = "public, max-age=300"
    return answer
