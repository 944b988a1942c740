"""Jobs that score submissions, and the one that deletes unused files and rows."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Self

from django.db.models.fields.files import FieldFile

from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job
from capeval_server.submissions.scoring.pipeline import MetricOutcome, ScoringRequest, SubmissionScorer
from capeval_server.submissions.scoring.storage import PendingMetrics, unscored, write
from capeval_server.submissions.services import lifecycle
from capeval_server.submissions.services.cleanup import SCRATCH, delete_scratch, tidy

__all__ = ["ScoringHandler", "TidyingHandler"]

# Between two notes of how far scoring is, in seconds: most submissions are scored in less.
_PAUSE = 1.0


@register
class ScoringHandler(Handler):
    """Scores one submission after the other, and keeps the references that it prepared for the next."""

    kind = lifecycle.SCORING

    def __init__(self) -> None:
        self._scorer = SubmissionScorer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scorer.close()

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Scores a submission, and writes its scores."""
        parts = unscored(lifecycle.start(job))
        progress = _Progress(job, sum(len(part.metrics) for part in parts))
        outcomes: dict[int, list[MetricOutcome]] = {}
        # Those whose references are prepared come first, before others take their place.
        for number in sorted(
            range(len(parts)), key=lambda number: parts[number].version.pk not in self._scorer
        ):
            outcomes[number] = self._score(parts[number], renew, progress)
        in_order = [
            (part.version, outcome) for number, part in enumerate(parts) for outcome in outcomes[number]
        ]
        write(job, in_order)

    def wait(self, job: Job, log: str) -> None:
        """Has the submission wait."""
        lifecycle.put_back(job, log)

    def give_up(self, job: Job, reason: str, log: str) -> None:
        """Fails the submission."""
        lifecycle.fail(job, reason, log)

    def _score(
        self, part: PendingMetrics, renew: Callable[[], None], progress: _Progress
    ) -> list[MetricOutcome]:
        reference_set, stored = part.version.reference_set, part.version.file
        with tempfile.TemporaryDirectory(prefix=SCRATCH) as name:
            folder = Path(name)

            def references(place: Path) -> Path:
                # The ending of the name says in which format the file is.
                return _copy(stored, place / f"references{''.join(Path(str(stored)).suffixes)}")

            task = ScoringRequest(
                key=part.version.pk,
                references=references,
                candidates=_copy(part.file.file, folder / "candidates.json"),
                folder=folder,
                metrics=part.metrics,
                subsets=reference_set.scored_subsets(),
                images=reference_set.image_ids if reference_set.public else None,
                started=partial(progress.started, part),
            )
            found = self._scorer.score(task, renew)
            progress.done += len(found)
            return found


class _Progress:
    """Writes which metric of a submission is being computed, not more than once within a second."""

    def __init__(self, job: Job, total: int) -> None:
        self.done = 0
        self._job, self._total, self._written = job, total, -_PAUSE

    def started(self, part: PendingMetrics, metric: str) -> None:
        """Notes that a metric of a file begins."""
        if time.monotonic() < self._written + _PAUSE:
            return
        self._written = time.monotonic()
        references = part.version.reference_set
        leases.tell(
            self._job,
            split=references.split.name,
            references=references.name,
            metric=metric,
            number=self.done + part.metrics.index(metric) + 1,
            total=self._total,
        )


def _copy(stored: FieldFile, path: Path) -> Path:
    """A copy of a stored file, which need not be on a disk of this machine."""
    with stored.open("rb") as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    return path


@register
class TidyingHandler(Handler):
    """Tidies every hour. Workers start with the scratch folders of their own machine."""

    kind = "tidying"
    every = timedelta(hours=1)

    def __init__(self) -> None:
        delete_scratch()

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Tidies, and has the job wait for the next time."""
        tidy(renew)
        leases.finish(job, again_after=self.every)
