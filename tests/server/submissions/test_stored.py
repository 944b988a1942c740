"""Arrays of scores in the tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

import capeval
from capeval.scoring.significance import BootstrapScore, compare, difference
from capeval_server.challenges.models import Challenge, ReferenceSet, ReferenceVersion
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import handlers
from capeval_server.jobs.leases import LostLeaseError
from capeval_server.jobs.models import Job, Worker
from capeval_server.jobs.worker import Heartbeat, work_once
from capeval_server.submissions.models import ImageScores, Result, Score, Submission
from capeval_server.submissions.scoring.pipeline import MetricOutcome, ScoringRequest, SubmissionScorer
from capeval_server.submissions.scoring.score_arrays import (
    image_scores_of,
    packed_samples,
    packed_values,
    samples_of,
)
from capeval_server.submissions.scoring.storage import write
from capeval_server.submissions.services.cleanup import SCRATCH, tidy
from capeval_server.submissions.services.lifecycle import SCORING, rerun
from capeval_server.submissions.services.submit import submit
from capeval_server.teams.models import Team
from capeval_server.teams.services.enrollment import make_team
from tests.server.kit import CAPTIONS, RESULTS, results

pytestmark = pytest.mark.django_db


@pytest.fixture
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    import_challenge(write_example("small", tmp_path_factory.mktemp("small")))
    reference_set = ReferenceSet.objects.get(split__challenge=Challenge.objects.get(), name="c1")
    submission = Submission.objects.create(baseline_of=reference_set, algorithm="human")
    version = ReferenceVersion.objects.get(reference_set=reference_set)
    return Result.objects.create(submission=submission, reference_version=version, metric="BLEU")


def test_samples_come_back(result: Result) -> None:
    values = np.array([0.1, np.nan, 1 / 3])
    made = Score.objects.create(result=result, name="BLEU-1", value=0.1, samples=packed_samples(values))
    found = samples_of(Score.objects.get(pk=made.pk))
    assert found is not None
    np.testing.assert_array_equal(found, values.astype(np.float32))
    assert found.dtype == np.float32
    assert samples_of(Score.objects.create(result=result, name="BLEU-2", value=0.1)) is None


def test_scores_of_images_come_back(result: Result) -> None:
    assert image_scores_of(result) is None
    values = np.array([[0.1, 0.2], [1 / 3, 0.0], [1.0, 2 / 7]])
    ImageScores.objects.create(result=result, names=["a", "b"], values=packed_values(values))
    found = image_scores_of(Result.objects.get(pk=result.pk))
    assert found is not None
    assert found[0] == ["a", "b"]
    np.testing.assert_array_equal(found[1], values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return import_and_submit(tmp_path)


def import_and_submit(folder: Path) -> Path:
    path = write_example("small", folder)
    path.write_text(path.read_text().replace(', human = "human.json"', ""))
    challenge = import_challenge(path)
    user = User.objects.create(username="ann")
    make_team(user, challenge)
    submit(user, challenge.phases.get(), RESULTS, [results()], declared={"method": "m"})
    assert work_once()
    return path


@pytest.mark.usefixtures("path")
def test_scores_have_samples_and_intervals_and_only_public_ones_have_images() -> None:
    scores = Score.objects.filter(result__submission=Submission.objects.get())
    assert scores.count() == 2 * 7 * 3
    assert set(scores.values_list("subset", flat=True)) == {"", "animals", "things"}
    for score in scores:
        samples = samples_of(score)
        assert samples is not None
        assert samples.shape == (100,)
        assert score.value is not None
        assert score.low is not None
        assert score.high is not None
        assert samples.min() <= score.low + 1e-6 <= score.high + 2e-6
    for result in Result.objects.all():
        found = image_scores_of(result)
        if result.reference_version.reference_set.name == "c2":
            assert found is None
        else:
            assert found is not None
            assert found[1].shape == (6, len(found[0]))
    assert ImageScores.objects.count() == 4


def test_samples_are_those_of_a_comparison(path: Path) -> None:
    """Stored replicates give the same paired bootstrap as `capeval.scoring.significance.compare`."""
    team = Team.objects.get()
    other = {**CAPTIONS, 1: "A cat.", 3: "A red bus drives down the street."}
    user = User.objects.get()
    submit(user, team.challenge.phases.get(), RESULTS, [results(other)], declared={"method": "n"})
    assert work_once()
    references = capeval.load_references(path.parent / "references_c2.json")
    reports = [capeval.evaluate(references, captions) for captions in (CAPTIONS, other)]
    compared = compare(*reports, method="bootstrap", samples=100)
    first, second = Submission.objects.order_by("created")
    for name, expected in compared.items():
        kept = []
        for submission in (first, second):
            found = Score.objects.get(
                result__submission=submission,
                result__reference_version__reference_set__name="c2",
                subset="",
                name=name,
            )
            samples = samples_of(found)
            assert samples is not None
            assert found.value is not None
            assert found.images == 6
            kept.append(BootstrapScore(name=name, score=found.value, values=samples, units=found.images))
        paired = difference(kept[0], kept[1])
        assert (paired.difference, paired.p_value) == (expected.difference, expected.p_value)
        assert (paired.low, paired.high) == pytest.approx((expected.low, expected.high), abs=1e-5)


def test_references_that_are_public_no_more_lose_the_scores_of_images(path: Path) -> None:
    path.write_text(path.read_text().replace("public = true", "public = false"))
    import_challenge(path)
    assert not ImageScores.objects.exists()


def test_references_hidden_while_a_submission_is_scored_keep_no_scores_of_images(path: Path) -> None:
    submission = Submission.objects.get()
    rerun(submission)
    held = leases.claim([SCORING], "here")
    assert held is not None
    (version,) = ReferenceVersion.objects.filter(reference_set__name="c1")
    outcome = MetricOutcome(
        metric="ROUGE-L",
        names=["ROUGE-L"],
        scores=[{"subset": "", "name": "ROUGE-L", "value": 0.5}],
        images=np.zeros((6, 1)),
    )
    path.write_text(path.read_text().replace("public = true", "public = false"))
    import_challenge(path)
    write(held, [(version, outcome)])
    assert submission.results.get().scores.get().value == 0.5
    assert not ImageScores.objects.exists()


def test_a_job_that_is_given_twice_is_finished_once(path: Path) -> None:
    submission = Submission.objects.get()
    key = str(submission.pk)
    rerun(submission)
    first = leases.claim([SCORING], "here")
    assert first is not None
    assert leases.claim([SCORING], "here") is None
    Job.objects.update(available_from=timezone.now())
    second = leases.claim([SCORING], "here")
    assert second is not None
    assert (first.subject, first.attempt, second.subject, second.attempt) == (key, 1, key, 2)
    versions = ReferenceVersion.objects.order_by("pk")
    outcomes = [
        (version, MetricOutcome(metric=metric, scores=[{"subset": "", "name": metric, "value": 0.5}]))
        for version in versions
        for metric in ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
    ]
    with pytest.raises(LostLeaseError):
        write(first, outcomes)
    assert not Result.objects.exists()
    write(second, outcomes)
    with pytest.raises(LostLeaseError):
        write(second, outcomes)
    assert Result.objects.count() == 8
    assert Submission.objects.get().state == "scored"


def test_a_worker_is_seen_and_leaves() -> None:
    heartbeat = Heartbeat()
    heartbeat.beat()
    (seen,) = Worker.objects.values_list("seen", flat=True)
    heartbeat.beat()
    assert Worker.objects.get().seen == seen
    assert Worker.objects.get().name == heartbeat.name
    heartbeat.end()
    assert not Worker.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_beats_while_it_scores(tmp_path: Path) -> None:
    import_and_submit(tmp_path)
    rerun(Submission.objects.get())
    beats = []
    assert work_once(beat=lambda: beats.append(Submission.objects.get().state))
    assert set(beats) == {"running"}


def test_what_is_prepared_is_scored_with_first(
    path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PREPARED = 1
    prepared, original = [], SubmissionScorer.score

    def noted(self: SubmissionScorer, task: ScoringRequest, alive: Callable[[], None]) -> list[MetricOutcome]:
        prepared.append((task.key, task.key in self))
        return original(self, task, alive)

    monkeypatch.setattr(SubmissionScorer, "score", noted)
    submission = Submission.objects.get()
    c2, c1 = ReferenceVersion.objects.order_by("pk").values_list("pk", flat=True)
    with handlers() as opened:
        for _ in range(2):
            rerun(submission)
            assert work_once(opened)
            # Written in one order all the same.
            written = submission.results.order_by("pk").values_list("reference_version", flat=True)
            assert list(written) == [c2] * 4 + [c1] * 4
    assert prepared == [(c2, False), (c1, False), (c1, True), (c2, False)]


def test_expired_sessions_are_tidied() -> None:
    for name, days in (("expired", -1), ("valid", 1)):
        expires = timezone.now() + timedelta(days=days)
        Session.objects.create(session_key=name, session_data="", expire_date=expires)
    tidy()
    assert Session.objects.get().pk == "valid"


def test_rows_of_workers_that_are_gone_are_tidied() -> None:
    for name, days in (("here:1", 0.5), ("there:2", 1.5)):
        Worker.objects.create(name=name, seen=timezone.now() - timedelta(days=days))
    tidy()
    assert Worker.objects.get().name == "here:1"


def test_scratch_of_workers_that_were_killed_is_tidied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, young, others = (tmp_path / name for name in (f"{SCRATCH}a", f"{SCRATCH}b", "other"))
    for folder in (old, young, others):
        folder.mkdir()
        (folder / "candidates.json").touch()
    for folder in (old, others):
        os.utime(folder, (time.time() - 100_000,) * 2)
    assert tidy() == 1
    assert set(tmp_path.iterdir()) == {young, others}
