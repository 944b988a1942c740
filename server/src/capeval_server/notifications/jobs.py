"""Recurring jobs: waiting mail, notifications about phases, webhook deliveries."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.urls import reverse

from capeval_server.core.site_address import get_site_address
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job
from capeval_server.notifications.models import Mail
from capeval_server.notifications.services import notify_phases
from capeval_server.notifications.webhooks import deliver_due

__all__ = ["NoticesHandler", "WebhooksHandler", "send"]

_log = logging.getLogger(__name__)


@register
class NoticesHandler(Handler):
    """Handler of the job that sends mail and notifications about phases.

    While the mail server fails, the pause between attempts grows.
    """

    kind = "notices"
    every = timedelta(seconds=15)
    priority = 0
    waits_for_hosts = True

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Create notifications about phases, send mail, and schedule the next run."""
        notify_phases()
        try:
            send(renew)
        except OSError as error:
            _log.warning("mail can't be sent: %s", error)
            leases.postpone(job, self, str(error))
        else:
            leases.finish(job, again_after=self.every)


@register
class WebhooksHandler(Handler):
    """Handler of the job that posts deliveries to webhooks."""

    kind = "webhooks"
    every = timedelta(seconds=15)
    priority = 0
    waits_for_hosts = True

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Try some deliveries, and schedule the next run."""
        deliver_due(renew)
        leases.finish(job, again_after=self.every)


def send(renew: Callable[[], None] = lambda: None) -> int:
    """Send all waiting mail, and return the number of sent messages.

    Raises:
        OSError: The mail server fails; unsent mail still waits.
    """
    sent = 0
    waiting = list(Mail.objects.order_by("pk").values_list("pk", flat=True))
    if not waiting:
        return 0
    with get_connection() as connection:
        for pk in waiting:
            renew()
            mail = Mail.objects.select_related("user").filter(pk=pk).first()
            if mail is not None:
                sent += _send_mail(mail, connection)
                # Deleted after sending: receiving a mail twice is better than never.
                mail.delete()
    return sent


def _build_message(mail: Mail, address: str, connection: Any) -> EmailMessage:
    place = get_site_address() + reverse("notices")
    return EmailMessage(
        subject=f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{' '.join(mail.subject.split())}",
        body=f"{mail.text}\n\n--\nMail settings: {place}\n",
        to=[address],
        headers={"List-Unsubscribe": f"<{place}>"},
        connection=connection,
    )


def _send_mail(mail: Mail, connection: Any) -> bool:
    address = EmailAddress.objects.filter(user=mail.user, primary=True, verified=True).first()
    if address is None:
        return False
    try:
        _build_message(mail, address.email, connection).send()
    except smtplib.SMTPRecipientsRefused:
        # Addresses must not be in logs.
        _log.warning("a mail was not sent: the mail server rejects its address")
        return False
    return True
