"""Webhooks: what happens in a challenge is posted, signed, to hosts that the server's settings allow.

Who can enter an address here must not reach what only the server can: hosts are listed in the settings, and
their addresses must be public. They are checked of the very address that is then connected to.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from capeval.errors import CapevalError
from capeval_server.challenges.links import safe_link
from capeval_server.challenges.models import Challenge
from capeval_server.errors import ChallengeError
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler
from capeval_server.jobs.models import Job
from capeval_server.notices.models import Delivery, Webhook
from capeval_server.organising.models import record

__all__ = ["WebhooksHandler", "add", "deliver", "remove", "signature"]

_log = logging.getLogger(__name__)
# How many webhooks a challenge may have.
_MOST = 10
# For how many seconds an attempt may last; and how often one is tried, the pause doubling from a minute.
_SECONDS, _ATTEMPTS, _PAUSE = 10.0, 8, timedelta(minutes=1)
# How many are tried in a run: mail waits meanwhile.
_AT_ONCE = 5
# How long deliveries are kept for organisers to look at.
_KEPT = timedelta(days=30)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class DeliveryError(CapevalError, OSError):
    """A webhook can't be reached, or doesn't take what it is told."""


class WebhooksHandler(Handler):
    """Tells webhooks what waits to be told."""

    kind = "webhooks"
    every = timedelta(seconds=15)
    priority = 0
    beside = True

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Tries some deliveries, and has the job wait for the next time."""
        Delivery.objects.filter(due=None, created__lt=timezone.now() - _KEPT).delete()
        due = Delivery.objects.select_related("webhook").filter(due__lte=timezone.now())
        for delivery in due.order_by("due", "pk")[:_AT_ONCE]:
            renew()
            deliver(delivery)
        leases.finish(job, again_after=self.every)


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
    try:
        port = urlsplit(url).port
    except ValueError:
        return f"'url' must have a port that is a number (got {url[:100]!r})"
    host = urlsplit(url).hostname or ""
    if (host if port is None else f"{host}:{port}") not in settings.WEBHOOK_HOSTS:
        allowed = ", ".join(settings.WEBHOOK_HOSTS) or "none"
        return f"'url' must be of a host that the server's settings allow: {allowed} (got {url[:100]!r})"
    return ""


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
        raise DeliveryError(problem)
    parts, at = urlsplit(url), int(time.time())
    deadline = time.monotonic() + _SECONDS
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "capeval",
        "X-Capeval-Event": delivery.event,
        "X-Capeval-Delivery": str(delivery.pk),
        "X-Capeval-Signature": f"t={at},sha256={signature(delivery.webhook.secret, at, delivery.body)}",
        "Connection": "close",
    }
    kind = _TLS if parts.scheme == "https" else _Plain
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, delivery.body.encode(), headers)
        return _status(connection.sock, deadline)
    finally:
        connection.close()


class _Plain(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = _connected(self.host, self.port)


class _TLS(http.client.HTTPSConnection):
    def connect(self) -> None:
        plain = _connected(self.host, self.port)
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)


def _connected(host: str, port: int) -> socket.socket:
    """A connection to a host whose addresses are all public.

    Raises:
        OSError: One is not, or it can't be reached.
    """
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(place[0]) for *_, place in places))
    for address in found:
        if not _is_public(address):
            raise DeliveryError(f"{host} must have public addresses alone (got {address})")
    for address in found[:-1]:
        # One of the two kinds of addresses may not be reached from here.
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=_SECONDS)
    return socket.create_connection((found[-1], port), timeout=_SECONDS)


def _is_public(address: str) -> bool:
    """Whether everybody can reach an address; also of one within another one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    within = None
    if isinstance(ip, ipaddress.IPv6Address):
        within = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if ip in _NAT64:
            within = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return all(one.is_global and not one.is_multicast for one in (ip, within) if one is not None)


def _status(connected: socket.socket, deadline: float) -> int:
    """The status in the first line of an answer. Who sends it byte by byte has no more time for it."""
    data = b""
    while b"\n" not in data and len(data) < 1000:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeliveryError(f"there was no answer within {_SECONDS:g} s")
        connected.settimeout(left)
        received = connected.recv(1000)
        if not received:
            break
        data += received
    words = data.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        raise DeliveryError("the answer must be HTTP (got something else)")
    return int(words[1])
