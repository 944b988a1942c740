"""What must hold when real processes race, die and come back late."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.conftest import Server

METRICS = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")


def _state(server: Server, token: str, submission: str) -> dict[str, Any]:
    return server.see(token, f"/submissions/{submission}")


def _wait_for(server: Server, token: str, submission: str, *states: str) -> dict[str, Any]:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = _state(server, token, submission)
        if found["state"] in states:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{found['state']}: {(server.folder / 'log').read_text()}")


def _wait_for_attempt(server: Server, submission: str, attempt: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if f"{submission}, attempt {attempt}: scoring" in (server.folder / "log").read_text():
            return
        time.sleep(0.02)
    raise AssertionError((server.folder / "log").read_text())


def _scored_once(found: dict[str, Any]) -> None:
    assert found["state"] == "scored"
    results = Counter((r["references"], r["version"], r["metric"]) for r in found["results"])
    assert results == {(name, 1, metric): 1 for name in ("c1", "c2") for metric in METRICS}
    assert all(result["scores"] and not result["failure"] for result in found["results"])


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_worker_killed_at_any_time_leaves_no_double_work(server: Server, token: str, delay: float) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    _wait_for(server, token, submission, "running", "scored")
    time.sleep(delay)
    worker.kill()
    worker.wait()
    server.run("worker", "--until-empty")
    _scored_once(_state(server, token, submission))


def test_killed_again_and_again_it_fails_and_costs_nothing(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    for attempt in (1, 2, 3):
        worker = server.spawn("worker")
        _wait_for_attempt(server, submission, attempt)
        worker.kill()
        worker.wait()
    server.run("worker", "--until-empty")
    found = _state(server, token, submission)
    assert found["state"] == "failed"
    assert found["reason"] == "scoring stopped 3 times before its end"
    assert found["results"] == []
    assert server.see(token, "/challenges/small/phases/open/quota")["left_today"] == 5


def test_a_worker_that_comes_back_late_writes_nothing(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    late = server.spawn("worker", "--until-empty")
    _wait_for(server, token, submission, "running")
    late.send_signal(signal.SIGSTOP)
    time.sleep(2.1)
    server.run("worker", "--until-empty")
    found = _state(server, token, submission)
    _scored_once(found)
    late.send_signal(signal.SIGCONT)
    assert late.wait(30) == 0
    assert "taken over by another worker" in (server.folder / "log").read_text()
    assert _state(server, token, submission) == found


def test_a_server_killed_while_uploads_come_keeps_what_it_accepted(server: Server, token: str) -> None:
    accepted = [server.submit(token).json()["id"] for _ in range(3)]
    server.kill_server()
    server.start()
    server.run("worker", "--until-empty")
    for submission in accepted:
        _scored_once(_state(server, token, submission))


def _runs(process: str) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", process], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip()) and not listed.stdout.strip().startswith("Z")


def test_the_children_of_a_killed_worker_end(server: Server, token: str) -> None:
    submission = server.submit(token).json()["id"]
    worker = server.spawn("worker")
    _wait_for(server, token, submission, "running")
    children: list[str] = []
    while not children:
        listed = subprocess.run(["pgrep", "-P", str(worker.pid)], capture_output=True, text=True, check=False)
        children = listed.stdout.split()
    worker.kill()
    worker.wait()
    until = time.monotonic() + 10
    while time.monotonic() < until and any(_runs(child) for child in children):
        time.sleep(0.02)
    assert not any(_runs(child) for child in children)


def test_of_32_uploads_at_once_five_are_taken(server: Server, token: str) -> None:
    stored = server.folder / "data" / "files" / "submissions"
    before = len(list(stored.iterdir())) if stored.exists() else 0
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: server.submit(token), range(32)))
    assert Counter(answer.status_code for answer in answers) == {201: 5, 429: 27}
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    for answer in answers:
        if answer.status_code == 429:
            assert datetime.fromisoformat(answer.json()["allowed_from"]) == midnight
            assert 0 < int(answer.headers["Retry-After"]) <= 86_401
    assert len(server.see(token, "/submissions")["submissions"]) == 5  # type: ignore[arg-type]
    assert len(list(stored.iterdir())) == before + 5


def test_one_key_at_once_is_one_submission(server: Server, token: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.submit(token, **{"Idempotency-Key": "k"}), range(8)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 7}
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = server.submit(token, "captions_val_other_results.json", **{"Idempotency-Key": "k"})
    assert other.status_code == 409
