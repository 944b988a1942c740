"""What is told to whom: announcements, mail that waits to be sent, webhooks and their deliveries."""

from __future__ import annotations

import secrets
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.submissions.models import Submission

__all__ = ["Announcement", "Delivery", "Mail", "PhaseTold", "Preferences", "Told", "Webhook"]


class Announcement(models.Model):
    """What an organizer tells all participants of a challenge."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    # Markdown.
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.title


class Preferences(models.Model):
    """What a user wants mail about; a user without a row wants all."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preferences"
    )
    submissions = models.BooleanField(default=True)
    phases = models.BooleanField(default=True)
    announcements = models.BooleanField(default=True)


class Mail(models.Model):
    """A mail that waits to be sent. It is deleted once it is sent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=300)
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)


class Told(models.Model):
    """The end of a submission that was told last: the same end again is no news."""

    submission = models.OneToOneField(
        Submission, on_delete=models.CASCADE, primary_key=True, related_name="told"
    )
    state = models.CharField(max_length=10)


class PhaseTold(models.Model):
    """That a phase opened or is about to close, at a time, was told."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=20)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["phase", "what", "time"], name="phase_told_once")]


class Webhook(models.Model):
    """An address that is told what happens in a challenge."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    # In plain text, since each delivery is signed with it; it is shown once.
    secret = models.CharField(max_length=64, default=partial(secrets.token_urlsafe, 32))
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "url"], name="webhook_once")]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One thing that a webhook is told; it is tried until it is taken, or given up."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=50)
    body = models.TextField()
    created = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    # When it is tried next; none once it is taken or given up.
    due = models.DateTimeField(null=True, default=timezone.now)
    # What the last attempt gave: a status, or why there was none.
    outcome = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due"], name="delivery_due")]
