"""Standing submissions: the one submission of each team on a leaderboard.

Until a team chooses, its best submission by the ranking score is on the leaderboard. In a blind phase, whose
teams do not know their scores, it is the best of their latest ones. Once a team chose or took off a
submission, only its choices count. A phase may require a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from capeval_server.challenges.models import Phase
from capeval_server.challenges.selectors.main_leaderboard import get_main
from capeval_server.submissions.models import UNFINISHED, Score, Submission
from capeval_server.submissions.selectors.scores import higher_is_better
from capeval_server.teams.models import Team

__all__ = [
    "RANKING_RULES",
    "is_automatic",
    "is_settled",
    "lock_siblings",
    "update_standing",
    "update_standings",
]

_Choice = Submission.Choice
RANKING_RULES = frozenset({"main", "blind", "final_submissions", "requires_choice"})
"""Fields of a phase that determine which submissions are on its leaderboard."""


def lock_siblings(pk: UUID) -> list[Submission]:
    """Lock the team of a submission, and all its submissions to the same phase; return these by key.

    The team's lock serializes changes of a team, and the order of the keys prevents deadlocks. A human
    baseline has no siblings.
    """
    Team.objects.select_for_update(of=("self",), no_key=True).filter(submissions=pk).first()
    wanted = Submission.objects.filter(pk=pk).values("team", "phase")
    rows = Submission.objects.filter(team__in=wanted.values("team"), phase__in=wanted.values("phase"))
    return list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))


def is_automatic(phase: Phase, siblings: Iterable[Submission]) -> bool:
    """Return whether the submission on the leaderboard is selected without a choice of the team."""
    return not phase.requires_choice and all(row.choice == _Choice.NONE for row in siblings)


def update_standing(phase: Phase, siblings: Sequence[Submission]) -> None:
    """Update which submission of a team is on the leaderboard; its rows are locked.

    Final results, published results of blind phases, and leaderboards of archived challenges do not change.
    Otherwise, a team that knows the scores could replace its submission by withdrawing it.
    """
    if is_settled(phase):
        return
    candidates = _list_candidates(phase, siblings)
    current = next((row for row in siblings if row.stands), None)
    if current is not None and current.state in UNFINISHED and _is_candidate(phase, siblings, current):
        # It keeps its place while it is scored again.
        return
    best = _find_best(phase, candidates)
    if current is not None and current != best:
        _set(current, stands=False)
    if best is not None and not best.stands:
        _set(best, stands=True)


def update_standings(phase: Phase) -> None:
    """Update the submissions of all teams after the rules of a phase changed, each team in a transaction.

    If a team chose more submissions than are allowed now, the latest ones remain chosen.
    """
    submitted = Submission.objects.filter(phase=phase).exclude(team=None)
    one_by_team = dict(submitted.order_by("team", "pk").values_list("team", "pk"))
    for pk in one_by_team.values():
        with transaction.atomic():
            siblings = lock_siblings(pk)
            # Read again, with a lock: the results may be published at the same time.
            now = Phase.objects.select_for_update(no_key=True).filter(pk=phase.pk).first()
            if now is None or is_settled(now):
                return
            chosen = sorted(
                (row for row in siblings if row.choice == _Choice.CHOSEN), key=lambda row: row.created
            )
            for row in chosen[: -now.final_submissions]:
                row.choice = _Choice.NONE
                row.save(update_fields=["choice"])
            update_standing(now, siblings)


def is_settled(phase: Phase) -> bool:
    """Return whether the submissions on a phase's leaderboard can't be replaced any more."""
    is_published = phase.blind and phase.published is not None
    return phase.final is not None or is_published or phase.challenge.is_archived


def _is_candidate(phase: Phase, siblings: Sequence[Submission], row: Submission) -> bool:
    return is_automatic(phase, siblings) or row.choice == _Choice.CHOSEN


def _list_candidates(phase: Phase, siblings: Sequence[Submission]) -> list[Submission]:
    scored = [
        row
        for row in siblings
        if row.state == Submission.State.SCORED and _is_candidate(phase, siblings, row)
    ]
    if phase.blind and is_automatic(phase, siblings):
        return sorted(scored, key=lambda row: row.created)[-phase.final_submissions :]
    return scored


def _find_best(phase: Phase, candidates: Sequence[Submission]) -> Submission | None:
    """Return the best submission by the score that ranks on the phase's leaderboard; the first of equals."""
    if len(candidates) < 2:
        return next(iter(candidates), None)
    main = get_main(phase, phase.splits.defer("image_ids").prefetch_related("reference_sets").order_by("pk"))
    if main is None:
        return candidates[0]
    split, references = main
    scores: dict[Any, float | None] = dict(
        Score.objects.filter(
            result__submission__in=[row.pk for row in candidates],
            result__reference_version__reference_set=references,
            result__reference_version__number=references.version,
            subset="",
            name=split.sort_by,
        ).values_list("result__submission", "value")
    )
    sign = -1 if higher_is_better(split, split.sort_by) else 1

    def order(row: Submission) -> tuple[bool, float, Any]:
        value = scores.get(row.pk)
        return value is None, sign * (value or 0.0), row.created

    return min(candidates, key=order)


def _set(row: Submission, *, stands: bool) -> None:
    row.stands = stands
    row.save(update_fields=["stands"])
