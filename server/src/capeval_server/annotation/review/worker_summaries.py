"""Quality statistics of each worker, from the answers of a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from django.db.models import Count, Q

from capeval.scoring.intervals import wilson_interval
from capeval.studies.judging.worker_models import fit_dawid_skene, fit_mace, gather_answers
from capeval.studies.judging.workers import binomial_p, count_agreements
from capeval_server.annotation.core.agreement import measure_caption_agreement
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Participation
from capeval_server.annotation.review.recorded_answers import (
    StoredAnswer,
    find_signals,
    list_repeats,
    load_answers,
)
from capeval_server.annotation.review.worker_signals import WorkerSignal
from capeval_server.annotation.task_types import PairVotes, TaskType, task_named
from capeval_server.annotation.workers.trust import is_trusted

__all__ = [
    "MODEL_ITERATIONS",
    "MOST_MODELED",
    "SIDED_CHOICES",
    "Proportion",
    "WorkerSummary",
    "measure_consistency",
    "summarize_workers",
]


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """Share of some answers, with the 95 % Wilson interval; undefined without answers."""

    number: int
    of: int

    @property
    def value(self) -> float | None:
        """The share."""
        return self.number / self.of if self.of else None

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return wilson_interval(self.number / self.of, self.of)[0] if self.of else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return wilson_interval(self.number / self.of, self.of)[1] if self.of else None


_NONE = Proportion(number=0, of=0)
MOST_MODELED = 100_000
"""Maximum number of answers that models of workers are fitted to, so that a page opens within seconds."""
MODEL_ITERATIONS = 100
"""Maximum number of iterations of a model of workers, for the same reason."""
SIDED_CHOICES = ("first", "second")
"""The stored choices of pairs and triplets, which models get swapped in every other item."""


@dataclass(frozen=True, kw_only=True)
class WorkerSummary:
    """Quality statistics of a worker.

    Attributes:
        participation: The worker in the campaign.
        trusted: Whether enough answers of the worker were judged, and nearly all of them accepted.
        answered: Number of answered items, with checks and without training.
        training: Number of answered training items.
        counted: Number of the worker's counted answers.
        late: Number of answers that arrived after the lease of the item and are not counted.
        checks: Passed checks.
        reviews: Accepted answers among the reviewed ones.
        agreement: Answers that agree with the majority of the other answers, if these are not tied.
        repeats: Own items, repeated mirrored, that the worker answered as before.
        same_side: Number of the other repeated items that the worker answered with the same side as before.
        left: Answers for the left side; only for task types with sides.
        left_p: P-value of the exact binomial test against choosing both sides equally often.
        likeness: Mean CIDEr-D of the worker's captions against the others of the image, and number of
            captions.
        seconds: Median time of the worker's answers in seconds, and number of answers.
        speed: That time relative to the median of all answers.
        skill: Probability of a correct answer, by Dawid and Skene's one-coin model, and number of answers.
        competence: Probability that the worker knows the answer, by MACE, and number of answers.
        signals: The reasons to look at the worker's answers.
    """

    participation: Participation
    trusted: bool
    answered: int
    training: int
    counted: int
    late: int
    checks: Proportion
    reviews: Proportion
    agreement: Proportion
    repeats: Proportion
    same_side: int
    left: Proportion
    left_p: float | None
    likeness: tuple[float, int] | None
    seconds: tuple[float, int] | None
    speed: float | None
    skill: tuple[float, int] | None
    competence: tuple[float, int] | None
    signals: tuple[WorkerSignal, ...]


def summarize_workers(campaign: Campaign) -> list[WorkerSummary]:
    """Return the statistics of each worker after consent, in order of arrival.

    Answers of blocked workers are included, so that a block can be judged. Preview answers are not.
    """
    task, options = task_named(campaign.kind), get_options(campaign)
    with_checks = load_answers(campaign, task)
    answers = [one for one in with_checks if not one.is_check]
    of_workers: dict[int, list[StoredAnswer]] = {}
    for one in answers:
        of_workers.setdefault(one.worker, []).append(one)
    agreed = _measure_agreement(answers) if task.choices else {}
    models = _estimate_quality(answers, task) if task.choices else {}
    captions = measure_caption_agreement(campaign) if task.written else None
    likeness = captions.means() if captions else {}
    checks = _count_checks(campaign)
    repeats = list_repeats(campaign)
    signals = find_signals(task, with_checks, repeats, captions)
    trained = _count_training(campaign)
    usual = _compute_median(answers)
    workers = campaign.participations.select_related("worker").exclude(stage=Participation.Stage.INVITED)
    return [
        _summarize(
            one,
            task,
            of_workers.get(one.pk, []),
            trusted=is_trusted(one, options),
            training=trained.get(one.pk, 0),
            checks=checks.get(one.pk, _NONE),
            agreement=agreed.get(one.pk, _NONE),
            repeats=repeats.get(one.pk, ()),
            models=models.get(one.pk, (None, None)),
            signals=signals.get(one.pk, ()),
            likeness=likeness.get(one.pk),
            usual=usual,
        )
        for one in workers.order_by("pk")
    ]


def _summarize(
    participation: Participation,
    task: TaskType,
    given: Sequence[StoredAnswer],
    *,
    usual: tuple[float, int] | None,
    training: int,
    checks: Proportion,
    repeats: Sequence[str],
    models: tuple[tuple[float, int] | None, tuple[float, int] | None],
    **known: Any,
) -> WorkerSummary:
    left = _count_left(task, given) if task.has_sides else _NONE
    seconds = _compute_median(given)
    again, same_side = _count_consistency(repeats)
    return WorkerSummary(
        participation=participation,
        answered=participation.answered - training,
        training=training,
        counted=sum(one.counts for one in given),
        late=sum(one.late for one in given),
        checks=checks,
        reviews=Proportion(number=participation.fine - checks.number, of=participation.judged - checks.of),
        repeats=again,
        same_side=same_side,
        left=left,
        left_p=binomial_p(left.number, left.of) if left.of else None,
        seconds=seconds,
        speed=seconds[0] / usual[0] if seconds and usual and usual[0] else None,
        skill=models[0],
        competence=models[1],
        **known,
    )


def _compute_median(answers: Iterable[StoredAnswer]) -> tuple[float, int] | None:
    """Return the median time and the number of answers; None if no time was measured."""
    seconds = [one.browser_seconds for one in answers if one.browser_seconds is not None]
    return (float(median(seconds)), len(seconds)) if seconds else None


def _measure_agreement(answers: Sequence[StoredAnswer]) -> dict[int, Proportion]:
    """Return the share of each worker's answers that agree with the majority.

    Each question of an item counts as one answer.
    """
    if not answers:
        return {}
    rows = gather_answers(
        ((one.item, question), str(one.worker), choice)
        for one in answers
        for question, choice in one.choices.items()
    )
    agreed, decided = count_agreements(rows)
    return {
        int(worker): Proportion(number=int(agreed[place]), of=int(decided[place]))
        for place, worker in enumerate(rows.workers)
    }


def _estimate_quality(
    answers: Sequence[StoredAnswer], task: TaskType
) -> dict[int, tuple[tuple[float, int], tuple[float, int]]]:
    """Return the estimates of Dawid and Skene's one-coin model and of MACE, with numbers of answers.

    The models are fitted to each question. The estimates are averages over the questions that have at least
    two different answers.
    """
    found: dict[int, list[tuple[float, float, int]]] = {}
    for question in task.choices if len(answers) <= MOST_MODELED else ():
        if len({one.choices[question] for one in answers}) < 2:
            continue
        rows = gather_answers((one.item, str(one.worker), one.choices[question]) for one in answers)
        if isinstance(task.result, PairVotes):
            rows = rows.swap_alternately(*SIDED_CHOICES)
        skill = fit_dawid_skene(rows, one_coin=True, most=MODEL_ITERATIONS).skill
        competence = fit_mace(rows, most=MODEL_ITERATIONS).competence
        numbers = rows.count_by_worker()
        for worker, *estimate in zip(rows.workers, skill, competence, numbers, strict=True):
            found.setdefault(int(worker), []).append(
                (float(estimate[0]), float(estimate[1]), int(estimate[2]))
            )
    means = {}
    for who, estimates in found.items():
        skills, competences, counts = zip(*estimates, strict=True)
        means[who] = ((fmean(skills), sum(counts)), (fmean(competences), sum(counts)))
    return means


def _count_checks(campaign: Campaign) -> dict[int, Proportion]:
    """Return the share of passed checks of each worker, without training items."""
    results = CheckResult.objects.filter(
        response__item__campaign=campaign, response__item__is_training=False
    ).order_by()
    rows = results.values_list("response__participation").annotate(
        passed=Count("pk", filter=Q(passed=True)), of=Count("pk")
    )
    return {worker: Proportion(number=passed, of=of) for worker, passed, of in rows}


def _count_training(campaign: Campaign) -> dict[int, int]:
    """Return the number of training items that each worker answered."""
    answered = Assignment.objects.filter(
        item__campaign=campaign, item__is_training=True, state=Assignment.State.SUBMITTED
    ).order_by()
    return dict(answered.values_list("participation").annotate(number=Count("pk")))


def measure_consistency(campaign: Campaign, *workers: Participation) -> dict[int, tuple[Proportion, int]]:
    """Return the workers' consistency on their own items, repeated mirrored.

    Args:
        campaign: The campaign.
        workers: The workers; by default, all.

    Returns:
        By participation, the share of answers that were the same as before, and the number of other answers
        that were for the same side as before.
    """
    found = list_repeats(campaign, *workers)
    return {worker: _count_consistency(kinds) for worker, kinds in found.items()}


def _count_consistency(kinds: Sequence[str]) -> tuple[Proportion, int]:
    return Proportion(number=kinds.count("same"), of=len(kinds)), kinds.count("side")


def _count_left(task: TaskType, answers: Iterable[StoredAnswer]) -> Proportion:
    """Return the share of answers for the left side, among the answers for a side."""
    if not {"left", "right"} <= set(task.choices["choice"].labels):
        return Proportion(number=0, of=0)
    sides = {
        (task.answer({}, {"choice": side}, mirrored=mirrored)["choice"], mirrored): side
        for side in ("left", "right")
        for mirrored in (False, True)
    }
    found = (sides.get((one.choices["choice"], one.mirrored)) for one in answers)
    chosen = [side for side in found if side is not None]
    return Proportion(number=chosen.count("left"), of=len(chosen))
