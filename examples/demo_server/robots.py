"""Robots that work on the demo's campaigns through the API.

Unlike other programs, they read the image of a card from the database. They leave a share of each campaign to
humans, wait if there is no item for them, and end with the demo.
"""

from __future__ import annotations

import heapq
import http.client
import json
import os
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error, close_old_connections
from django.db.models import Count

from capeval.formats.io.json import to_json_bytes
from capeval.toolkit.random import make_python_random
from capeval_server.accounts.models import Token
from capeval_server.annotation.models import Assignment, Campaign, Participation, Slot
from capeval_server.annotation.task_types import task_named
from examples.demo_server.campaigns import CARELESS, DEMOS, ROBOTS, get_image_id
from examples.demo_server.material import load_captions
from examples.demo_server.opinions import SeenItem, make_answer, make_careless_answer

__all__ = ["SHARE", "Ask", "Brief", "Program", "RefusedError", "Robot", "make_brief", "run"]

_TOKEN = "robots of the demo"  # noqa: S105 - a token's name.
SHARE = 0.8
"""Share of a campaign's answers after which robots request no more items; the rest is for humans."""

# Seconds per item, relative variation of this time, and share of it that a careless robot uses.
_SECONDS, _VARIES, _CARELESS = 6.0, 0.4, 0.5
# Seconds without requests after a campaign had no item, and after the server did not answer.
_REST, _PAUSE = 60.0, 10.0
_SKIPPED = 0.04
_REASON = "This is a human caption of this image."
_TIMEOUT = 60


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Parameters of the robots' process.

    Attributes:
        host: Host on which the server listens.
        port: Port of the server.
        captions: Path of the file with human captions of the images.
        tokens: API token of each robot, by name.
        seconds: Seconds that a robot spends on an item.
    """

    host: str
    port: int
    captions: str
    tokens: Mapping[str, str]
    seconds: float = _SECONDS

    def tell(self, process: IO[bytes]) -> None:
        """Send the brief to the robots' process, which ends when this pipe is closed."""
        process.write(to_json_bytes(asdict(self)))
        process.flush()


def make_brief(host: str, port: int, captions: Path) -> Brief:
    """Return the brief for a new start, and replace the tokens of the previous start."""
    Token.objects.filter(name=_TOKEN, user__username__in=ROBOTS).delete()
    users = User.objects.filter(username__in=ROBOTS)
    tokens = {user.username: Token.issue(user.pk, _TOKEN, Token.Scope.SUBMIT) for user in users}
    # A server that listens on all addresses is reachable on the loopback address.
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - it is compared.
    return Brief(host=here, port=port, captions=str(captions), tokens=tokens)


# Sends an API request: method, path and optional content; returns the content of the answer.
Ask = Callable[[str, str, Mapping[str, Any] | None], Any]


class RefusedError(Exception):
    """The server rejected a request with a status from 400 to 499."""


class Program:
    """API client with a robot's token, connected directly to the server."""

    def __init__(self, told: Brief, name: str) -> None:
        self._host, self._port = told.host, told.port
        address = urlsplit(settings.ADDRESS)
        # Headers as set by a proxy, because the address of the site may differ from the listening address.
        proxied = {"Host": address.netloc, "X-Forwarded-Proto": address.scheme}
        bearer = {"Authorization": f"Bearer {told.tokens[name]}", "Content-Type": "application/json"}
        self._headers = {**proxied, **bearer}

    def __call__(self, method: str, place: str, content: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return the content of the answer.

        Raises:
            RefusedError: The server rejects the request.
            OSError: The server does not answer.
            http.client.HTTPException: The server fails, or does not answer with HTTP.
        """
        body = None if content is None else json.dumps(content)
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        try:
            connection.request(method, place, body, self._headers)
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        if 400 <= answer.status < 500:
            raise RefusedError(f"{method} {place}: {answer.status} {said.decode(errors='replace')}")
        if answer.status >= 300:
            raise http.client.HTTPException(f"{method} {place}: {answer.status}")
        return json.loads(said)


class Robot:
    """A robot, which answers a batch of one campaign, then chooses a campaign again.

    Args:
        name: Name of the robot.
        program: Sends API requests as this robot.
        captions: Human captions by image id.
        seconds: Seconds per item.
        seed: Seed of the robot's random choices. Defaults to the time, because a fixed seed would skip the
            same items after each start.
    """

    def __init__(
        self,
        name: str,
        program: Ask,
        captions: Mapping[str, Sequence[str]],
        seconds: float = _SECONDS,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self._program, self._captions, self._seconds = program, captions, seconds
        self._rng = make_python_random(time.time_ns() if seed is None else seed, name)
        self._place = ""
        self._kind = ""
        self._training = False
        self._items: list[dict[str, Any]] = []
        self._began = 0.0
        # By campaign: the time until which the robot does not request items, and the accepted version of the
        # texts.
        self._resting: dict[str, float] = {}
        self._agreed: dict[str, int] = {}

    def step(self) -> float:
        """Answer the current item and start the next; return the seconds to wait."""
        try:
            if self._items:
                self._answer(self._items.pop(0))
            if not self._items:
                self._request_batch()
        except RefusedError:
            # An organizer may have blocked the robot, or paused or closed the campaign.
            self._rest()
        except (OSError, http.client.HTTPException, Error):
            return _PAUSE
        self._began = time.monotonic()
        if not self._items:
            return _PAUSE
        share = _CARELESS if self.name == CARELESS else 1.0
        return self._seconds * share * self._rng.uniform(1 - _VARIES, 1 + _VARIES)

    def _rest(self) -> None:
        self._resting[self._place] = time.monotonic() + _REST
        self._items = []

    def _request_batch(self) -> None:
        """Request a batch of a campaign with open work for robots."""
        found = self._list_open_campaigns()
        if not found:
            return
        self._place, self._kind = self._rng.choice(found)
        self._enter()
        batch = self._ask("POST", "next", {})
        self._items, self._training = batch["items"], batch["training"]
        if not self._items:
            self._rest()

    def _list_open_campaigns(self) -> list[tuple[str, str]]:
        """Return slug and task type of the campaigns with open work for robots."""
        slugs = [demo.slug for demo in DEMOS]
        opened = Campaign.objects.filter(slug__in=slugs, state=Campaign.State.OPEN)
        slots = Slot.objects.filter(item__campaign__in=opened, closed=False).order_by()
        rows = slots.values_list("item__campaign__slug", "item__campaign__kind").annotate(
            counted=Count("filled_by"), wanted=Count("pk")
        )
        now = time.monotonic()
        return [
            (slug, kind)
            for slug, kind, counted, wanted in rows
            if counted < SHARE * wanted and self._resting.get(slug, 0) < now
        ]

    def _enter(self) -> None:
        """Agree to new or changed texts, and continue after a completed training attempt."""
        entered = self._ask("GET", "")
        texts = entered["texts"]["number"]
        if self._agreed.get(self._place) != texts:
            entered = self._ask("POST", "agree", {"texts": texts})
        self._agreed[self._place] = texts
        if entered["stage"] == Participation.Stage.TRAINING and entered["answered"]:
            self._continue_training()

    def _continue_training(self) -> None:
        try:
            self._ask("POST", "training", {})
        except RefusedError:
            # The training attempt is not complete.
            return

    def _answer(self, item: Mapping[str, Any]) -> None:
        lease = item["lease"]
        # Never skips in the training, where a skipped item counts as wrong and can fail the attempt.
        if not self._training and self._rng.random() < _SKIPPED:
            self._ask("POST", f"items/{lease}/skip", {"reason": "the robot skips some items at random"})
            return
        answer, reasons = self._choose_answer(item), {}
        if task_named(self._kind).written:
            findings = self._ask("POST", f"items/{lease}/check", answer)["findings"]
            if any(finding["level"] == "block" for finding in findings):
                self._ask("POST", f"items/{lease}/skip", {"reason": "a text rule blocks the human caption"})
                return
            reasons = {finding["rule"]: _REASON for finding in findings if finding["level"] == "confirm"}
        seconds = round(time.monotonic() - self._began, 1)
        sent = {"answer": answer, "key": lease, "events": {"seconds": seconds}, "reasons": reasons}
        self._ask("POST", f"items/{lease}/answer", sent)

    def _choose_answer(self, item: Mapping[str, Any]) -> dict[str, str]:
        row = Assignment.objects.select_related("item__image").get(lease=item["lease"]).item
        captions = self._captions[get_image_id(row.image.name)] if row.image else []
        if task_named(self._kind).written:
            return {"caption": self._choose_caption(captions)}
        if self.name == CARELESS:
            return make_careless_answer(self._kind)
        return make_answer(self._kind, SeenItem(shown=item["shown"], captions=captions, rng=self._rng))

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        return self._program(method, f"/api/annotate/{self._place}{path and '/'}{path}", content)

    def _choose_caption(self, captions: Sequence[str]) -> str:
        """Return a human caption, of a random image for the careless robot.

        Each of the other robots uses a different caption of the image.
        """
        if self.name == CARELESS:
            return self._rng.choice(self._captions[self._rng.choice(list(self._captions))])
        return captions[ROBOTS.index(self.name) % len(captions)]


def run() -> None:
    """Run the robots until standard input, which provides their brief, is closed."""
    line = sys.stdin.readline()
    if not line:
        return
    told = Brief(**json.loads(line))
    captions = load_captions(Path(told.captions))
    robots = [Robot(name, Program(told, name), captions, told.seconds) for name in told.tokens]
    now = time.monotonic()
    # Starts the robots one second apart.
    due = [(now + place, place) for place in range(len(robots))]
    heapq.heapify(due)
    while due:
        at, place = heapq.heappop(due)
        if _wait_for_end(at - time.monotonic()):
            return
        close_old_connections()
        heapq.heappush(due, (time.monotonic() + robots[place].step(), place))


def _wait_for_end(seconds: float) -> bool:
    """Wait; return whether standard input was closed because the parent process ended."""
    readable, _, _ = select.select([sys.stdin], [], [], max(seconds, 0))
    return bool(readable) and not os.read(sys.stdin.fileno(), 1)
