"""Organizer page of announcements and webhooks."""

from __future__ import annotations

from django import forms as django_forms
from django.conf import settings
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.notifications import services, webhooks
from capeval_server.notifications.models import Delivery, Webhook
from capeval_server.web.hosting import forms
from capeval_server.web.hosting.common import (
    PAGE,
    add_success_message,
    errors_in_form,
    for_organizers,
    form_status,
    show,
)

__all__ = ["add_webhook", "notices", "remove_webhook", "take_back"]


@for_organizers
def notices(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List announcements and webhooks, and publish an announcement."""
    form = forms.AnnouncementForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        with errors_in_form(form):
            services.announce(get_user(request), challenge, given["title"], given["text"])
            is_draft = challenge.visibility == Challenge.Visibility.DRAFT
            mailed = "It is not mailed, because the challenge is a draft."
            mailed = mailed if is_draft else "It will be mailed to participants."
            add_success_message(request, f"Published the announcement. {mailed}")
            return redirect("organizer_notices", challenge.slug)
    return _show(request, challenge, form, forms.WebhookForm())


def _show(
    request: HttpRequest,
    challenge: Challenge,
    form: django_forms.Form,
    hook_form: django_forms.Form,
    made: Webhook | None = None,
) -> HttpResponse:
    latest = Prefetch("deliveries", Delivery.objects.order_by("-pk")[:5], to_attr="latest")
    return show(
        request,
        challenge,
        "notices",
        tab="notices",
        form=form,
        hook_form=hook_form,
        made=made,
        announcements=challenge.announcements.order_by("-created", "-pk")[:PAGE],
        hooks=challenge.webhooks.prefetch_related(latest).order_by("pk"),
        hosts=settings.WEBHOOK_HOSTS,
        status=form_status(form, hook_form),
    )


@for_organizers
@require_POST
def take_back(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Remove an announcement."""
    services.delete_announcement(get_user(request), get_object_or_404(challenge.announcements, pk=pk))
    add_success_message(
        request, "Removed the announcement. Emails that were already sent cannot be recalled."
    )
    return redirect("organizer_notices", challenge.slug)


@for_organizers
@require_POST
def add_webhook(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Add a webhook, and show its secret once."""
    form, made = forms.WebhookForm(request.POST), None
    if form.is_valid():
        with errors_in_form(form, "url"):
            made = webhooks.add(get_user(request), challenge, form.cleaned_data["url"])
            form = forms.WebhookForm()
    return _show(request, challenge, forms.AnnouncementForm(), form, made)


@for_organizers
@require_POST
def remove_webhook(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Remove a webhook."""
    webhooks.remove(get_user(request), get_object_or_404(challenge.webhooks, pk=pk), challenge)
    add_success_message(request, "Removed the webhook.")
    return redirect("organizer_notices", challenge.slug)
