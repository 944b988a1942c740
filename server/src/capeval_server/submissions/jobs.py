"""Jobs that score submissions, and the job that deletes unused files and rows."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

from django.db.models.fields.files import FieldFile

from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job
from capeval_server.submissions.scoring.pipeline import (
    MetricOutcome,
    MetricProgress,
    ScoringRequest,
    SubmissionScorer,
)
from capeval_server.submissions.scoring.storage import PendingMetrics, unscored, write
from capeval_server.submissions.services import lifecycle
from capeval_server.submissions.services.cleanup import SCRATCH, delete_scratch, tidy

__all__ = ["ScoringHandler", "TidyingHandler"]

# Minimum interval between progress updates, in seconds; most submissions are scored in less.
_PAUSE = 1.0


@register
class ScoringHandler(Handler):
    """Handler of scoring jobs, which keeps prepared references for later submissions."""

    kind = lifecycle.SCORING

    def __init__(self) -> None:
        self._scorer = SubmissionScorer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scorer.close()

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Score a submission and write its scores."""
        parts = unscored(lifecycle.start(job))
        progress = _Progress(job, sum(len(part.metrics) for part in parts))
        outcomes: dict[int, list[MetricOutcome]] = {}
        # Parts with prepared references come first, before other references replace those.
        for number in sorted(
            range(len(parts)), key=lambda number: parts[number].version.pk not in self._scorer
        ):
            outcomes[number] = self._score(parts[number], renew, progress)
        in_order = [
            (part.version, outcome) for number, part in enumerate(parts) for outcome in outcomes[number]
        ]
        write(job, in_order)

    def wait(self, job: Job, log: str) -> None:
        """Set the submission to waiting."""
        lifecycle.put_back(job, log)

    def give_up(self, job: Job, reason: str, log: str) -> None:
        """Set the submission to failed."""
        lifecycle.fail(job, reason, log)

    def _score(
        self, part: PendingMetrics, renew: Callable[[], None], progress: _Progress
    ) -> list[MetricOutcome]:
        reference_set, stored = part.version.reference_set, part.version.file
        with tempfile.TemporaryDirectory(prefix=SCRATCH) as name:
            folder = Path(name)

            def references(place: Path) -> Path:
                # The file extensions determine the format.
                return _copy(stored, place / f"references{''.join(Path(str(stored)).suffixes)}")

            task = ScoringRequest(
                key=part.version.pk,
                references=references,
                candidates=_copy(part.file.file, folder / "candidates.json"),
                folder=folder,
                metrics=part.metrics,
                subsets=reference_set.scored_subsets(),
                images=reference_set.image_ids if reference_set.public else None,
                report=partial(progress.report, part),
            )

            def stay_alive() -> None:
                renew()
                progress.write()

            found = self._scorer.score(task, stay_alive)
            progress.done += len(found)
            return found


class _Progress:
    """Progress of a submission's scoring, stored at most once per second."""

    def __init__(self, job: Job, total: int) -> None:
        self.done = 0
        self._job, self._total, self._written = job, total, -_PAUSE
        self._unwritten: dict[str, Any] = {}

    def report(self, part: PendingMetrics, progress: MetricProgress) -> None:
        """Store the progress of a metric of a file, now or with a later call of `write`."""
        references = part.version.reference_set
        self._unwritten = {
            "split": references.split.name,
            "references": references.name,
            **asdict(progress),
            "number": self.done + part.metrics.index(progress.metric) + 1,
            "total": self._total,
        }
        self.write()

    def write(self) -> None:
        """Store the latest progress, unless it is stored or the last update was within the last second."""
        if not self._unwritten or time.monotonic() < self._written + _PAUSE:
            return
        self._written = time.monotonic()
        leases.update_progress(self._job, **self._unwritten)
        self._unwritten = {}


def _copy(stored: FieldFile, path: Path) -> Path:
    """Copy a stored file, which may not be on a disk of this machine, to a local path."""
    with stored.open("rb") as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    return path


@register
class TidyingHandler(Handler):
    """Handler of the hourly cleanup.

    When it is created, it deletes the scratch folders of the worker's machine.
    """

    kind = "tidying"
    every = timedelta(hours=1)

    def __init__(self) -> None:
        delete_scratch()

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Clean up, and schedule the next run."""
        tidy(renew)
        leases.finish(job, again_after=self.every)
