"""What the answers to choices say of each worker: raw counts, and models beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.studies.judging.worker_models import Answers, dawid_skene, mace
from capeval.studies.shared.accuracy import wilson

__all__ = ["Share", "WorkerRow", "agreement_with_others", "binomial_p", "worker_rows"]


@dataclass(frozen=True, kw_only=True)
class Share:
    """A part of a worker's answers.

    Attributes:
        value: The part; None where there is none to count.
        low: The lower end of Wilson's interval, at 95 %.
        high: The upper end.
        count: How many answers it is a part of.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """What the answers say of a worker.

    Attributes:
        worker: The worker.
        answers: How many answers they gave.
        agreement: The part of their answers that is that of most others; questions where the others are tied
            or nobody else answered are left out.
        checks: The part of the checks that they passed.
        left: The part of their answers for the left side.
        left_p: The p-value of the exact binomial test that they choose both sides as often; None without
            sides.
        speed: The median time of their answers as a part of the median of all answers; None without times.
        skill: How likely they are right, by Dawid and Skene's model with one number a worker.
        competence: How often they know the answer, by MACE.
    """

    worker: str
    answers: int
    agreement: Share
    checks: Share
    left: Share
    left_p: float | None
    speed: float | None
    skill: Share
    competence: Share


def worker_rows(
    answers: Answers,
    *,
    left: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    checks: Mapping[str, Sequence[bool]] | None = None,
) -> tuple[WorkerRow, ...]:
    """What the answers say of each worker, in the order of their first answers.

    Args:
        answers: The answers; checks with known answers are not among them.
        left: Of each answer, whether it chose what the worker saw on the left.
        seconds: Of each answer, how long it took.
        checks: For each worker, of each check whether they passed it.

    Raises:
        MismatchError: There is not a side or a time for each answer, or only one choice was ever made.
    """
    for what, column in (("side", left), ("time", seconds)):
        if column is not None and len(column) != len(answers.worker):
            raise MismatchError(
                f"there must be a {what} for each of {len(answers.worker)} answers (got {len(column)})"
            )
    agreed, asked = agreement_with_others(answers)
    given = answers.answers_of()
    skill = dawid_skene(answers, one_coin=True).skill
    competence = mace(answers).competence
    rows = []
    for number, worker in enumerate(answers.workers):
        of_worker = answers.worker == number
        passed = (checks or {}).get(worker, ())
        lefts = None if left is None else np.asarray(left)[of_worker]
        rows.append(
            WorkerRow(
                worker=worker,
                answers=int(given[number]),
                agreement=_share(float(agreed[number]), int(asked[number])),
                checks=_share(float(sum(passed)), len(passed)),
                left=_share(0, 0) if lefts is None else _share(float(lefts.sum()), lefts.size),
                left_p=None if lefts is None else binomial_p(int(lefts.sum()), lefts.size),
                speed=None if seconds is None else _speed(np.asarray(seconds, dtype=np.float64), of_worker),
                skill=_share(float(skill[number] * given[number]), int(given[number])),
                competence=_share(float(competence[number] * given[number]), int(given[number])),
            )
        )
    return tuple(rows)


def agreement_with_others(answers: Answers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many answers of each worker are those of most others, and how many could be.

    An answer counts only where others have a choice that more of them made than any other choice.
    """
    others = answers.counts()[answers.question]
    others[np.arange(len(others)), answers.choice] -= 1
    most = others.max(axis=1)
    decided = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)
    same = decided & (others[np.arange(len(others)), answers.choice] == most)
    workers = len(answers.workers)
    return (
        np.bincount(answers.worker[same], minlength=workers),
        np.bincount(answers.worker[decided], minlength=workers),
    )


def binomial_p(successes: int, count: int) -> float:
    """The two-sided p-value of the exact binomial test of one half.

    Raises:
        MismatchError: There are more successes than cases, or fewer than none.
    """
    if not 0 <= successes <= count:
        raise MismatchError(f"successes must be from 0 to {count} (got {successes})")
    # Both tails are alike, so the smaller is doubled.
    fewer = min(successes, count - successes)
    tail = sum(comb(count, number) for number in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << count))


def _share(successes: float, count: int) -> Share:
    if not count:
        return Share(value=None, low=None, high=None, count=0)
    value = successes / count
    low, high = wilson(value, count)
    return Share(value=value, low=low, high=high, count=count)


def _speed(seconds: FloatArray, of_worker: NDArray[np.bool_]) -> float | None:
    usual = float(np.median(seconds))
    return float(np.median(seconds[of_worker])) / usual if usual > 0 else None
