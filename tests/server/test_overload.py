"""Expensive views do not block other pages."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg

from capeval_server.leaderboards.render_cache import _MOST_VARIED
from tests.server.processes import Postgres, Server
from tests.waiting import wait_until

# More than the server has threads.
CLIENTS = 40
VIEWS = [
    "/small/open/?sort_by=METEOR&as_of=2036-01-01T00:00:{:02}Z",
    "/small/open/?sort_by=METEOR&layout=both&as_of=2036-01-01T00:00:{:02}Z",
    "/small/open/cite/?sort_by=METEOR&as_of=2036-01-01T00:00:{:02}Z",
    "/small/open/?sort_by=METEOR&fingerprint=0123456789abcd{:02}",
    "/small/open/plot.svg?sort_by=METEOR&as_of=2036-01-01T00:00:{:02}Z",
    "/api/challenges/small/phases/open/leaderboard?split=val&references=c2&sort_by=METEOR&as_of=2036-01-01T00:00:{:02}Z",
]
STAND = """
from tests.server.boards import stand
stand("a", 1.0)
"""


def test_other_pages_are_answered_while_views_are_computed(tmp_path: Path, postgres: Postgres) -> None:
    server = Server(tmp_path, postgres.new_database())
    try:
        server.prepare()
        server.python(STAND)
        server.start(processes=1)
        # The first page of a leaderboard, which stays known.
        assert server.client.get(f"{server.root}/small/open/").status_code == 200
        _check(server)
    finally:
        server.stop()


def _check(server: Server) -> None:
    assert server.database
    paths = [VIEWS[number % len(VIEWS)].format(number) for number in range(CLIENTS)]
    with psycopg.connect(server.database) as held, ThreadPoolExecutor(CLIENTS) as pool:
        # Scores can't be read until the lock is released: nothing that is computed ends.
        held.execute("LOCK TABLE submissions_score IN ACCESS EXCLUSIVE MODE")
        asked = [pool.submit(server.client.get, f"{server.root}{path}") for path in paths]
        refused = wait_until(lambda: _answers(asked, CLIENTS - _MOST_VARIED), lambda: server.log)
        for path in ("/accounts/login/", "/healthz", "/small/", "/small/open/"):
            assert server.client.get(f"{server.root}{path}").status_code == 200
        held.rollback()
        answers = [one.result() for one in asked]
    assert {answer.status_code for answer in refused} == {503}
    assert all(answer.headers["Retry-After"] for answer in refused)
    texts = {answer.headers["Content-Type"].partition(";")[0]: answer.text for answer in refused}
    for kind in ("text/html", "application/json"):
        assert "computing too many other leaderboards" in texts[kind]
    assert sorted(answer.status_code for answer in answers)[:_MOST_VARIED] == [200] * _MOST_VARIED


def _answers(asked: list[Future[httpx.Response]], number: int) -> list[httpx.Response] | None:
    done = [one.result() for one in asked if one.done()]
    return done if len(done) >= number else None
