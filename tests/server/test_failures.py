"""What must hold when the machines under the server fail, with real processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Postgres, Server, running_postgres

METRICS = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
# Submits as the server does, and is killed when the file is stored and its row is not.
KILLED_BETWEEN = """
import os, signal, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.settings"
django.setup()
from django.contrib.auth.models import User
from capeval_server.challenges.models import Phase
from capeval_server.submissions.intake import submit
from capeval_server.submissions.models import SubmissionFile
SubmissionFile.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
user = User.objects.order_by("pk").first()
submit(user, Phase.objects.get(), sys.argv[1], [sys.stdin.buffer.read()], declared={"method": "m"})
"""


WORKERS = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.settings"
django.setup()
from capeval_server.jobs.models import Worker
print(*Worker.objects.values_list("name", flat=True))
"""


def workers_seen(server: Server) -> list[str]:
    done = subprocess.run([sys.executable, "-c", WORKERS], env=server.env, capture_output=True, check=True)
    return done.stdout.decode().split()


def results_of(server: Server, token: str, submission: str) -> Counter[tuple[str, int, str]]:
    found: dict[str, Any] = server.see(token, f"/submissions/{submission}")
    assert found["state"] == "scored", (found, (server.folder / "log").read_text())
    assert all(result["scores"] and not result["failure"] for result in found["results"])
    return Counter((r["references"], r["version"], r["metric"]) for r in found["results"])


def once(versions: dict[str, int]) -> dict[tuple[str, int, str], int]:
    return {(name, number, metric): 1 for name, number in versions.items() for metric in METRICS}


def wait_for(server: Server, text: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while text not in (server.folder / "log").read_text():
        assert time.monotonic() < until, (server.folder / "log").read_text()
        time.sleep(0.02)


@pytest.fixture
def restartable() -> Iterator[Postgres]:
    with running_postgres() as made:
        yield made


@pytest.mark.parametrize("away", [0.0, 1.5])
def test_a_database_that_restarts_while_a_submission_is_scored(
    restartable: Postgres, tmp_path: Path, away: float
) -> None:
    server = Server(tmp_path, restartable.new_database(), lease_seconds=2, bootstrap_samples=100)
    server.prepare()
    server.start()
    try:
        token = server.tokens[0]
        submission = server.submit(token).json()["id"]
        worker = server.spawn("worker")
        wait_for(server, f"{submission}, attempt 1: scoring")
        restartable.stop()
        time.sleep(away)
        restartable.start()
        wait_for(server, f"{submission}: done")
        assert results_of(server, token, submission) == once({"c1": 1, "c2": 1})
        # The same worker goes on, and so does the server.
        assert worker.poll() is None
        assert "the database did not answer" in (server.folder / "log").read_text()
        another = server.submit(token).json()["id"]
        wait_for(server, f"{another}: done")
        assert results_of(server, token, another) == once({"c1": 1, "c2": 1})
    finally:
        server.stop()


def test_many_workers_score_each_submission_once(server: Server, token: str) -> None:
    submissions = [server.submit(token).json()["id"] for _ in range(3)]
    workers = [server.spawn("worker", "--until-empty") for _ in range(4)]
    for worker in workers:
        assert worker.wait(120) == 0
    log = (server.folder / "log").read_text()
    for submission in submissions:
        assert results_of(server, token, submission) == once({"c1": 1, "c2": 1})
        assert log.count(f"{submission}, attempt") == log.count(f"{submission}: done") == 1


def test_a_worker_that_is_stopped_gives_back_what_it_was_at(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    wait_for(server, f"{submission}, attempt 1: scoring")
    assert f"{socket.gethostname()}:{worker.pid}" in workers_seen(server)
    worker.terminate()
    assert worker.wait(30) == 0
    assert f"{socket.gethostname()}:{worker.pid}" not in workers_seen(server), (
        server.folder / "log"
    ).read_text()
    log = (server.folder / "log").read_text()
    assert log.count(f"{submission}: given back") + log.count(f"{submission}: done") == 1
    server.run("worker", "--until-empty")
    assert results_of(server, token, submission) == once({"c1": 1, "c2": 1})
    assert "attempt 2" not in (server.folder / "log").read_text()


def test_references_published_while_a_submission_is_scored(server: Server, token: str) -> None:
    path = server.folder / "small" / "references_c2.json"
    before = path.read_text()
    changed = json.loads(before)
    changed["1"].append("A puppy plays.")
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    wait_for(server, f"{submission}, attempt 1: scoring")
    path.write_text(json.dumps(changed))
    server.run("import", str(path.with_name("challenge.toml")))
    server.run("worker", "--until-empty")
    worker.kill()
    found = results_of(server, token, submission)
    # What was scored against the old ones meanwhile is kept as theirs; nothing is missing of the new ones.
    assert set(found.values()) == {1}
    assert set(found) >= set(once({"c1": 1, "c2": 2}))
    assert set(found) <= set(once({"c1": 1, "c2": 2})) | set(once({"c2": 1}))
    path.write_text(before)
    server.run("import", str(path.with_name("challenge.toml")))


def stored(server: Server) -> set[Path]:
    return set((server.folder / "data" / "files").rglob("*.json"))


def test_files_of_a_server_killed_before_their_rows_are_tidied(server: Server, token: str) -> None:
    server.submit(token)
    kept = stored(server)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BETWEEN, "captions_val_mine_results.json"],
        input=json.dumps([{"image_id": image, "caption": "a"} for image in range(1, 7)]).encode(),
        env=server.env,
        check=False,
    )
    assert killed.returncode == -9
    (orphan,) = stored(server) - kept
    # Young, it may be of a transaction that goes on.
    assert server.run("tidy") == "0 files deleted\n"
    old = time.time() - 2 * 86_400
    for path in stored(server):
        os.utime(path, (old, old))
    assert server.run("tidy") == "1 files deleted\n"
    assert stored(server) == kept
    assert not orphan.exists()
