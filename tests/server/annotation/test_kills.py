"""Killed servers and stopped databases: acknowledged answers are stored exactly once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.annotation.test_processes import END
from tests.server.processes import Postgres, Server
from tests.waiting import PATIENCE, wait_until

MAKE = """
from capeval_server.annotation.workers import enrollment
from tests.server.campaigns import make
campaign = make("write", items=int(sys.argv[1]), answers=int(sys.argv[2]), batch=5)
print(campaign.slug, *enrollment.invite(None, campaign, int(sys.argv[3])))
"""


class Browser(threading.Thread):
    """A worker that sends each answer to any available server until it is acknowledged."""

    def __init__(self, server: Server, slug: str, token: str, stop: threading.Event) -> None:
        super().__init__()
        self.server, self.slug, self.token, self.stop = server, slug, token, stop
        self.acknowledged: list[str] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        with httpx.Client(timeout=PATIENCE, headers={"Authorization": f"Bearer {self.token}"}) as self.client:
            self._ask("POST", "agree", {"texts": 1})
            while items := self._ask("POST", "next", {})["items"]:
                for item in items:
                    key = item["lease"]
                    sent = {"answer": {"caption": "a cart in a street"}, "key": key}
                    self._ask("POST", f"items/{key}/answer", sent)
                    self.acknowledged.append(key)

    def _ask(self, method: str, path: str, content: dict[str, Any]) -> Any:
        while not self.stop.is_set():
            try:
                place = f"{self.server.address}/annotate/{self.slug}/{path}"
                answer = self.client.request(method, place, json=content)
            except httpx.TransportError:
                # Killed: try again where the server is by now.
                self.stop.wait(0.05)
                continue
            if answer.status_code == 503:
                self.stop.wait(0.05)
                continue
            if answer.status_code != 200:
                self.wrong.append(answer.text)
            return answer.json()
        return {"items": []}


@pytest.fixture
def server(tmp_path: Path, database: str | None) -> Iterator[Server]:
    made = Server(tmp_path, database)
    made.env["PYTHONPATH"] += f":{Path(__file__).parents[3]}"
    made.migrate()
    made.start()
    yield made
    made.stop()


def crowd_of(server: Server, items: int, answers: int, workers: int) -> tuple[str, list[Browser]]:
    slug, *tokens = server.python(MAKE, str(items), str(answers), str(workers)).split()
    stop = threading.Event()
    return slug, [Browser(server, slug, token, stop) for token in tokens]


def is_working(crowd: list[Browser]) -> bool:
    return any(browser.is_alive() for browser in crowd)


def number_of(crowd: list[Browser]) -> int:
    return sum(len(browser.acknowledged) for browser in crowd)


def wait_for_answers(server: Server, crowd: list[Browser], number: int) -> None:
    """Wait until `number` answers are acknowledged or no worker is left."""
    wait_until(lambda: number_of(crowd) >= number or not is_working(crowd), lambda: server.log)


def finish(server: Server, slug: str, crowd: list[Browser], wanted: int) -> None:
    # Thousands of answers may be left: each is waited for.
    while is_working(crowd):
        wait_for_answers(server, crowd, number_of(crowd) + 1)
    assert [browser.wrong for browser in crowd] == [[] for _ in crowd]
    acknowledged = [key for browser in crowd for key in browser.acknowledged]
    assert len(acknowledged) == len(set(acknowledged)) == wanted
    assert server.python(END, json.dumps(acknowledged[:1000]), slug).split() == [str(wanted)]


def kill_often(server: Server, kills: int) -> None:
    slug, crowd = crowd_of(server, items=3 * kills, answers=2, workers=4)
    rng = random.Random(1)
    for browser in crowd:
        browser.start()
    done = 0
    for _ in range(kills):
        # Once some more are acknowledged, at some point of some other request.
        done += rng.randrange(1, 6)
        wait_for_answers(server, crowd, done)
        server.kill_server()
        server.start()
    finish(server, slug, crowd, wanted=2 * 3 * kills)


def test_a_server_is_killed_while_they_answer(server: Server) -> None:
    kill_often(server, kills=4)


@pytest.mark.conformance
def test_a_server_is_killed_a_thousand_times(server: Server) -> None:
    kill_often(server, kills=1000)


def test_the_database_stops_while_they_answer(tmp_path: Path, postgres: Postgres) -> None:
    server = Server(tmp_path, postgres.new_database())
    server.env["PYTHONPATH"] += f":{Path(__file__).parents[3]}"
    try:
        server.migrate()
        server.start()
        slug, crowd = crowd_of(server, items=10, answers=2, workers=3)
        for browser in crowd:
            browser.start()
        wait_for_answers(server, crowd, 1)
        postgres.stop()
        place = f"{server.address}/annotate/{slug}/next"
        headers = {"Authorization": f"Bearer {crowd[0].token}"}
        assert server.client.post(place, json={}, headers=headers).status_code == 503
        postgres.start()
        finish(server, slug, crowd, wanted=20)
    finally:
        server.stop()
