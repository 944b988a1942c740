"""Behavior of real processes that race, die or return late."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.server.processes import Server
from tests.waiting import PATIENCE, wait_until

# Reference sets of the small challenge, with their first versions.
FIRST = {("c1", 1), ("c2", 1)}


def _state(server: Server, token: str, submission: str) -> dict[str, Any]:
    return server.see(token, f"/submissions/{submission}")


def _children(worker: subprocess.Popen[bytes]) -> list[str]:
    listed = subprocess.run(["pgrep", "-P", str(worker.pid)], capture_output=True, text=True, check=False)
    return listed.stdout.split()


@pytest.mark.parametrize("moment", ["taken", "in a process of its own", "scored"])
def test_a_worker_killed_at_any_time_leaves_no_double_work(server: Server, token: str, moment: str) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    server.wait_for_log(f"{submission}, attempt 1: scoring")
    if moment == "in a process of its own":
        wait_until(lambda: _children(worker), lambda: server.log)
    elif moment == "scored":
        server.wait_for_state(token, submission, "scored")
    worker.kill()
    worker.wait()
    server.end_leases()
    server.run("worker", "--until-empty")
    assert server.scored_by(token, submission) == FIRST


def test_killed_again_and_again_it_fails_and_costs_nothing(server: Server, token: str) -> None:
    submission, file = server.submit_held(token)
    for attempt in (1, 2, 3):
        worker = server.spawn("worker")
        server.wait_for_log(f"{submission}, attempt {attempt}: scoring")
        worker.kill()
        worker.wait()
        server.end_leases()
    file.put_back()
    server.run("worker", "--until-empty")
    found = _state(server, token, submission)
    assert found["state"] == "failed"
    assert found["reason"] == "scoring stopped 3 times before its end"
    assert found["results"] == []
    assert server.see(token, "/challenges/small/phases/open/quota")["left"] == 20


def test_a_worker_that_comes_back_late_writes_nothing(server: Server, token: str) -> None:
    submission, file = server.submit_held(token)
    late = server.spawn("worker", "--until-empty")
    server.wait_for_state(token, submission, "running")
    late.send_signal(signal.SIGSTOP)
    assert server.end_leases() == 1
    file.put_back()
    server.run("worker", "--until-empty")
    assert server.scored_by(token, submission) == FIRST
    found = _state(server, token, submission)
    late.send_signal(signal.SIGCONT)
    assert late.wait(PATIENCE) == 0
    assert f"{submission}: taken over by another worker" in server.log
    assert _state(server, token, submission) == found


def test_a_server_killed_while_uploads_come_keeps_what_it_accepted(server: Server, token: str) -> None:
    accepted = [server.submit(token).json()["id"] for _ in range(3)]
    server.kill_server()
    server.start()
    server.run("worker", "--until-empty")
    for submission in accepted:
        assert server.scored_by(token, submission) == FIRST


def _runs(process: str) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", process], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip()) and not listed.stdout.strip().startswith("Z")


def test_the_children_of_a_killed_worker_end(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    children = wait_until(lambda: _children(worker), lambda: server.log)
    worker.kill()
    worker.wait()
    wait_until(
        lambda: not any(_runs(child) for child in children), lambda: f"one of {children} is still running"
    )
    server.end_leases()
    server.run("worker", "--until-empty")
    assert server.scored_by(token, submission) == FIRST


# A mail that waits, and the job that sends it.
MAIL = """
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from capeval_server.jobs.models import Job
from capeval_server.notifications.models import Mail
user = User.objects.get(username="user0")
EmailAddress.objects.create(user=user, email="user0@example.org", primary=True, verified=True)
Mail.objects.create(user=user, subject="A subject", text="A text")
now = {"available_from": None, "attempt": 0}
Job.objects.update_or_create(kind="notices", subject="server", defaults=now)
"""
MAILS = """
from capeval_server.notifications.models import Mail
print(Mail.objects.filter(subject="A subject").count())
"""


@contextmanager
def _endless_greeting() -> Iterator[tuple[int, threading.Event]]:
    """Run a mail server with an endless greeting; yield its port and an event set on the first connection."""
    heard, ended = threading.Event(), threading.Event()

    def greet(listening: socket.socket) -> None:
        with suppress(OSError):
            connected, _ = listening.accept()
            with connected:
                while not ended.wait(0.2):
                    # The dash announces another line.
                    connected.sendall(b"220-wait\r\n")
                    heard.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greet, args=(listening,))
        thread.start()
        try:
            yield listening.getsockname()[1], heard
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_scoring_does_not_wait_for_a_mail_server(
    server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.python(MAIL)
    with _endless_greeting() as (port, heard):
        monkeypatch.setitem(server.env, "CAPEVAL_SERVER_EMAIL", f"smtp://127.0.0.1:{port}")
        worker = server.spawn("worker")
        wait_until(heard.is_set, lambda: server.log)
        submission = server.submit(token).json()["id"]
        server.wait_for_state(token, submission, "scored")
        # Killed in the middle of both, it loses no mail.
        worker.kill()
        worker.wait()
    assert server.python(MAILS).strip() == "1"


# Eight more members of the team of a user, each with a token that it writes.
MEMBERS = """
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
from capeval_server.teams.services.enrollment import join
from capeval_server.teams.models import Team
team = Team.objects.get(memberships__user=Token.of_text(sys.argv[1]).user)
for number in range(8):
    user = User.objects.create(username=f"{team.name}-member{number}")
    join(user, team.challenge, team.code)
    print(Token.issue(user.pk, "token", "submit"))
"""


def test_of_a_teams_uploads_at_once_five_are_taken(server: Server, token: str) -> None:
    stored = server.folder / "data" / "files" / "submissions"
    before = len(list(stored.iterdir())) if stored.exists() else 0
    server.limit_in_all(5)
    tokens = server.python(MEMBERS, token).split()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.submit, tokens))
    assert Counter(answer.status_code for answer in answers) == {201: 5, 429: 3}
    assert len(server.see(token, "/submissions")["submissions"]) == 5
    assert len(list(stored.iterdir())) == before + 5


def test_of_a_users_uploads_at_once_some_wait_and_others_are_refused(server: Server, token: str) -> None:
    server.limit_in_all(5)
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: server.submit(token), range(32)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {201, 429}
    assert 1 <= statuses[201] <= 5
    assert len(server.see(token, "/submissions")["submissions"]) == statuses[201]


def test_one_key_at_once_is_one_submission(server: Server, token: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.submit(token, **{"Idempotency-Key": "k"}), range(8)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {201, 200, 429}
    assert statuses[201] == 1
    assert len({answer.json()["id"] for answer in answers if answer.status_code != 429}) == 1
    other = server.submit(token, "captions_val_other_results.json", **{"Idempotency-Key": "k"})
    assert other.status_code == 409
