"""Behavior of real processes if the database fails or a process is stopped or killed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server.kit import RESULTS, results
from tests.server.processes import DJANGO, Postgres, Server, running_postgres
from tests.waiting import PATIENCE

# The versions of references at first.
FIRST = {("c1", 1), ("c2", 1)}
# Submits as the server does, and is killed when the file is stored and its row is not.
KILLED_BETWEEN = """
import signal
from django.contrib.auth.models import User
from capeval_server.challenges.models import Phase
from capeval_server.submissions.services.submit import submit
from capeval_server.submissions.models import SubmissionFile
SubmissionFile.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
user = User.objects.order_by("pk").first()
submit(user, Phase.objects.get(), sys.argv[1], [sys.stdin.buffer.read()], declared={"method": "m"})
"""
CSRF = "a" * 32
SESSION = """
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
user = User.objects.order_by("pk").first()
session = SessionStore()
session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
print(session.session_key)
"""
WORKERS = """
from capeval_server.jobs.models import Worker
print(*Worker.objects.values_list("name", flat=True))
"""


def workers_seen(server: Server) -> list[str]:
    return server.python(WORKERS).split()


def cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


@pytest.fixture
def restartable() -> Iterator[Postgres]:
    with running_postgres() as made:
        yield made


@pytest.mark.parametrize("away", ["noticed", "back before it is noticed"])
def test_a_database_that_restarts_while_a_submission_is_scored(
    restartable: Postgres, tmp_path: Path, away: str
) -> None:
    # The only worker: if its lease expires, no other worker takes the job.
    server = Server(tmp_path, restartable.new_database(), lease_seconds=2)
    server.prepare()
    server.start()
    try:
        token = server.tokens[0]
        submission, file = server.submit_held(token)
        worker = server.spawn("worker")
        # Until then it reads rows, and would fail and begin again without ever opening the file.
        file.wait_until_opened()
        assert server.see(token, f"/submissions/{submission}")["state"] == "running"
        restartable.stop()
        if away == "noticed":
            file.let_go()
            server.wait_for_log("the database failed")
            restartable.start()
        else:
            restartable.start()
            file.let_go()
        server.wait_for_log(f"{submission}: done")
        assert server.scored_by(token, submission) == FIRST
        # The same worker keeps running, and so does the server.
        assert worker.poll() is None
        assert "the database failed" in server.log
        another = server.submit(token).json()["id"]
        server.wait_for_log(f"{another}: done")
        assert server.scored_by(token, another) == FIRST
    finally:
        server.stop()


def sign_in(server: Server) -> dict[str, str]:
    """The cookies of a browser in which the first user is signed in."""
    return {"sessionid": server.python(SESSION).strip(), "csrftoken": CSRF}


def test_pages_while_the_database_is_away(restartable: Postgres, tmp_path: Path) -> None:
    server = Server(tmp_path, restartable.new_database())
    server.prepare()
    server.start()
    try:
        submission = server.submit(server.tokens[0]).json()["id"]
        visitors = {"signed in": sign_in(server), "nobody": {}}
        paths = ["/", "/jobs/", "/small/", "/small/open/", "/small/join/", "/small/open/submit/", "/admin/"]
        paths += [f"/submissions/{submission}/", f"/submissions/{submission}/state/"]
        paths += ["/accounts/email/", "/accounts/profile/", "/accounts/login/", "/tokens/", "/api/challenges"]

        def ask(path: str, cookies: dict[str, str]) -> httpx.Response:
            return server.client.get(server.root + path, headers={"Cookie": cookie_header(cookies)})

        before = {(path, who): ask(path, visitors[who]) for path in paths for who in visitors}
        assert {answer.status_code for answer in before.values()} <= {200, 302, 404}, before
        restartable.stop()
        for (path, who), known in before.items():
            answer = ask(path, visitors[who])
            if answer.status_code == known.status_code and who == "nobody":
                # It takes nothing from the database.
                assert path in ("/accounts/login/", "/accounts/email/", "/accounts/profile/", "/tokens/") or (
                    known.status_code == 302
                ), path
                continue
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60"), (path, who)
            assert "the database does not answer at the moment" in answer.text.lower(), (path, who)
        form = {"login": "user0", "password": "x", "csrfmiddlewaretoken": CSRF}
        headers = {"Cookie": cookie_header({"csrftoken": CSRF})}
        answer = server.client.post(f"{server.root}/accounts/login/", data=form, headers=headers)
        assert (answer.status_code, answer.headers.get("Refresh")) == (503, None)
        # A page that was only looked at tries again by itself.
        assert ask("/", {}).headers["Refresh"] == "10"
        answer = server.client.get(f"{server.root}/readyz")
        assert (answer.status_code, answer.text) == (503, "the database does not answer at the moment\n")
        assert server.client.get(f"{server.root}/healthz").status_code == 200
        assert "Traceback" not in server.log
        restartable.start()
        assert {ask(path, visitors["signed in"]).status_code for path in paths} <= {200, 302, 404}
    finally:
        server.stop()


def test_a_worker_waits_longer_and_longer_for_the_database(restartable: Postgres, tmp_path: Path) -> None:
    server = Server(tmp_path, restartable.new_database())
    server.prepare()
    try:
        worker = server.spawn("worker")
        server.wait_for_log("INFO .*: done")
        restartable.stop()
        server.wait_for_log("trying again in 4 s: the database does not answer at the moment")
        assert "Traceback" not in server.log
        restartable.start()
        server.wait_for_log("the worker continues")
        restartable.stop()
        # It can be stopped meanwhile. How soon, and how long pauses get, is in the tests of jobs.
        server.wait_for_log("the database failed", times=server.log.count("the database failed") + 1)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    finally:
        server.stop()


def test_many_workers_score_each_submission_once(server: Server, token: str) -> None:
    submissions = [server.submit(token).json()["id"] for _ in range(3)]
    workers = [server.spawn("worker", "--until-empty") for _ in range(4)]
    for worker in workers:
        assert worker.wait(PATIENCE) == 0
    log = server.log
    for submission in submissions:
        assert server.scored_by(token, submission) == FIRST
        assert log.count(f"{submission}, attempt") == log.count(f"{submission}: done") == 1


def test_a_worker_that_is_stopped_gives_back_what_it_was_at(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    server.wait_for_log(f"{submission}, attempt 1: scoring")
    assert f"{socket.gethostname()}:{worker.pid}" in workers_seen(server)
    worker.terminate()
    assert worker.wait(PATIENCE) == 0
    assert f"{socket.gethostname()}:{worker.pid}" not in workers_seen(server), server.log
    log = server.log
    assert log.count(f"{submission}: released") + log.count(f"{submission}: done") == 1
    server.run("worker", "--until-empty")
    assert server.scored_by(token, submission) == FIRST
    assert f"{submission}, attempt 2" not in server.log


def test_references_published_while_a_submission_is_scored(server: Server, token: str) -> None:
    path = server.folder / "small" / "references_c2.json"
    before = path.read_text()
    changed = json.loads(before)
    changed["1"].append("A puppy plays.")
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    server.wait_for_log(f"{submission}, attempt 1: scoring")
    path.write_text(json.dumps(changed))
    server.run("import", str(path.with_name("challenge.toml")))
    server.run("worker", "--until-empty")
    worker.kill()
    # What was scored against the old ones meanwhile is kept as theirs; nothing is missing of the new ones.
    assert {("c1", 1), ("c2", 2)} <= server.scored_by(token, submission) <= {*FIRST, ("c2", 2)}
    path.write_text(before)
    server.run("import", str(path.with_name("challenge.toml")))


def test_files_of_a_server_killed_before_their_rows_are_tidied(server: Server, token: str) -> None:
    server.submit(token)
    kept = server.stored()
    killed = subprocess.run(
        [sys.executable, "-c", DJANGO + KILLED_BETWEEN, RESULTS], input=results(), env=server.env, check=False
    )
    assert killed.returncode == -9
    (orphan,) = server.stored() - kept
    # A recent file is kept, since it may belong to an open transaction.
    assert server.run("tidy") == "0 files deleted\n"
    old = time.time() - 2 * 86_400
    for path in server.stored():
        os.utime(path, (old, old))
    assert server.run("tidy") == "1 files deleted\n"
    assert server.stored() == kept
    assert not orphan.exists()
