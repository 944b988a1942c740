"""Quality statistics of each worker, from the answers of a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.db.models.fields.json import KT

from capeval.scoring.intervals import wilson_interval
from capeval.studies.judging.worker_models import gather_answers
from capeval.studies.judging.workers import binomial_p, count_agreements
from capeval_server.annotation.core.agreement import measure_caption_agreement
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, CheckResult, Participation, Response
from capeval_server.annotation.task_types import TaskType, task_named
from capeval_server.annotation.task_types.base import SIDES
from capeval_server.annotation.workers.trust import is_trusted

__all__ = ["Proportion", "WorkerSummary", "measure_consistency", "summarize_workers"]


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


@dataclass(frozen=True, kw_only=True)
class WorkerSummary:
    """Quality statistics of a worker.

    Attributes:
        participation: The worker in the campaign.
        trusted: Whether enough answers of the worker were judged, and nearly all of them accepted.
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
    """

    participation: Participation
    trusted: bool
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


class _Answer(NamedTuple):
    """The evaluated parts of an answer; `choices` by question, empty for captions."""

    worker: int
    item: int
    choices: Mapping[str, str]
    mirrored: bool
    seconds: float | None
    counts: bool
    late: bool


def summarize_workers(campaign: Campaign) -> list[WorkerSummary]:
    """Return the statistics of each worker after consent, in order of arrival.

    Answers of blocked workers are included, so that a block can be judged. Pilot answers are not.
    """
    task, options = task_named(campaign.kind), get_options(campaign)
    answers = list(_load_answers(campaign, task))
    of_workers: dict[int, list[_Answer]] = {}
    for one in answers:
        of_workers.setdefault(one.worker, []).append(one)
    agreed = _measure_agreement(answers) if task.choices else {}
    likeness = {} if task.choices else measure_caption_agreement(campaign).means()
    checks = _count_checks(campaign)
    repeats = measure_consistency(campaign)
    usual = _compute_median(answers)
    workers = campaign.participations.select_related("worker").exclude(stage=Participation.Stage.INVITED)
    return [
        _summarize(
            one,
            task,
            of_workers.get(one.pk, []),
            trusted=is_trusted(one, options),
            checks=checks.get(one.pk, _NONE),
            agreement=agreed.get(one.pk, _NONE),
            repeats=repeats.get(one.pk, (_NONE, 0))[0],
            same_side=repeats.get(one.pk, (_NONE, 0))[1],
            likeness=likeness.get(one.pk),
            usual=usual,
        )
        for one in workers.order_by("pk")
    ]


def _summarize(
    participation: Participation,
    task: TaskType,
    given: Sequence[_Answer],
    *,
    usual: tuple[float, int] | None,
    checks: Proportion,
    **known: Any,
) -> WorkerSummary:
    left = _count_left(task, given) if task.has_sides else _NONE
    seconds = _compute_median(given)
    return WorkerSummary(
        participation=participation,
        counted=sum(one.counts for one in given),
        late=sum(one.late for one in given),
        checks=checks,
        reviews=Proportion(number=participation.fine - checks.number, of=participation.judged - checks.of),
        left=left,
        left_p=binomial_p(left.number, left.of) if left.of else None,
        seconds=seconds,
        speed=seconds[0] / usual[0] if seconds and usual and usual[0] else None,
        **known,
    )


def _compute_median(answers: Iterable[_Answer]) -> tuple[float, int] | None:
    """Return the median time and the number of answers; None if no time was measured."""
    seconds = [one.seconds for one in answers if one.seconds is not None]
    return (float(median(seconds)), len(seconds)) if seconds else None


def _load_answers(campaign: Campaign, task: TaskType) -> Iterable[_Answer]:
    """Yield the newest answer of each assignment, without pilot answers and checks."""
    questions = tuple(task.choices)
    given = Response.objects.filter(item__campaign=campaign, may_count=True, redacted="")
    rows = given.order_by("assignment_id", "revision").values_list(
        "assignment_id",
        "participation_id",
        "item_id",
        "assignment__mirrored",
        "filled_slot",
        "received",
        "assignment__lease_until",
        KT("events__seconds"),
        *(KT(f"answer__{question}") for question in questions),
    )
    newest = {row[0]: row[1:] for row in rows.iterator(chunk_size=5000)}
    for worker, item, mirrored, slot, received, lease_until, seconds, *chosen in newest.values():
        yield _Answer(
            worker=worker,
            item=item,
            choices=dict(zip(questions, chosen, strict=True)),
            mirrored=mirrored,
            seconds=None if seconds is None else float(seconds),
            counts=slot is not None,
            late=slot is None and received > lease_until,
        )


def _measure_agreement(answers: Sequence[_Answer]) -> dict[int, Proportion]:
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


def _count_checks(campaign: Campaign) -> dict[int, Proportion]:
    """Return the share of passed checks of each worker, without training items."""
    results = CheckResult.objects.filter(
        response__item__campaign=campaign, response__item__is_training=False
    ).order_by()
    rows = results.values_list("response__participation").annotate(
        passed=Count("pk", filter=Q(passed=True)), of=Count("pk")
    )
    return {worker: Proportion(number=passed, of=of) for worker, passed, of in rows}


def measure_consistency(campaign: Campaign, *workers: Participation) -> dict[int, tuple[Proportion, int]]:
    """Return the workers' consistency on their own items, repeated mirrored.

    Args:
        campaign: The campaign.
        workers: The workers; by default, all.

    Returns:
        By participation, the share of answers that were the same as before, and the number of other answers
        that were for the same side as before.
    """
    task = task_named(campaign.kind)
    sides = _list_side_answers(task)
    given = Response.objects.filter(item__campaign=campaign, redacted="")
    if workers:
        given = given.filter(participation__in=workers)
    before = given.filter(item__repeat__isnull=False).order_by("revision")
    answers: dict[tuple[int, int | None], Any] = {
        (worker, item): answer
        for worker, item, answer in before.values_list("participation", "item", "answer")
    }
    again = given.filter(item__repeats__isnull=False, revision=1)
    found: dict[int, list[str]] = {}
    for worker, item, answer in again.values_list("participation", "item__repeats", "answer"):
        first = answers.get((worker, item))
        if first is not None:
            # The sides are mirrored, so a different choice of a side means the same side.
            other = "side" if answer in sides and first in sides else "other"
            found.setdefault(worker, []).append("same" if answer == first else other)
    return {
        worker: (Proportion(number=kinds.count("same"), of=len(kinds)), kinds.count("side"))
        for worker, kinds in found.items()
    }


def _list_side_answers(task: TaskType) -> list[dict[str, Any]]:
    """Return the answers that choose a side; empty for task types that have none."""
    if not task.has_sides or not set(SIDES) <= set(task.choices["choice"].labels):
        return []
    return [task.answer({}, {"choice": side}, mirrored=False) for side in SIDES]


def _count_left(task: TaskType, answers: Iterable[_Answer]) -> Proportion:
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
