"""Webhooks: what happens in a challenge is posted, signed, to hosts that the server's settings allow.

Who can enter an address here must not reach what only the server can: hosts are listed in the settings, and
their addresses must be public. They are checked of the very address that is then connected to.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import logging
import socket
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from capeval_server.audit.models import record
from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ChallengeError
from capeval_server.http import safe_client
from capeval_server.http.safe_client import HostUnreachableError
from capeval_server.notifications.models import Delivery, Webhook

__all__ = ["add", "deliver", "deliver_due", "remove", "signature"]

_log = logging.getLogger(__name__)
# How many webhooks a challenge may have.
_MOST = 10
# For how many seconds an attempt may last; and how often one is tried, the pause doubling from a minute.
_SECONDS, _ATTEMPTS, _PAUSE = 10.0, 8, timedelta(minutes=1)
# How many are tried in a run: mail waits meanwhile.
_AT_ONCE = 5
# How long deliveries are kept for organizers to look at.
_KEPT = timedelta(days=30)


def deliver_due(renew: Callable[[], None]) -> None:
    """Try deliveries that are due, and delete old ones that are not due any more."""
    Delivery.objects.filter(due=None, created__lt=timezone.now() - _KEPT).delete()
    due = Delivery.objects.select_related("webhook").filter(due__lte=timezone.now())
    for delivery in due.order_by("due", "pk")[:_AT_ONCE]:
        renew()
        deliver(delivery)


def add(user: User, challenge: Challenge, url: str) -> Webhook:
    """Adds a webhook; its secret is shown once.

    Raises:
        ChallengeError: The address is of a host that the settings don't allow, or is there already.
    """
    if problem := _problem_of(url):
        raise ChallengeError(problem)
    with transaction.atomic():
        if challenge.webhooks.count() >= _MOST:
            raise ChallengeError(f"a challenge may have {_MOST} webhooks")
        try:
            with transaction.atomic():
                made = Webhook.objects.create(challenge=challenge, url=url)
        except IntegrityError:
            raise ChallengeError(f"'url' must be new in the challenge (got {url!r})") from None
        record(user, challenge, f"added the webhook {url}")
    return made


def remove(user: User, webhook: Webhook) -> None:
    """Removes a webhook, with what it was not told yet."""
    with transaction.atomic():
        record(user, webhook.challenge, f"removed the webhook {webhook.url}")
        webhook.delete()


def _problem_of(url: str) -> str:
    """Why an address can't be a webhook's; empty if it can."""
    if not safe_link(url) or len(url) > 500:
        return f"'url' must be an address with http:// or https:// (got {url[:100]!r})"
    problem = safe_client.problem_of(url, settings.WEBHOOK_HOSTS)
    return f"'url' {problem} (got {url[:100]!r})" if problem else ""


def signature(secret: str, at: int, body: str) -> str:
    """What proves that a body comes from this server: of its time, a dot, and the body."""
    return hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()


def deliver(delivery: Delivery) -> None:
    """Tries to tell a webhook something, and notes what came of it."""
    delivery.attempts += 1
    try:
        status = _post(delivery)
        taken = 200 <= status < 300
        delivery.outcome = f"status {status}"
    except (OSError, http.client.HTTPException) as error:
        taken = False
        delivery.outcome = (str(error) or type(error).__name__)[:300]
    if taken or delivery.attempts >= _ATTEMPTS:
        delivery.due = None
    else:
        delivery.due = timezone.now() + _PAUSE * 2 ** (delivery.attempts - 1)
    delivery.save(update_fields=["attempts", "due", "outcome"])
    _log.info("webhook, delivery %d, attempt %d: %s", delivery.pk, delivery.attempts, delivery.outcome)


def _post(delivery: Delivery) -> int:
    """Posts a delivery; returns the status of the answer, of which no more is read.

    Raises:
        OSError: It can't be sent, or there is no answer in time.
    """
    url = delivery.webhook.url
    # The settings may have changed since the webhook was added.
    if problem := _problem_of(url):
        raise HostUnreachableError(problem)
    at = int(time.time())
    deadline = time.monotonic() + _SECONDS
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "capeval",
        "X-Capeval-Event": delivery.event,
        "X-Capeval-Delivery": str(delivery.pk),
        "X-Capeval-Signature": f"t={at},sha256={signature(delivery.webhook.secret, at, delivery.body)}",
        "Connection": "close",
    }
    connection = safe_client.opened(url, _SECONDS)
    try:
        connection.request("POST", safe_client.target_of(url), delivery.body.encode(), headers)
        return _status(connection.sock, deadline)
    finally:
        connection.close()


def _status(connected: socket.socket, deadline: float) -> int:
    """The status in the first line of an answer. Who sends it byte by byte has no more time for it."""
    data = b""
    while b"\n" not in data and len(data) < 1000:
        left = deadline - time.monotonic()
        if left <= 0:
            raise HostUnreachableError(f"there was no answer within {_SECONDS:g} s")
        connected.settimeout(left)
        received = connected.recv(1000)
        if not received:
            break
        data += received
    words = data.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        raise HostUnreachableError("the answer must be HTTP (got something else)")
    return int(words[1])
