"""Announcements, outgoing mail, preferences, webhooks and their deliveries."""

from __future__ import annotations

import secrets
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.submissions.models import Submission

__all__ = ["Announcement", "CampaignTold", "Delivery", "Mail", "PhaseTold", "Preferences", "Told", "Webhook"]


class Announcement(models.Model):
    """Announcement of an organizer to all participants of a challenge."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    # Markdown.
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.title


class Preferences(models.Model):
    """A user's preferences for mail; users without a row get all mail."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preferences"
    )
    submissions = models.BooleanField(default=True)
    phases = models.BooleanField(default=True)
    announcements = models.BooleanField(default=True)
    campaigns = models.BooleanField(default=True)


class Mail(models.Model):
    """Outgoing mail; deleted after it is sent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=300)
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)


class Told(models.Model):
    """Last outcome of a submission that was notified, to avoid duplicates."""

    submission = models.OneToOneField(
        Submission, on_delete=models.CASCADE, primary_key=True, related_name="told"
    )
    state = models.CharField(max_length=10)


class PhaseTold(models.Model):
    """Sent notification that a phase opened or is about to close at a time."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=20)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["phase", "what", "time"], name="phase_told_once")]


class CampaignTold(models.Model):
    """Last condition of a campaign that was notified, to avoid duplicates."""

    # The campaign's name, which never changes; campaigns are defined by a higher layer.
    slug = models.CharField(max_length=50, primary_key=True)
    # Empty while there is nothing to notify.
    condition = models.CharField(max_length=20)


class Webhook(models.Model):
    """URL that receives the events of a challenge, or the alerts of one campaign."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, null=True, related_name="webhooks")
    # The name of the campaign, which never changes; empty for a webhook of a challenge.
    campaign = models.CharField(max_length=50, blank=True, default="")
    url = models.CharField(max_length=500)
    # Stored in plain text, because it signs each delivery; shown once.
    secret = models.CharField(max_length=64, default=partial(secrets.token_urlsafe, 32))
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["challenge", "url"], name="webhook_once"),
            models.UniqueConstraint(
                fields=["campaign", "url"], condition=~models.Q(campaign=""), name="campaign_webhook_once"
            ),
        ]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """Event for a webhook; retried until it is accepted or given up."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=50)
    body = models.TextField()
    created = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    # Time of the next attempt; None after it was accepted or given up.
    due = models.DateTimeField(null=True, default=timezone.now)
    # Outcome of the last attempt: the HTTP status, or the error.
    outcome = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due"], name="delivery_due")]
