"""Quality of annotators: raw counts and model estimates, by worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.scoring.intervals import wilson_interval
from capeval.studies.judging.worker_models import Answers, fit_dawid_skene, fit_mace

__all__ = ["Share", "WorkerRow", "binomial_p", "compute_worker_rows", "count_agreements"]


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share of a worker's answers.

    Attributes:
        value: The share; None if there is nothing to count.
        low: The lower end of Wilson's interval, at 95 %.
        high: The upper end.
        count: The number of answers it is based on.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """Quality measures of one worker.

    Attributes:
        worker: The worker.
        answers: The number of answers.
        agreement: The share of answers that agree with the majority of the other workers; questions without
            other answers, or with a tie between them, are excluded.
        checks: The share of passed checks.
        left: The share of answers for the left side.
        left_p: The p-value of the exact binomial test that both sides are chosen equally often; None without
            sides.
        speed: The worker's median time divided by the median time of all answers; None without times.
        skill: The probability of a correct answer, by the one-coin form of Dawid and Skene's model.
        competence: How often the worker knows the answer, by MACE.
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


def compute_worker_rows(
    answers: Answers,
    *,
    left: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    checks: Mapping[str, Sequence[bool]] | None = None,
) -> tuple[WorkerRow, ...]:
    """Return quality measures of each worker, in the order of their first answers.

    Args:
        answers: The answers, without checks that have known answers.
        left: Whether each answer chose the caption on the worker's left side.
        seconds: The time of each answer.
        checks: Whether the worker passed each of their checks, by worker.

    Raises:
        MismatchError: The number of sides or times differs from the number of answers, or all answers are the
            same choice.

    Example:
        Three workers choose the better caption, A or B, for each of four images. Cem agrees with both
        others on two of four:

        >>> from capeval.studies.judging.worker_models import gather_answers
        >>> from capeval.studies.judging.workers import compute_worker_rows
        >>> made = {"Ann": "ABAB", "Bob": "ABAB", "Cem": "BBAA"}
        >>> rows = ((pair, who, choice) for who, text in made.items() for pair, choice in enumerate(text))
        >>> answers = gather_answers(rows)
        >>> rows = compute_worker_rows(answers)
        >>> [(row.worker, row.agreement.value, row.agreement.count) for row in rows]
        [('Ann', 1.0, 2), ('Bob', 1.0, 2), ('Cem', 0.5, 4)]
        >>> [round(row.skill.value, 3) for row in rows]
        [1.0, 1.0, 0.5]
    """
    for what, column in (("side", left), ("time", seconds)):
        if column is not None and len(column) != len(answers.worker):
            raise MismatchError(
                f"expected a {what} for each of {len(answers.worker)} answers (got {len(column)})"
            )
    agreed, asked = count_agreements(answers)
    given = answers.count_by_worker()
    skill = fit_dawid_skene(answers, one_coin=True).skill
    competence = fit_mace(answers).competence
    rows = []
    for number, worker in enumerate(answers.workers):
        of_worker = answers.worker == number
        passed = (checks or {}).get(worker, ())
        lefts = None if left is None else np.asarray(left)[of_worker]
        rows.append(
            WorkerRow(
                worker=worker,
                answers=int(given[number]),
                agreement=_build_share(float(agreed[number]), int(asked[number])),
                checks=_build_share(float(sum(passed)), len(passed)),
                left=_build_share(0, 0) if lefts is None else _build_share(float(lefts.sum()), lefts.size),
                left_p=None if lefts is None else binomial_p(int(lefts.sum()), lefts.size),
                speed=None
                if seconds is None
                else _compute_speed(np.asarray(seconds, dtype=np.float64), of_worker),
                skill=_build_share(float(skill[number] * given[number]), int(given[number])),
                competence=_build_share(float(competence[number] * given[number]), int(given[number])),
            )
        )
    return tuple(rows)


def count_agreements(answers: Answers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count each worker's answers that agree with the majority of the others.

    Returns:
        The number of agreeing answers, and the number of answers that could agree, by worker. An answer
        counts only if the other workers have a single most frequent choice.

    Example:
        Three workers choose the better caption, A or B, for each of four images. For Ann and Bob, the
        other two workers agree on two images. For Cem, they agree on four:

        >>> from capeval.studies.judging.worker_models import gather_answers
        >>> from capeval.studies.judging.workers import count_agreements
        >>> made = {"Ann": "ABAB", "Bob": "ABAB", "Cem": "BBAA"}
        >>> rows = ((pair, who, choice) for who, text in made.items() for pair, choice in enumerate(text))
        >>> answers = gather_answers(rows)
        >>> agreeing, decided = count_agreements(answers)
        >>> agreeing.tolist(), decided.tolist()
        ([2, 2, 2], [2, 2, 4])
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
    """Return the two-sided p-value of the exact binomial test of one half.

    Raises:
        MismatchError: `successes` is below 0 or above `count`.

    Example:
        A worker chose the left caption in 9 of 10 answers. Of 1,024 sequences of ten choices, 22 are at
        least as one-sided:

        >>> from capeval.studies.judging.workers import binomial_p
        >>> binomial_p(9, 10) == 22 / 1024
        True
    """
    if not 0 <= successes <= count:
        raise MismatchError(f"successes must be between 0 and {count} (got {successes})")
    # The distribution is symmetric, so the smaller tail is doubled.
    fewer = min(successes, count - successes)
    tail = sum(comb(count, number) for number in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << count))


def _build_share(successes: float, count: int) -> Share:
    if not count:
        return Share(value=None, low=None, high=None, count=0)
    value = successes / count
    low, high = wilson_interval(value, count)
    return Share(value=value, low=low, high=high, count=count)


def _compute_speed(seconds: FloatArray, of_worker: NDArray[np.bool_]) -> float | None:
    usual = float(np.median(seconds))
    return float(np.median(seconds[of_worker])) / usual if usual > 0 else None
