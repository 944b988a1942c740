"""Webhooks: signed POST requests with the events of a challenge, or the alerts of a campaign.

Users who can enter a URL must not reach hosts that only the server can reach: hosts are listed in the
settings, and their addresses must be public. The connection itself uses the checked address.
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
from django.db.models import QuerySet
from django.utils import timezone

from capeval_server.audit.models import record
from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ChallengeError
from capeval_server.http import safe_client
from capeval_server.http.safe_client import HostUnreachableError
from capeval_server.notifications.models import Delivery, Webhook

__all__ = ["add", "deliver", "deliver_due", "list_webhooks", "remove", "signature"]

_log = logging.getLogger(__name__)
# Maximum number of webhooks of a challenge.
_MOST = 10
# Maximum duration of an attempt in seconds; maximum number of attempts; first pause, which doubles each time.
_SECONDS, _ATTEMPTS, _PAUSE = 10.0, 8, timedelta(minutes=1)
# Maximum number of deliveries in a run: mail waits in the meantime.
_AT_ONCE = 5
# How long deliveries are kept for organizers.
_KEPT = timedelta(days=30)


def deliver_due(renew: Callable[[], None]) -> None:
    """Try deliveries that are due, and delete old finished ones."""
    Delivery.objects.filter(due=None, created__lt=timezone.now() - _KEPT).delete()
    due = Delivery.objects.select_related("webhook").filter(due__lte=timezone.now())
    for delivery in due.order_by("due", "pk")[:_AT_ONCE]:
        renew()
        deliver(delivery)


def list_webhooks(challenge: Challenge | None, campaign: str = "") -> QuerySet[Webhook]:
    """Return the webhooks of a challenge, or those of a campaign by its name, oldest first."""
    own = (
        Webhook.objects.filter(campaign=campaign) if campaign else Webhook.objects.filter(challenge=challenge)
    )
    return own.order_by("pk")


def add(user: User | None, challenge: Challenge | None, url: str, *, campaign: str = "") -> Webhook:
    """Add a webhook; its secret is shown once.

    Args:
        user: The organizer or manager; None for the command line.
        challenge: The challenge; None for a campaign without one.
        url: The URL.
        campaign: The name of the campaign, for a webhook that receives only its alerts.

    Raises:
        ChallengeError: The settings don't allow the host, the URL already exists, or there are too many
            webhooks.
    """
    if problem := _find_url_problem(url):
        raise ChallengeError(problem)
    with transaction.atomic():
        owner = "campaign" if campaign else "challenge"
        if list_webhooks(challenge, campaign).count() >= _MOST:
            raise ChallengeError(f"a {owner} may have at most {_MOST} webhooks: remove one first")
        try:
            with transaction.atomic():
                of = None if campaign else challenge
                made = Webhook.objects.create(challenge=of, campaign=campaign, url=url)
        except IntegrityError:
            raise ChallengeError(f"the {owner} already has a webhook with the 'url' {url!r}") from None
        record(user, challenge, f"added the webhook {url}{_describe_owner(made)}")
    return made


def remove(user: User | None, webhook: Webhook, challenge: Challenge | None) -> None:
    """Remove a webhook, with its pending deliveries.

    Args:
        user: The organizer or manager; None for the command line.
        webhook: The webhook.
        challenge: The challenge of the webhook or of its campaign, if any.
    """
    with transaction.atomic():
        record(user, challenge, f"removed the webhook {webhook.url}{_describe_owner(webhook)}")
        webhook.delete()


def _describe_owner(webhook: Webhook) -> str:
    return f" of the campaign {webhook.campaign}" if webhook.campaign else ""


def _find_url_problem(url: str) -> str:
    """Return the reason why a URL can't be a webhook's, or ""."""
    if not safe_link(url) or len(url) > 500:
        return f"'url' must be an address with http:// or https:// (got {url[:100]!r})"
    problem = safe_client.find_url_problem(url, settings.WEBHOOK_HOSTS)
    return f"'url' {problem} (got {url[:100]!r})" if problem else ""


def signature(secret: str, at: int, body: str) -> str:
    """Return the signature of a body: HMAC-SHA256 of its time, a dot, and the body."""
    return hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()


def deliver(delivery: Delivery) -> None:
    """Try to deliver an event, and store the outcome."""
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
    """Post a delivery, and return the status of the response. Its body is not read.

    Raises:
        OSError: The request can't be sent, or there is no response in time.
    """
    url = delivery.webhook.url
    # The settings may have changed since the webhook was added.
    if problem := _find_url_problem(url):
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
    connection = safe_client.open_connection(url, _SECONDS)
    try:
        connection.request("POST", safe_client.target_of(url), delivery.body.encode(), headers)
        return _read_status(connection.sock, deadline)
    finally:
        connection.close()


def _read_status(connected: socket.socket, deadline: float) -> int:
    """Read the status line of a response.

    The deadline also applies to hosts that send it byte by byte.
    """
    data = b""
    while b"\n" not in data and len(data) < 1000:
        left = deadline - time.monotonic()
        if left <= 0:
            raise HostUnreachableError(f"no response within {_SECONDS:g} s")
        connected.settimeout(left)
        received = connected.recv(1000)
        if not received:
            break
        data += received
    words = data.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        raise HostUnreachableError("the response is not HTTP")
    return int(words[1])
