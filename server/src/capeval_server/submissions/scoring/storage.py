"""Finds what is still to score of a submission, and writes the scores: all of an attempt's, or none."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from capeval_server.challenges.models import ReferenceSet, ReferenceVersion
from capeval_server.challenges.services.locks import lock_references
from capeval_server.jobs.models import Job
from capeval_server.submissions.models import ImageScores, Result, Score, Submission, SubmissionFile
from capeval_server.submissions.scoring.pipeline import MetricOutcome
from capeval_server.submissions.scoring.score_arrays import packed_image_scores
from capeval_server.submissions.services import lifecycle

__all__ = ["PendingMetrics", "unscored", "write"]


@dataclass(frozen=True, kw_only=True)
class PendingMetrics:
    """A file of results, a version of references, and the metrics that have no result of the two yet."""

    file: SubmissionFile
    version: ReferenceVersion
    metrics: list[str]


def unscored(submission: Submission) -> list[PendingMetrics]:
    """What of a submission is not scored yet, by the current versions of references."""
    done = set(submission.results.values_list("reference_version_id", "metric"))
    files = {file.split_id: file for file in submission.files.select_related("split")}
    found = []
    for version in submission.current_versions():
        file = files[version.reference_set.split_id]
        metrics = [metric for metric in file.split.metrics if (version.pk, metric) not in done]
        if metrics:
            found.append(PendingMetrics(file=file, version=version, metrics=metrics))
    return found


def write(job: Job, outcomes: list[tuple[ReferenceVersion, MetricOutcome]]) -> None:
    """Writes the outcomes of an attempt, all of them or none, and ends it.

    Raises:
        LostLeaseError: The worker no longer holds the job.
    """
    with transaction.atomic():
        # First, as an import does: new references, or references that are public no more, come before
        # this or after it, and either sees what the other did.
        sets = ReferenceSet.objects.filter(split__submissionfile__submission=UUID(job.subject))
        now = {entry.pk: entry for entry in lock_references(sets)}
        submission = lifecycle.held_by(job)
        for version, outcome in outcomes:
            _write(submission, version, outcome, now[version.reference_set_id])
        lifecycle.settle(job, submission, more=bool(unscored(submission)))


def _write(
    submission: Submission, version: ReferenceVersion, outcome: MetricOutcome, references: ReferenceSet
) -> None:
    result = Result.objects.create(
        submission=submission,
        reference_version=version,
        metric=outcome.metric,
        signature=outcome.signature,
        failure=outcome.failure,
        by_content=outcome.by_content,
        log=outcome.log,
    )
    # Of what was scored, only what these references give now: they may have become private meanwhile.
    subsets = {"", *references.scored_subsets()}
    Score.objects.bulk_create(
        Score(result=result, **number) for number in outcome.scores if number["subset"] in subsets
    )
    if outcome.images is not None and references.public:
        values = packed_image_scores(outcome.images)
        ImageScores.objects.create(result=result, names=list(outcome.names), values=values)
