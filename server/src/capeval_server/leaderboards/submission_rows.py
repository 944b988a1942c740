"""Rows of leaderboards that are not final, from submissions in the database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast

from capeval.metrics import METRICS
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.columns import stored_columns
from capeval_server.leaderboards.entries import (
    LeaderboardEntry,
    RankedSubmission,
    ShownScores,
    SubmissionStanding,
    new_entry,
    shown_scores,
)
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.significance import NeighborTest, differences
from capeval_server.submissions.models import UNFINISHED, Result, Score, Submission
from capeval_server.submissions.scoring.score_arrays import finite

__all__ = ["SubmissionRows"]

# Maximum number of submission ids in a database query.
_FEW = 500
# A submission's id in the database's own format, and its stamp, which changes with its scores.
_Stamped = tuple[str, int]


class _Numbers(NamedTuple):
    """Scores of a submission, and whether it has results by the references."""

    scored: bool
    scores: ShownScores


class _Ranking(NamedTuple):
    """Primary key and value of the score that ranks a submission."""

    score_id: int | None = None
    value: float | None = None


# Reading the scores of a thousand submissions takes most of the time of a leaderboard, and nearly all are
# unchanged after an update.
_ranking: BoundedCache[_Stamped, _Ranking] = BoundedCache(most=200_000)
_numbers: BoundedCache[_Stamped, _Numbers] = BoundedCache(most=20_000)


def _cast_id(name: str) -> Cast:
    """Return a query expression for a submission's id in the database's own format."""
    return Cast(name, CharField())


class SubmissionRows:
    """Submissions on a phase's leaderboard, with human baselines of the references."""

    final: datetime | None = None
    # Only final results keep the choice of an earlier time.
    mean_rank_scores: list[str] | None = None

    def __init__(self, question: LeaderboardQuery) -> None:
        self._question = question

    @cached_property
    def _submissions(self) -> QuerySet[Submission]:
        question = self._question
        scored = Result.objects.filter(submission=OuterRef("pk"), reference_version=question.version)
        baseline = Q(baseline_of=question.reference_set) & Exists(scored)
        team = Q(phase=question.phase, stands=True)
        found = Submission.objects.filter(team | baseline).exclude(state=Submission.State.WITHDRAWN)
        if question.as_of is not None:
            found = found.filter(created__lte=question.as_of)
        for name, value in question.declared:
            # Human baselines, which declare nothing, stay for comparison.
            declares = Exists(
                Submission.objects.alias(given=KeyTransform(name, "declared")).filter(
                    pk=OuterRef("pk"), given=value
                )
            )
            found = found.filter(Q(baseline_of__isnull=False) | declares)
        return found.exclude(mark=Submission.Mark.HIDDEN)

    def _filter_named(self, wanted: Sequence[_Stamped]) -> QuerySet[Submission]:
        """Return the requested submissions; if they are many, all of the leaderboard."""
        if len(wanted) > _FEW:
            return self._submissions
        return Submission.objects.filter(pk__in=[UUID(key) for key, _ in wanted])

    def places(self) -> list[RankedSubmission]:
        """Return all submissions with the score that ranks them."""
        found = list(self._submissions.values_list(_cast_id("pk"), "stamp", "team__name"))
        name, subset = self._question.sort_by, self._question.subset
        scores = self._ranking_scores([(key, stamp) for key, stamp, _ in found], name, subset)
        places = []
        for key, stamp, team in found:
            score_id, value = scores[key, stamp]
            places.append(
                RankedSubmission(key, stamp, team is None, team or "human", finite(value), score_id)
            )
        return places

    def values_of(self, name: str, places: Iterable[RankedSubmission]) -> list[float | None]:
        """Return a score on all images of some submissions."""
        wanted = [(place.key, place.stamp) for place in places if place.stamp is not None]
        scores = self._ranking_scores(wanted, name, "")
        return [finite(scores[one].value) for one in wanted]

    def _ranking_scores(self, wanted: Sequence[_Stamped], name: str, subset: str) -> dict[_Stamped, _Ranking]:
        question = self._question
        group = repr((question.version.pk, name, subset))
        known = _ranking.known(group, wanted)
        missing = [one for one in wanted if one not in known]
        if not missing:
            return known
        rows = Score.objects.filter(
            result__submission__in=self._filter_named(missing),
            result__reference_version=question.version,
            subset=subset,
            name=name,
        ).values_list(_cast_id("result__submission"), "pk", "value")
        stored = {key: _Ranking(pk, value) for key, pk, value in rows}
        new = {(key, stamp): stored.get(key, _Ranking()) for key, stamp in missing}
        _ranking.add(group, new)
        return known | new

    def tests(self, places: Sequence[RankedSubmission]) -> list[NeighborTest | None]:
        """Return the test of the difference of each submission to the next."""
        return differences([place.sample for place in places])

    def entries(self, standings: Iterable[SubmissionStanding], *, full: bool) -> Iterator[LeaderboardEntry]:
        """Yield the rows of some submissions."""
        listed = [
            (standing, (standing.place.key, standing.place.stamp))
            for standing in standings
            if standing.place.stamp is not None
        ]
        wanted = [key for _, key in listed]
        facts = self._get_facts(wanted)
        shared = {key for standing, key in listed if standing.place.baseline}
        numbers = self._get_shown_scores(
            wanted, shared if self._question.other_versions else set(), full=full
        )
        shown, current = self._question.phase.challenge.shown_fields, self._question.current
        for standing, key in listed:
            declared, state, found = facts[key[0]]
            scored, scores = numbers[key]
            yield new_entry(
                standing,
                found,
                scores,
                declared={name: declared[name] for name in shown if name in declared},
                rescoring=current and not scored and state in UNFINISHED,
            )

    def _get_facts(self, wanted: Sequence[_Stamped]) -> dict[str, tuple[dict[str, str], str, dict[str, Any]]]:
        """Return declared fields, state and values of the columns of submissions."""
        columns = stored_columns()
        lookups = list(dict.fromkeys(lookup for column in columns for lookup in column.lookups))
        readers = [
            (column.name, column.read, [lookups.index(lookup) for lookup in column.lookups])
            for column in columns
        ]
        rows = self._filter_named(wanted).values_list(_cast_id("pk"), "declared", "state", *lookups)
        return {
            key: (
                declared,
                state,
                {name: read(*[values[at] for at in places]) for name, read, places in readers},
            )
            for key, declared, state, *values in rows
        }

    def _get_shown_scores(
        self, wanted: Sequence[_Stamped], shared: Collection[_Stamped], *, full: bool
    ) -> dict[_Stamped, _Numbers]:
        """Return the scores of submissions in the columns of the leaderboard.

        Args:
            wanted: The submissions.
            shared: The human baselines among them that also show the scores of the baselines of other
                reference sets. They are not cached, because their stamps don't change with those.
            full: Whether to show all digits also of scores by private references.
        """
        question = self._question
        columns, versions = question.score_columns, question.shown_versions
        group = repr(([version.pk for version in versions], columns, full))
        known = _numbers.known(group, [one for one in wanted if one not in shared])
        missing = [one for one in wanted if one not in known]
        if not missing:
            return known
        sets = {version.pk: version.reference_set for version in versions}
        selected = Q(submission__in=self._filter_named(missing))
        if shared:
            selected |= Q(submission__baseline_of__in=list(sets.values())[1:])
        results = Result.objects.filter(selected, reference_version__in=versions)
        # The baseline of another set is part of the row of the first set's baseline.
        places: dict[int | None, list[str]] = {one.pk: [key for key, _ in shared] for one in sets.values()}
        scored: set[str] = set()
        failures: dict[str, set[tuple[str, str]]] = {}
        named = (_cast_id("submission"), "submission__baseline_of", "reference_version", "metric", "failure")
        for key, baseline, version, metric, failure in results.values_list(*named):
            if version == question.version.pk:
                scored.add(key)
            for place in places.get(baseline) or [key]:
                names = METRICS[metric]().names if failure else ()
                failures.setdefault(place, set()).update((sets[version].name, name) for name in names)
        stored: dict[str, dict[tuple[str, str, str], Sequence[float | None]]] = {}
        rows = Score.objects.filter(result__in=results)
        about = [f"result__{name}" for name in ("submission__baseline_of", "reference_version")]
        for key, baseline, version, name, subset, *ends in rows.values_list(
            _cast_id("result__submission"), *about, "name", "subset", "value", "low", "high"
        ):
            for place in places.get(baseline) or [key]:
                stored.setdefault(place, {})[sets[version].name, name, subset] = ends
        new = {
            (key, stamp): _Numbers(
                key in scored,
                shown_scores(columns, failures.get(key, ()), stored.get(key, {}), full=full),
            )
            for key, stamp in missing
        }
        _numbers.add(group, {one: numbers for one, numbers in new.items() if one not in shared})
        return known | new

    def rescoring(self) -> int:
        """Return the number of submissions that wait for scores by the current references."""
        if not self._question.current:
            return 0
        done = Result.objects.filter(reference_version=self._question.version).values("submission")
        return self._submissions.filter(state__in=UNFINISHED).exclude(pk__in=done).count()
