"""The robots of the demo: they work on its campaigns by the API, as other workers' programs do.

They see more than a program is shown: which image a card stands for, by the database. They leave a part of
each campaign to people, wait where there is nothing for them, and end with the demo.
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

from capeval.formats.io.json import json_bytes
from capeval.toolkit.random import python_random
from capeval_server.accounts.models import Token
from capeval_server.annotation.models import Assignment, Campaign, Participation, Slot
from capeval_server.annotation.task_types import task_named
from examples.demo_server.campaigns import CARELESS, DEMOS, ROBOTS, image_of
from examples.demo_server.material import load_captions
from examples.demo_server.opinions import Seen, careless_answer, opinion

__all__ = ["SHARE", "Ask", "Brief", "Program", "RefusedError", "Robot", "brief", "run"]

_TOKEN = "robots of the demo"  # noqa: S105 - a token's name.
SHARE = 0.8
"""Of so many of a campaign's answers robots begin no more: the rest is for people."""

# How many seconds a robot looks at an item, how much that varies, and how much of it a careless one looks.
_SECONDS, _VARIES, _CARELESS = 6.0, 0.4, 0.5
# How long a robot asks for nothing where there was nothing for it, and where the server did not answer.
_REST, _PAUSE = 60.0, 10.0
_SKIPPED = 0.04
_REASON = "It is what people wrote of this image."
_TIMEOUT = 60


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What the robots have to know.

    Attributes:
        host: Where the server listens.
        port: Its port.
        captions: The file of what people wrote of the images.
        tokens: A token of each robot, by its name.
        seconds: How long a robot looks at an item.
    """

    host: str
    port: int
    captions: str
    tokens: Mapping[str, str]
    seconds: float = _SECONDS

    def tell(self, process: IO[bytes]) -> None:
        """Tells the robots, who end when this pipe does."""
        process.write(json_bytes(asdict(self)))
        process.flush()


def brief(host: str, port: int, captions: Path) -> Brief:
    """What robots need for a new start: with new tokens, in place of those of the last one."""
    Token.objects.filter(name=_TOKEN, user__username__in=ROBOTS).delete()
    users = User.objects.filter(username__in=ROBOTS)
    tokens = {user.username: Token.issue(user.pk, _TOKEN, Token.Scope.SUBMIT) for user in users}
    # A server that listens everywhere is also here.
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - it is compared.
    return Brief(host=here, port=port, captions=str(captions), tokens=tokens)


# Asks the API: with a method, a place and what is sent, if something is.
Ask = Callable[[str, str, Mapping[str, Any] | None], Any]


class RefusedError(Exception):
    """The server answered that something can't be done."""


class Program:
    """A program that asks the API with a robot's token, at the address where the server listens."""

    def __init__(self, told: Brief, name: str) -> None:
        self._host, self._port = told.host, told.port
        address = urlsplit(settings.ADDRESS)
        # As a proxy would hand it on, where the site's address is another than the one to listen at.
        proxied = {"Host": address.netloc, "X-Forwarded-Proto": address.scheme}
        bearer = {"Authorization": f"Bearer {told.tokens[name]}", "Content-Type": "application/json"}
        self._headers = {**proxied, **bearer}

    def __call__(self, method: str, place: str, content: Mapping[str, Any] | None = None) -> Any:
        """What the API answers.

        Raises:
            RefusedError: It refuses.
            OSError: The server does not answer.
            http.client.HTTPException: It does not answer by HTTP, or fails.
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
    """One robot: it takes the items of one campaign, answers one after the other, and goes to another one.

    Args:
        name: Its name.
        program: Asks the API as this robot.
        captions: What people wrote of the images, by the images' ids.
        seconds: How long it looks at an item.
        seed: What its draws follow from; the time by default, as the same draws again would skip the same
            items at each start.
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
        self._rng = python_random(time.time_ns() if seed is None else seed, name)
        self._place = ""
        self._kind = ""
        self._training = False
        self._items: list[dict[str, Any]] = []
        self._began = 0.0
        # When a campaign may have something again, and the texts that were agreed to, by campaign.
        self._resting: dict[str, float] = {}
        self._agreed: dict[str, int] = {}

    def step(self) -> float:
        """Answers what it has looked at, and begins with the next; says how many seconds that takes."""
        try:
            if self._items:
                self._answer(self._items.pop(0))
            if not self._items:
                self._take()
        except RefusedError:
            # By a person, who may block, pause and close; what is lost is the item, and not the robot.
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

    def _take(self) -> None:
        """Takes a batch of a campaign that is not far enough."""
        found = self._behind()
        if not found:
            return
        self._place, self._kind = self._rng.choice(found)
        self._enter()
        batch = self._ask("POST", "next", {})
        self._items, self._training = batch["items"], batch["training"]
        if not self._items:
            self._rest()

    def _behind(self) -> list[tuple[str, str]]:
        """The names and kinds of the campaigns that are not far enough."""
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
        """Agrees to the texts, at each start and when they change; goes on from a try of the training."""
        entered = self._ask("GET", "")
        texts = entered["texts"]["number"]
        if self._agreed.get(self._place) != texts:
            entered = self._ask("POST", "agree", {"texts": texts})
        self._agreed[self._place] = texts
        if entered["stage"] == Participation.Stage.TRAINING and entered["answered"]:
            self._go_on()

    def _go_on(self) -> None:
        try:
            self._ask("POST", "training", {})
        except RefusedError:
            # The try is not at its end.
            return

    def _answer(self, item: Mapping[str, Any]) -> None:
        lease = item["lease"]
        # What is skipped in the training is not right, and may be one too many.
        if not self._training and self._rng.random() < _SKIPPED:
            self._ask("POST", f"items/{lease}/skip", {"reason": "the robot skips one now and then"})
            return
        answer, reasons = self._chosen(item), {}
        if task_named(self._kind).written:
            findings = self._ask("POST", f"items/{lease}/check", answer)["findings"]
            if any(finding["level"] == "block" for finding in findings):
                self._ask("POST", f"items/{lease}/skip", {"reason": "a rule blocks what people wrote of it"})
                return
            reasons = {finding["rule"]: _REASON for finding in findings if finding["level"] == "confirm"}
        seconds = round(time.monotonic() - self._began, 1)
        sent = {"answer": answer, "key": lease, "events": {"seconds": seconds}, "reasons": reasons}
        self._ask("POST", f"items/{lease}/answer", sent)

    def _chosen(self, item: Mapping[str, Any]) -> dict[str, str]:
        row = Assignment.objects.select_related("item__image").get(lease=item["lease"]).item
        captions = self._captions[image_of(row.image.name)] if row.image else []
        if task_named(self._kind).written:
            return {"caption": self._written(captions)}
        if self.name == CARELESS:
            return careless_answer(self._kind)
        return opinion(self._kind, Seen(shown=item["shown"], captions=captions, rng=self._rng))

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        return self._program(method, f"/api/annotate/{self._place}{path and '/'}{path}", content)

    def _written(self, captions: Sequence[str]) -> str:
        """A caption that a person wrote; each robot has another one. One writes what is of another image."""
        if self.name == CARELESS:
            return self._rng.choice(self._captions[self._rng.choice(list(self._captions))])
        return captions[ROBOTS.index(self.name) % len(captions)]


def run() -> None:
    """Has the robots work until their input, which tells them what they have to know, ends."""
    line = sys.stdin.readline()
    if not line:
        return
    told = Brief(**json.loads(line))
    captions = load_captions(Path(told.captions))
    robots = [Robot(name, Program(told, name), captions, told.seconds) for name in told.tokens]
    now = time.monotonic()
    # Not all at once.
    due = [(now + place, place) for place in range(len(robots))]
    heapq.heapify(due)
    while due:
        at, place = heapq.heappop(due)
        if _ended(at - time.monotonic()):
            return
        close_old_connections()
        heapq.heappush(due, (time.monotonic() + robots[place].step(), place))


def _ended(seconds: float) -> bool:
    """Waits; says whether the input has ended, with whoever started the robots."""
    readable, _, _ = select.select([sys.stdin], [], [], max(seconds, 0))
    return bool(readable) and not os.read(sys.stdin.fileno(), 1)
