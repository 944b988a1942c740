"""Jobs that recur every few seconds: mail that waits, phases that open and close, webhooks."""

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

from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job
from capeval_server.notifications.models import Mail
from capeval_server.notifications.services import tell_phases
from capeval_server.notifications.webhooks import deliver_due

__all__ = ["NoticesHandler", "WebhooksHandler", "send"]

_log = logging.getLogger(__name__)


@register
class NoticesHandler(Handler):
    """Sends what waits. While the mail server takes nothing, it is asked less and less often."""

    kind = "notices"
    every = timedelta(seconds=15)
    priority = 0
    waits_for_hosts = True

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Tells of phases, sends mail, and has the job wait for the next time."""
        tell_phases()
        try:
            send(renew)
        except OSError as error:
            _log.warning("mail can't be sent: %s", error)
            leases.postpone(job, self, str(error))
        else:
            leases.finish(job, again_after=self.every)


@register
class WebhooksHandler(Handler):
    """Posts to webhooks what waits for them."""

    kind = "webhooks"
    every = timedelta(seconds=15)
    priority = 0
    waits_for_hosts = True

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Tries some deliveries, and has the job wait for the next time."""
        deliver_due(renew)
        leases.finish(job, again_after=self.every)


def send(renew: Callable[[], None] = lambda: None) -> int:
    """Sends all mail that waits; returns how many.

    Raises:
        OSError: The mail server doesn't take it; what was not sent still waits.
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
                sent += _sent(mail, connection)
                # Only now: a mail that comes twice is better than none.
                mail.delete()
    return sent


def _message(mail: Mail, address: str, connection: Any) -> EmailMessage:
    place = settings.ADDRESS + reverse("notices")
    return EmailMessage(
        subject=f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{' '.join(mail.subject.split())}",
        body=f"{mail.text}\n\n--\nWhich mail you get: {place}\n",
        to=[address],
        headers={"List-Unsubscribe": f"<{place}>"},
        connection=connection,
    )


def _sent(mail: Mail, connection: Any) -> bool:
    address = EmailAddress.objects.filter(user=mail.user, primary=True, verified=True).first()
    if address is None:
        return False
    try:
        _message(mail, address.email, connection).send()
    except smtplib.SMTPRecipientsRefused:
        # Its address is not said, which logs are no place for.
        _log.warning("a mail is not sent, as the mail server doesn't take mail to its address")
        return False
    return True
