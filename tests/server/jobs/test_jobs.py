"""Jobs of other kinds than scoring: with leases, pauses and an end, as all have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from django.db import OperationalError
from django.utils import timezone

from capeval_server.jobs import handlers, leases, worker
from capeval_server.jobs.models import Job
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.django_db


class Greeting(handlers.Handler):
    """Handler that greets the subject of a job and fails for "stranger"."""

    kind = "greeting"
    said: ClassVar[list[str]] = []
    given_up: ClassVar[list[tuple[str, str, str]]] = []

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        renew()
        if job.subject == "stranger":
            raise LookupError("nobody knows them")
        self.said.append(job.subject)
        leases.finish(job)

    def give_up(self, job: Job, reason: str, log: str) -> None:
        self.given_up.append((job.subject, reason, log))


class Chime(Greeting):
    """Recurs."""

    kind = "chime"
    every = timedelta(hours=1)

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        renew()
        self.said.append("chime")
        leases.finish(job, again_after=self.every)


@pytest.fixture(autouse=True)
def greeting(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Greeting]]:
    monkeypatch.setattr(handlers, "HANDLERS", dict(handlers.HANDLERS))
    monkeypatch.setattr(worker, "_POLL_SECONDS", 0)
    handlers.register(Greeting)
    yield Greeting
    Greeting.said.clear()
    Greeting.given_up.clear()


def greet(*names: str, priority: int = 0) -> None:
    leases.enqueue(*(Job(kind="greeting", subject=name, priority=priority) for name in names))


def waiting() -> dict[str, int]:
    return dict(Job.objects.filter(kind="greeting").values_list("subject", "attempt"))


def make_available() -> None:
    Job.objects.update(available_from=timezone.now())


def test_a_second_handler_does_its_jobs_in_order(greeting: type[Greeting]) -> None:
    greet("late", priority=1)
    greet("ann", "bob")
    while worker.work_once():
        pass
    assert greeting.said == ["ann", "bob", "late"]
    assert waiting() == {}


def test_a_job_is_done_by_who_holds_its_lease(greeting: type[Greeting]) -> None:
    greet("ann")
    first = leases.claim(["greeting"], "here")
    assert first is not None
    assert leases.claim(["greeting"], "there") is None
    assert Job.objects.get().owner == "here"
    make_available()
    second = leases.claim(["greeting"], "there")
    assert second is not None
    assert (second.subject, second.attempt, second.owner) == ("ann", 2, "there")
    for end in (leases.finish, leases.restart, leases.lock_job, lambda job: leases.release(job, greeting())):
        with pytest.raises(leases.LostLeaseError):
            end(first)
    leases.finish(second)
    assert waiting() == {}


def test_a_lease_runs_out(settings: Any) -> None:
    settings.LEASE_SECONDS = 0
    greet("ann")
    leases_of = [leases.claim(["greeting"], owner) for owner in ("here", "there")]
    assert [job and (job.owner, job.attempt) for job in leases_of] == [("here", 1), ("there", 2)]


def test_a_lease_is_renewed(settings: Any) -> None:
    greet("ann")
    job = leases.claim(["greeting"], "here")
    assert job is not None
    settings.LEASE_SECONDS = 0
    # Due each time.
    renew = leases.renewal(job, lambda: None)
    settings.LEASE_SECONDS = 60
    make_available()
    renew()
    assert leases.claim(["greeting"], "there") is None
    make_available()
    assert leases.claim(["greeting"], "there") is not None
    with pytest.raises(leases.LostLeaseError):
        renew()


def test_a_job_that_fails_is_tried_again_after_longer_and_longer_pauses(
    greeting: type[Greeting], settings: Any
) -> None:
    settings.MAX_ATTEMPTS, settings.RETRY_SECONDS = 3, 100
    greet("stranger", "ann")
    pauses = []
    for _ in range(2):
        before = timezone.now()
        assert worker.work_once()
        job = Job.objects.get(subject="stranger")
        assert job.available_from is not None
        pauses.append(round((job.available_from - before).total_seconds(), -2))
        # Others do not wait for it.
        assert worker.work_once() == (len(pauses) == 1)
        make_available()
    assert pauses == [100, 200]
    assert greeting.given_up == []
    assert worker.work_once()
    reason = ("stranger", "the system failed 3 times", "LookupError: nobody knows them")
    assert greeting.given_up == [reason]
    assert waiting() == {}
    assert greeting.said == ["ann"]


def test_a_job_whose_workers_die_is_given_up(greeting: type[Greeting], settings: Any) -> None:
    settings.MAX_ATTEMPTS = 2
    greet("ann")
    for _ in range(2):
        assert leases.claim(["greeting"], "here") is not None
        make_available()
    assert worker.work_once()
    assert greeting.given_up == [("ann", "greeting stopped 2 times before its end", "")]
    assert (waiting(), greeting.said) == ({}, [])


def test_a_job_that_is_given_back_has_lost_no_attempt(greeting: type[Greeting]) -> None:
    greet("ann")

    def stop() -> None:
        raise worker.StoppedError

    with pytest.raises(worker.StoppedError):
        worker.work_once(beat=stop)
    assert waiting() == {"ann": 0}
    assert worker.work_once()
    assert greeting.said == ["ann"]


def test_a_job_that_is_added_again_begins_again(greeting: type[Greeting]) -> None:
    greet("ann")
    job = leases.claim(["greeting"], "here")
    assert job is not None
    greet("ann")
    assert waiting() == {"ann": 0}
    with pytest.raises(leases.LostLeaseError):
        leases.finish(job)
    leases.cancel("greeting", "ann")
    assert not worker.work_once()
    assert greeting.said == []


def test_a_worker_leaves_jobs_that_it_has_no_handler_for() -> None:
    leases.enqueue(Job(kind="unknown", subject="x"))
    assert not worker.work_once()
    worker.run(until_empty=True)
    assert Job.objects.get(kind="unknown").attempt == 0


def test_a_recurring_job_comes_again_and_keeps_no_worker_from_ending(greeting: type[Greeting]) -> None:
    handlers.register(Chime)
    before = timezone.now()
    worker.run(until_empty=True)
    # Planned for later, the first and tidying for an hour from now.
    kinds = set(Job.objects.values_list("kind", flat=True))
    assert kinds == {"campaigns", "chime", "notices", "tidying", "webhooks"}
    assert greeting.said == []
    make_available()
    worker.run(until_empty=True)
    assert greeting.said == ["chime"]
    for job in Job.objects.filter(kind__in=["chime", "tidying"]):
        assert job.available_from is not None
        assert job.available_from >= before + timedelta(hours=1)
        assert (job.attempt, job.lease) == (0, None)


def test_pauses_while_the_database_is_away_double_up_to_half_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heartbeat, pauses = worker.Heartbeat(), list[float]()
    away, stopped = OperationalError("away"), worker.StoppedError()
    outcomes = iter([*[away] * 7, None, away, stopped])

    def beat() -> None:
        if (outcome := next(outcomes)) is not None:
            raise outcome

    monkeypatch.setattr(heartbeat, "pause", pauses.append)
    monkeypatch.setattr(worker, "work_once", lambda *_: True)
    # Closing it would end the test's own transaction.
    monkeypatch.setattr(worker, "connection", SimpleNamespace(close=lambda: None))
    with pytest.raises(worker.StoppedError):
        worker._work({}, heartbeat, beat, until_empty=False)
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 1]


def test_a_worker_that_is_stopped_ends_its_pause_at_once() -> None:
    heartbeat = worker.Heartbeat()
    with ThreadPoolExecutor() as pool:
        paused = pool.submit(heartbeat.pause, 2 * PATIENCE)
        wait_until(paused.running, lambda: "the pause has not begun")
        heartbeat.stop()
        with pytest.raises(worker.StoppedError):
            paused.result(PATIENCE)
