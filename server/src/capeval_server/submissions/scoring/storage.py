"""Unscored parts of submissions, and atomic storage of an attempt's scores."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from capeval_server.challenges.models import ReferenceSet, ReferenceVersion
from capeval_server.challenges.services.locks import lock_references
from capeval_server.jobs.models import Job
from capeval_server.submissions.models import (
    ImageScores,
    Result,
    Score,
    Submission,
    SubmissionFile,
    SwappedStatistics,
)
from capeval_server.submissions.scoring.pipeline import MetricOutcome
from capeval_server.submissions.scoring.score_arrays import packed_values
from capeval_server.submissions.services import lifecycle
from capeval_server.submissions.services.standing import lock_siblings

__all__ = ["PendingMetrics", "unscored", "write"]


@dataclass(frozen=True, kw_only=True)
class PendingMetrics:
    """Results file, a version of references, and the metrics that are still to score."""

    file: SubmissionFile
    version: ReferenceVersion
    metrics: list[str]


def unscored(submission: Submission) -> list[PendingMetrics]:
    """Return the parts of a submission without scores by the current references."""
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
    """Write all outcomes of an attempt or none, and end the attempt.

    Raises:
        LostLeaseError: The worker no longer holds the job.
    """
    with transaction.atomic():
        # Locked first, as in imports: changes of references or of their visibility happen either before or
        # after this, and each sees the changes of the other.
        sets = ReferenceSet.objects.filter(split__submissionfile__submission=UUID(job.subject))
        now = {entry.pk: entry for entry in lock_references(sets)}
        siblings = lock_siblings(UUID(job.subject))
        submission = lifecycle.lock_submission_of_job(job)
        for version, outcome in outcomes:
            _write(submission, version, outcome, now[version.reference_set_id])
        lifecycle.settle(job, submission, siblings, more=bool(unscored(submission)))


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
    # Only scores that the references allow now: they may have become private in the meantime.
    subsets = {"", *references.scored_subsets()}
    Score.objects.bulk_create(
        Score(result=result, **number) for number in outcome.scores if number["subset"] in subsets
    )
    SwappedStatistics.objects.bulk_create(
        SwappedStatistics(result=result, **sums) for sums in outcome.swaps if sums["subset"] in subsets
    )
    if outcome.images is not None and references.public:
        values = packed_values(outcome.images)
        ImageScores.objects.create(result=result, names=list(outcome.names), values=values)
