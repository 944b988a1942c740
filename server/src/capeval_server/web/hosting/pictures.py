"""Organizer page of the images in a challenge's texts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.hosting.services import pictures as stored
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.hosting import forms
from capeval_server.web.hosting.common import (
    add_success_message,
    errors_in_form,
    for_organizers,
    form_status,
    show,
)

__all__ = ["pictures", "remove_picture"]


@accepts_uploads
@for_organizers
def pictures(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the images; add one, or replace the image of the same name."""
    form = forms.PictureForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        with errors_in_form(form, "file"):
            added = stored.add(get_user(request), challenge, file.name or "", file.read(stored.LARGEST + 1))
            add_success_message(request, format_html("Saved the image {}.", added.name))
            return redirect("organizer_pictures", challenge.slug)
    found = challenge.pictures.order_by("name")
    return show(
        request, challenge, "pictures", tab="edit", form=form, pictures=found, status=form_status(form)
    )


@for_organizers
@require_POST
def remove_picture(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Remove an image."""
    stored.remove(get_user(request), get_object_or_404(challenge.pictures, pk=pk))
    add_success_message(request, "Removed the image.")
    return redirect("organizer_pictures", challenge.slug)
