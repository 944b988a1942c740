"""What must hold when the machines under the server fail, with real processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
from capeval_server.submissions.intake import submit
from capeval_server.submissions.models import SubmissionFile
SubmissionFile.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
user = User.objects.order_by("pk").first()
submit(user, Phase.objects.get(), sys.argv[1], [sys.stdin.buffer.read()], declared={"method": "m"})
"""
WORKERS = """
from capeval_server.jobs.models import Worker
print(*Worker.objects.values_list("name", flat=True))
"""


def workers_seen(server: Server) -> list[str]:
    return server.python(WORKERS).split()


@pytest.fixture
def restartable() -> Iterator[Postgres]:
    with running_postgres() as made:
        yield made


@pytest.mark.parametrize("away", ["noticed", "back before it is noticed"])
def test_a_database_that_restarts_while_a_submission_is_scored(
    restartable: Postgres, tmp_path: Path, away: str
) -> None:
    # The only worker: its lease may run out, and nobody but itself takes the job.
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
            server.wait_for_log("the database did not answer")
            restartable.start()
        else:
            restartable.start()
            file.let_go()
        server.wait_for_log(f"{submission}: done")
        assert server.scored_by(token, submission) == FIRST
        # The same worker goes on, and so does the server.
        assert worker.poll() is None
        assert "the database did not answer" in server.log
        another = server.submit(token).json()["id"]
        server.wait_for_log(f"{another}: done")
        assert server.scored_by(token, another) == FIRST
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
    assert log.count(f"{submission}: given back") + log.count(f"{submission}: done") == 1
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
    # Young, it may be of a transaction that goes on.
    assert server.run("tidy") == "0 files deleted\n"
    old = time.time() - 2 * 86_400
    for path in server.stored():
        os.utime(path, (old, old))
    assert server.run("tidy") == "1 files deleted\n"
    assert server.stored() == kept
    assert not orphan.exists()
