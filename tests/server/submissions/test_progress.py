"""How far the scoring of a submission is, on its page and in the API."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from capeval_server.jobs import leases, worker
from capeval_server.jobs.models import Job, Worker
from capeval_server.submissions import jobs
from capeval_server.submissions.models import Submission
from capeval_server.submissions.scoring.pipeline import (
    MetricOutcome,
    MetricProgress,
    ScoringRequest,
    SubmissionScorer,
)
from tests.server.kit import METRICS, Participant

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that is moved by hand."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def test_each_metric_is_told_while_it_is_computed(ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_PAUSE", 0.0)
    told: list[dict[str, Any]] = []
    tell = leases.update_progress

    def listen(job: Job, **progress: Any) -> None:
        tell(job, **progress)
        told.append(Job.objects.get(pk=job.pk).progress)

    monkeypatch.setattr(leases, "update_progress", listen)
    ann.submitted()
    assert worker.work_once()
    assert [one["number"] for one in told] == list(range(1, 9))
    assert {one["total"] for one in told} == {8}
    assert [one["metric"] for one in told] == METRICS * 2
    assert {(one["split"], one["references"]) for one in told} == {("val", "c1"), ("val", "c2")}


def test_a_long_metric_after_quick_ones_is_told_with_its_work(
    ann: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick metrics of a submission end within the pause between updates, and the long one follows."""
    clock = Clock()
    monkeypatch.setattr(jobs, "time", clock)
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(leases, "update_progress", lambda _, **progress: told.append(progress))

    def score(_: SubmissionScorer, task: ScoringRequest, alive: Callable[[], None]) -> list[MetricOutcome]:
        quick, long = METRICS[0], METRICS[-1]
        task.report(MetricProgress(metric=quick))
        clock.seconds += 0.2
        task.report(MetricProgress(metric=long))
        task.report(MetricProgress(metric=long, work="Parsing captions", work_done=40, work_total=100))
        alive()
        assert [one["metric"] for one in told] == [quick]
        clock.seconds += 1.0
        alive()
        alive()
        raise KeyboardInterrupt

    monkeypatch.setattr(SubmissionScorer, "score", score)
    ann.submitted()
    with pytest.raises(KeyboardInterrupt):
        worker.work_once()
    (_, last) = told
    assert (last["metric"], last["number"]) == (METRICS[-1], len(METRICS))
    assert (last["work"], last["work_done"], last["work_total"]) == ("Parsing captions", 40, 100)


def test_most_submissions_are_scored_before_there_is_more_to_tell(
    ann: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_PAUSE", 3600.0)
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(leases, "update_progress", lambda _, **progress: told.append(progress))
    ann.scored()
    assert len(told) == 1


def test_the_page_and_the_api_say_how_far_it_is(ann: Participant, bob: Participant) -> None:
    first, second = ann.submitted(), bob.submitted()
    place = f"/api/submissions/{second.pk}"
    assert bob.read(place)["wait"] == {"ahead": 1, "expected_wait": None}
    assert bob.read(place)["scoring"] is None
    Worker.objects.create(name="w")
    job = leases.claim(["scoring"], "w")
    assert job is not None
    assert job.subject == str(first.pk)
    Submission.objects.filter(pk=first.pk).update(state="running")
    Job.objects.filter(pk=job.pk).update(begun=leases.database_time() - timedelta(seconds=65))
    assert "A worker is scoring it, 65 s so far." in " ".join(ann.see(f"/submissions/{first.pk}/").split())
    far = {"split": "val", "references": "c2", "metric": "METEOR", "number": 6, "total": 8}
    leases.update_progress(job, **far)
    page = " ".join(ann.see(f"/submissions/{first.pk}/").split())
    assert "Scoring split val by references c2: METEOR, metric 6 of 8, 65 s so far." in page
    found = ann.read(f"/api/submissions/{first.pk}")
    assert found["wait"] is None
    assert found["scoring"].pop("elapsed") > 64
    assert found["scoring"] == {
        "split": "val",
        "references": "c2",
        "metric": "METEOR",
        "number": 6,
        "total": 8,
        "work": "",
        "work_done": 0,
        "work_total": 0,
    }
    leases.update_progress(job, **far, work="Parsing captions", work_done=1234, work_total=5000)
    page = " ".join(ann.see(f"/submissions/{first.pk}/").split())
    assert "METEOR, metric 6 of 8 (parsing captions: 1,234 of 5,000), 65 s so far." in page
    assert ann.read(f"/api/submissions/{first.pk}")["scoring"]["work_done"] == 1234
    # What was told ends with the attempt.
    leases.restart(job)
    job.refresh_from_db()
    assert (job.begun, job.progress) == (None, {})
