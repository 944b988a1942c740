"""Contract of job types: a toy and every registered one, by the same tests.

A new job type needs an entry in `EXAMPLES`: work for one job, and its state as users see it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.challenges.models import Challenge
from capeval_server.hosting.jobs import request_export
from capeval_server.jobs import leases, worker
from capeval_server.jobs.handlers import HANDLERS, Handler, handlers, register
from capeval_server.jobs.models import Job
from capeval_server.notifications.models import Delivery, Mail, Webhook
from tests.server.campaigns import make
from tests.server.kit import Participant, Someone

pytestmark = pytest.mark.django_db
METRICS_TOKEN = "metrics-token-of-tests"
# A job type that no app registers.
TOY = "greeting"


@dataclass(frozen=True, kw_only=True)
class Example:
    """One job that waits, and the state of its work.

    Attributes:
        subject: The job's subject.
        state: Reads the state as users see it, on a page, in the API or in their mail.
        waiting: The state before the job is done.
        done: The state after it.
        failed: The state after the last attempt; `waiting` if the work waits for the next time.
    """

    subject: str
    state: Callable[[], str]
    waiting: str
    done: str
    failed: str


class Greeting(Handler):
    """Greets a person, with a state for each."""

    kind = TOY
    states: ClassVar[dict[str, str]] = {}

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        renew()
        self.states[job.subject] = "greeted"
        leases.finish(job)

    def give_up(self, job: Job, reason: str, log: str) -> None:
        self.states[job.subject] = "ignored"


def greet() -> Example:
    Greeting.states["ann"] = "waiting"
    leases.enqueue(Job(kind=TOY, subject="ann"))
    return Example(
        subject="ann",
        state=lambda: Greeting.states["ann"],
        waiting="waiting",
        done="greeted",
        failed="ignored",
    )


def submit() -> Example:
    ann = Participant("ann")
    submission = ann.submitted()
    return Example(
        subject=str(submission.pk),
        state=lambda: str(ann.read(f"/api/submissions/{submission.pk}")["state"]),
        waiting="waiting",
        done="scored",
        failed="failed",
    )


def export() -> Example:
    olga, challenge = Someone("olga"), Challenge.objects.get()
    challenge.organizers.add(olga.user)
    request_export(olga.user, challenge)

    def state() -> str:
        answer = olga.program("organize").get(f"/api/challenges/{challenge.slug}/organize/export")
        answer.close()
        return "ready" if answer.status_code == 200 else str(answer.json()["detail"])

    return Example(
        subject=str(challenge.pk),
        state=state,
        waiting="the export is being prepared",
        done="ready",
        failed="the export is not made, since the system failed",
    )


def recurring(kind: str, state: Callable[[], str]) -> Example:
    leases.enqueue(Job(kind=kind, subject="server"))
    return Example(subject="server", state=state, waiting="waiting", done="done", failed="waiting")


def mail_somebody() -> Example:
    user = Someone("ann").user
    EmailAddress.objects.create(user=user, email="ann@example.org", primary=True, verified=True)
    Mail.objects.create(user=user, subject="News", text="There are some.")
    return recurring("notices", lambda: "done" if mail.outbox else "waiting")


def tell_webhook() -> Example:
    olga, challenge = Someone("olga"), Challenge.objects.get()
    challenge.organizers.add(olga.user)
    # The settings allow no host, so nothing is sent, and that is the outcome.
    hook = Webhook.objects.create(challenge=challenge, url="https://hooks.example.org/")
    Delivery.objects.create(webhook=hook, event="submission_scored", body="{}")

    def state() -> str:
        page = olga.see(f"/{challenge.slug}/organize/notices/")
        assert ("submission_scored: pending" in page) != ("attempt 1" in page)
        return "waiting" if "submission_scored: pending" in page else "done"

    return recurring("webhooks", state)


def leave_draft() -> Example:
    """Store a file without a row, like the file of an unconfirmed import."""
    name = default_storage.save(f"drafts/{uuid.uuid4().hex}", ContentFile(b"{}"))
    os.utime(default_storage.path(name), (time.time() - 100_000,) * 2)
    return recurring("tidying", lambda: "waiting" if default_storage.exists(name) else "done")


def pause_campaign() -> Example:
    user = Someone("olga").user
    EmailAddress.objects.create(user=user, email="olga@example.org", primary=True, verified=True)
    campaign = make()
    campaign.organizers.add(user)
    lifecycle.change_state(user, campaign, "paused")
    return recurring("campaigns", lambda: "done" if Mail.objects.exists() else "waiting")


EXAMPLES: dict[str, Callable[[], Example]] = {
    TOY: greet,
    "scoring": submit,
    "export": export,
    "notices": mail_somebody,
    "webhooks": tell_webhook,
    "tidying": leave_draft,
    "campaigns": pause_campaign,
}


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker, "_POLL_SECONDS", 0)
    register(Greeting)
    yield
    del HANDLERS[TOY]
    Greeting.states.clear()


@pytest.fixture(params=EXAMPLES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def example(kind: str, challenge: Challenge) -> Example:
    made = EXAMPLES[kind]()
    assert made.state() == made.waiting
    return made


def work(kind: str, beat: Callable[[], None] = lambda: None) -> None:
    """Do the job as a worker that has handlers of its kind only."""
    with handlers() as opened:
        assert worker.work_once({kind: opened[kind]}, beat)


def make_available() -> None:
    Job.objects.update(available_from=None)


def check_end(kind: str, example: Example) -> None:
    """Check that the job is gone, or waits for its next time if it recurs."""
    left = [(job.attempt, job.lease, job.available_from) for job in Job.objects.filter(kind=kind)]
    every = HANDLERS[kind].every
    assert len(left) == (every is not None)
    for attempt, lease, available_from in left:
        assert (attempt, lease) == (0, None)
        assert available_from is not None
        assert timezone.now() < available_from <= timezone.now() + (every or timedelta())


def test_each_registered_job_type_has_an_example() -> None:
    assert set(EXAMPLES) == set(HANDLERS)


def test_a_kind_is_registered_once(kind: str) -> None:
    another = type("Another", (Greeting,), {"kind": kind})
    with pytest.raises(ValueError, match=f"a handler of the kind '{kind}' is already registered"):
        register(another)


def test_a_worker_does_the_job(kind: str, example: Example) -> None:
    worker.run(until_empty=True)
    assert example.state() == example.done
    check_end(kind, example)


def test_the_lease_is_renewed_while_the_job_is_done(kind: str, example: Example, settings: Any) -> None:
    settings.LEASE_SECONDS = 0
    seen = []

    def beat() -> None:
        job = Job.objects.get(kind=kind, subject=example.subject)
        assert job.lease is not None
        seen.append(job.available_from)

    work(kind, beat)
    assert seen
    assert example.state() == example.done


def test_a_worker_that_lost_the_lease_does_not_finish(kind: str, example: Example, settings: Any) -> None:
    settings.LEASE_SECONDS = 0
    other = uuid.uuid4()

    def take_over() -> None:
        Job.objects.filter(kind=kind).update(lease=other)

    work(kind, take_over)
    assert Job.objects.get(kind=kind).lease == other
    assert example.state() != example.done
    Job.objects.filter(kind=kind).update(lease=None)
    work(kind)
    assert example.state() == example.done


def test_a_worker_that_is_stopped_gives_the_job_back(kind: str, example: Example) -> None:
    def stop() -> None:
        raise worker.StoppedError

    with pytest.raises(worker.StoppedError):
        work(kind, stop)
    job = Job.objects.get(kind=kind, subject=example.subject)
    assert (job.attempt, job.lease, job.available_from) == (0, None, None)
    assert example.state() == example.waiting
    work(kind)
    assert example.state() == example.done


def test_a_job_that_failed_is_tried_again(
    kind: str, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(HANDLERS[kind], "run", fail)
        work(kind)
    job = Job.objects.get(kind=kind, subject=example.subject)
    assert (job.attempt, job.lease) == (1, None)
    assert job.available_from is not None
    assert job.available_from > timezone.now()
    assert example.state() == example.waiting
    make_available()
    work(kind)
    assert example.state() == example.done
    check_end(kind, example)


def fail(*_: object) -> None:
    raise LookupError("the system is broken")


def test_after_the_last_attempt_users_see_its_state(
    kind: str, example: Example, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAX_ATTEMPTS = 2
    with monkeypatch.context() as broken:
        broken.setattr(HANDLERS[kind], "run", fail)
        for _ in range(2):
            make_available()
            work(kind)
    assert example.state() == example.failed
    check_end(kind, example)


def test_a_job_whose_workers_died_is_given_up(kind: str, example: Example, settings: Any) -> None:
    settings.MAX_ATTEMPTS = 1
    assert leases.claim([kind], "killed") is not None
    make_available()
    work(kind)
    assert example.state() == example.failed
    check_end(kind, example)


def test_the_job_is_in_the_metrics_and_on_the_page_of_the_staff(
    kind: str, example: Example, settings: Any
) -> None:
    settings.METRICS = METRICS_TOKEN
    answer = Client(headers={"Authorization": f"Bearer {METRICS_TOKEN}"}).get("/metrics")
    assert f'capeval_jobs{{kind="{kind}"}} 1.0' in answer.content.decode()
    staff = Someone("sam", is_staff=True, is_superuser=True)
    page = staff.see(f"/admin/jobs/job/?kind={kind}")
    assert example.subject in page
    assert "1 job" in page
