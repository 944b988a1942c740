"""Final results of a phase: its leaderboards are stored and never change again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from capeval_server.audit.models import record
from capeval_server.challenges.models import Phase, ReferenceSet
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import SubmissionStateError
from capeval_server.leaderboards.final_snapshot import pack
from capeval_server.leaderboards.query import LeaderboardQuery, build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.leaderboards.significance import NeighborTest
from capeval_server.submissions.models import UNFINISHED, FinalBoard, Submission

__all__ = ["make_final", "problem_of", "publish", "unpublished_because"]


def problem_of(phase: Phase) -> str:
    """Return the reason why a phase's results can't be made final now, or ""."""
    if phase.final is not None:
        return f"the results of phase {phase.name!r} are already final"
    problem = _find_unfinished(phase)
    if not problem and phase.withholds_scores:
        return f"the scores of phase {phase.name!r} are withheld: publish its results first"
    return problem


def _find_unfinished(phase: Phase) -> str:
    if phase.get_state(timezone.now()) != "closed":
        return f"phase {phase.name!r} must be closed first"
    of_it = Q(phase=phase) | Q(baseline_of__split__phases=phase)
    waiting = Submission.objects.filter(of_it, state__in=UNFINISHED).distinct().count()
    return (
        f"{waiting:,} submissions are waiting or being scored: try again when they are done"
        if waiting
        else ""
    )


def make_final(user: User | None, phase: Phase) -> None:
    """Make the results of a phase final. This can't be undone.

    Raises:
        SubmissionStateError: The phase is not closed, its results are already final, some submissions are not
            scored yet, or the scores of a blind phase are not published.
    """
    with lock_challenge(phase.challenge):
        # Locked, because the selection of leaderboard submissions reads this row.
        now = Phase.objects.select_for_update(no_key=True).select_related(None).get(pk=phase.pk)
        if problem := problem_of(now):
            raise SubmissionStateError(problem)
        for split in now.splits.order_by("pk"):
            for references in split.reference_sets.order_by("pk"):
                FinalBoard.objects.create(
                    phase=now,
                    version=references.versions.get(number=references.version),
                    content=_pack_leaderboard(now, references),
                )
        now.final = timezone.now()
        now.save(update_fields=["final"])
        record(user, phase.challenge, f"made the results of phase {now.name} final")


def publish(user: User | None, phase: Phase) -> None:
    """Publish the scores of a blind phase. Teams can no longer choose submissions.

    Raises:
        SubmissionStateError: The phase is not blind or not closed, its results are already published, or some
            submissions are not scored yet.
    """
    with lock_challenge(phase.challenge):
        now = Phase.objects.select_for_update(no_key=True).select_related(None).get(pk=phase.pk)
        if problem := unpublished_because(now):
            raise SubmissionStateError(problem)
        now.published = timezone.now()
        now.save(update_fields=["published"])
        record(user, phase.challenge, f"published the results of phase {now.name}")


def unpublished_because(phase: Phase) -> str:
    """Return the reason why the results of a phase can't be published now, or ""."""
    if not phase.blind:
        return f"phase {phase.name!r} is not blind: its scores are not withheld"
    if phase.published is not None:
        return f"the results of phase {phase.name!r} are already published"
    return _find_unfinished(phase)


def _pack_leaderboard(phase: Phase, references: ReferenceSet) -> bytes:
    def of(**asked: Any) -> LeaderboardQuery:
        return build_query(phase, split=references.split.name, references=references.name, **asked)

    # One table with each score of each subset, and tests of neighbors in the order by each score.
    every = of(layout="both")
    return pack(leaderboard(every, compared=False, full=True), _list_tests(of, every))


def _list_tests(of: Any, every: LeaderboardQuery) -> Iterator[tuple[str, str, UUID, UUID, NeighborTest]]:
    """Yield the tests of all neighbors, in the order by each score."""
    for column in every.columns:
        rows = leaderboard(of(sort_by=column.name, subset=column.subset), full=True).rows
        for row, after in pairwise(rows):
            if row.p_value is not None and row.test is not None:
                test = NeighborTest(row.p_value, row.test)
                yield column.name, column.subset, row.submission, after.submission, test
