"""The evaluated parts of a campaign's answers, and the signals of its workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q
from django.db.models.fields.json import KT

from capeval_server.annotation.core.agreement import CaptionAgreement, measure_caption_agreement
from capeval_server.annotation.models import Campaign, Participation, Response
from capeval_server.annotation.review.worker_signals import (
    RecordedAnswer,
    SignalScale,
    WorkerSignal,
    find_worker_signals,
)
from capeval_server.annotation.task_types import TaskType, task_named
from capeval_server.annotation.task_types.base import SIDES

__all__ = ["StoredAnswer", "find_signals", "list_repeats", "list_workers_with_signal", "load_answers"]


class StoredAnswer(NamedTuple):
    """The evaluated parts of an answer.

    Attributes:
        key: The key of the newest answer.
        worker: Participation of the worker.
        item: The item.
        choices: The choice of each question; empty for captions.
        mirrored: Whether the sides were shown mirrored.
        browser_seconds: Time that the browser measured.
        is_check: Whether the item is an attention check.
        counts: Whether it is counted.
        late: Whether it arrived after the lease and is not counted.
        batch: Number of the batch in which the item was assigned.
        opened: Time of the assignment.
        received: Time of the first answer.
        caption: The caption; empty for choices.
        pasted: Number of pasted characters, counted by the browser.
    """

    key: int
    worker: int
    item: int
    choices: Mapping[str, str]
    mirrored: bool
    browser_seconds: float | None
    is_check: bool
    counts: bool
    late: bool
    batch: int
    opened: datetime
    received: datetime
    caption: str
    pasted: float


def load_answers(campaign: Campaign, task: TaskType) -> list[StoredAnswer]:
    """Return the newest answer of each assignment, in order of time.

    Answers of the preview, the training and to repeated items are left out, and checks of captions.
    """
    questions = tuple(task.choices)
    shown = Q(may_count=True)
    if questions:
        shown |= Q(item__is_check=True, item__is_training=False, item__repeats=None)
    given = Response.objects.filter(shown, item__campaign=campaign, redacted="")
    texts = (*questions, task.written) if task.written else questions
    rows = given.order_by("assignment_id", "revision").values_list(
        "assignment_id",
        "pk",
        "participation_id",
        "item_id",
        "assignment__mirrored",
        "item__is_check",
        "filled_slot",
        "received",
        "assignment__lease_until",
        "assignment__batch",
        "assignment__opened",
        KT("events__seconds"),
        KT("events__pasted"),
        *(KT(f"answer__{name}") for name in texts),
    )
    newest: dict[int, tuple[Any, ...]] = {}
    first: dict[int, datetime] = {}
    for assignment, *row in rows.iterator(chunk_size=5000):
        newest[assignment] = tuple(row)
        first.setdefault(assignment, row[6])
    found = [_build_answer(row, first[key], questions) for key, row in newest.items()]
    return sorted(found, key=lambda one: (one.received, one.key))


def _build_answer(row: tuple[Any, ...], first: datetime, questions: Sequence[str]) -> StoredAnswer:
    key, worker, item, mirrored, is_check, slot, received, lease_until, batch, opened, *more = row
    seconds, pasted, *texts = more
    choices = texts[: len(questions)]
    return StoredAnswer(
        key=key,
        worker=worker,
        item=item,
        choices=dict(zip(questions, choices, strict=True)),
        mirrored=mirrored,
        browser_seconds=None if seconds is None else float(seconds),
        is_check=is_check,
        counts=slot is not None,
        late=not is_check and slot is None and received > lease_until,
        batch=batch,
        opened=opened,
        received=first,
        caption="".join(text or "" for text in texts[len(questions) :]),
        pasted=float(pasted or 0),
    )


def list_repeats(campaign: Campaign, *workers: Participation) -> dict[int, list[str]]:
    """Return how workers answered their own items, repeated mirrored, in order of time.

    Args:
        campaign: The campaign.
        workers: The workers; by default, all.

    Returns:
        By participation, "same" for an answer as before, "side" for the same side as before, else "other".
    """
    sides = _list_side_answers(task_named(campaign.kind))
    given = Response.objects.filter(item__campaign=campaign, redacted="")
    if workers:
        given = given.filter(participation__in=workers)
    before = given.filter(item__repeat__isnull=False).order_by("revision")
    answers: dict[tuple[int, int | None], Any] = {
        (worker, item): answer
        for worker, item, answer in before.values_list("participation", "item", "answer")
    }
    again = given.filter(item__repeats__isnull=False, revision=1).order_by("pk")
    found: dict[int, list[str]] = {}
    for worker, item, answer in again.values_list("participation", "item__repeats", "answer"):
        first = answers.get((worker, item))
        if first is not None:
            # The sides are mirrored, so a different choice of a side means the same side.
            other = "side" if answer in sides and first in sides else "other"
            found.setdefault(worker, []).append("same" if answer == first else other)
    return found


def _list_side_answers(task: TaskType) -> list[dict[str, Any]]:
    """Return the answers that choose a side; empty for task types that have none."""
    if not task.has_sides or not set(SIDES) <= set(task.choices["choice"].labels):
        return []
    return [task.answer({}, {"choice": side}, mirrored=False) for side in SIDES]


def find_signals(
    task: TaskType,
    answers: Sequence[StoredAnswer],
    repeats: Mapping[int, Sequence[str]],
    agreement: CaptionAgreement | None,
) -> dict[int, tuple[WorkerSignal, ...]]:
    """Return the signals of each flagged worker, by participation.

    Args:
        task: The task type of the campaign.
        answers: The answers of the campaign, with checks.
        repeats: Answers to repeated items, from `list_repeats`.
        agreement: The agreement of captions; None for choices.
    """
    seconds = _measure_seconds(answers)
    scores = agreement.scores if agreement else {}
    recorded = [
        RecordedAnswer(
            worker=one.worker,
            item=one.item,
            choices=one.choices,
            mirrored=one.mirrored,
            seconds=seconds[one.worker, one.batch],
            caption=one.caption,
            pasted=one.pasted,
            likeness=scores.get(one.key),
        )
        for one in answers
    ]
    same = {worker: [kind == "same" for kind in kinds] for worker, kinds in repeats.items()}
    return find_worker_signals(recorded, _build_scales(task, answers), same)


def list_workers_with_signal(campaign: Campaign, name: str) -> list[int]:
    """Return the participations of the workers with a signal, or with any if the name is "any"."""
    task = task_named(campaign.kind)
    agreement = measure_caption_agreement(campaign) if task.written else None
    found = find_signals(task, load_answers(campaign, task), list_repeats(campaign), agreement)
    return [worker for worker, signals in found.items() if name in {"any", *(one.name for one in signals)}]


def _measure_seconds(answers: Iterable[StoredAnswer]) -> dict[tuple[int, int], float]:
    """Return the time per answer of each batch, by worker and batch.

    Answers of a batch can arrive at once, after a time without network. The time from the assignment of the
    batch to its last answer is an upper bound of the work on it.
    """
    batches: dict[tuple[int, int], list[StoredAnswer]] = {}
    for one in answers:
        batches.setdefault((one.worker, one.batch), []).append(one)
    return {
        batch: (max(one.received for one in rows) - min(one.opened for one in rows)).total_seconds()
        / len(rows)
        for batch, rows in batches.items()
    }


def _build_scales(task: TaskType, answers: Sequence[StoredAnswer]) -> dict[str, SignalScale]:
    scales = {}
    for name, question in task.choices.items():
        labels = list(question.labels)
        stored = labels
        if task.has_sides:
            stored = [task.answer({}, {name: label}, mirrored=False)[name] for label in labels]
        # Labels of a task type can share a stored choice, and it can store choices without a label.
        others = {one.choices[name] for one in answers} - set(stored)
        sides = [choice for label, choice in zip(labels, stored, strict=True) if label in SIDES]
        scales[name] = SignalScale(
            choices=tuple(dict.fromkeys([*stored, *sorted(others, key=str)])),
            sides=sides if len(set(sides)) == len(SIDES) else (),
        )
    return scales
