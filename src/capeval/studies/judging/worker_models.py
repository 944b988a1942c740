"""Models of who answers how well: Dawid and Skene's, its form with one number a worker, and MACE.

Each finds at once how likely each choice is the true one of a question, and how good each worker is, by
expectation and maximization. They draw nothing at random, so the same answers give the same numbers. They are
shown beside raw counts, never alone: a model takes whoever differs from most for wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import checked_flag, checked_integer
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError

__all__ = ["Answers", "ErrorRates", "Mace", "dawid_skene", "gathered", "mace"]

# Probabilities are kept above this: a worker without an error so far could be wrong.
_LEAST = 1e-10
# What each count of MACE is increased by, divided by the number of choices (Hovy et al. 2013).
_SMOOTHING = 0.01
# Iterations end when no probability changes by more.
_CONVERGED = 1e-12

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Who chose what, a row an answer.

    Attributes:
        questions: The questions' names.
        workers: The workers' names.
        choices: The choices.
        question: The question of each answer, as its place among the names.
        worker: The worker of each answer.
        choice: What was chosen.
    """

    questions: tuple[Hashable, ...]
    workers: tuple[str, ...]
    choices: tuple[Hashable, ...]
    question: NDArray[np.int64] = field(repr=False)
    worker: NDArray[np.int64] = field(repr=False)
    choice: NDArray[np.int64] = field(repr=False)

    def counts(self) -> FloatArray:
        """How often each choice was made: questions by choices."""
        counts = np.zeros((len(self.questions), len(self.choices)))
        np.add.at(counts, (self.question, self.choice), 1)
        return counts

    def answers_of(self) -> NDArray[np.int64]:
        """How many answers each worker gave."""
        return np.bincount(self.worker, minlength=len(self.workers))


def gathered(rows: Iterable[tuple[Hashable, str, Hashable]]) -> Answers:
    """Answers from rows of question, worker and choice; names are in the order of their first answers.

    Raises:
        MismatchError: There is no answer, or a worker answered a question twice.
    """
    questions: dict[Hashable, int] = {}
    workers: dict[str, int] = {}
    choices: dict[Hashable, int] = {}
    seen: dict[tuple[int, int], int] = {}
    for question, worker, choice in rows:
        key = (_place(questions, question), _place(workers, worker))
        if key in seen:
            raise MismatchError(
                f"a worker must answer a question once (got twice {question!r} by {worker!r})"
            )
        seen[key] = _place(choices, choice)
    if not seen:
        raise MismatchError("there must be at least one answer (got none)")
    columns = np.array([(*key, choice) for key, choice in seen.items()], dtype=np.int64)
    return Answers(
        questions=tuple(questions),
        workers=tuple(workers),
        choices=tuple(choices),
        question=columns[:, 0],
        worker=columns[:, 1],
        choice=columns[:, 2],
    )


def _place(names: dict[_Key, int], name: _Key) -> int:
    return names.setdefault(name, len(names))


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorRates:
    """Dawid and Skene's model (1979).

    Attributes:
        truth: How likely each choice is the true one: questions by choices.
        prior: How often each choice is the true one.
        errors: How likely a worker makes each choice, given the true one: workers by true by chosen.
        skill: How likely each worker makes the true choice, averaged over their answers.
    """

    truth: FloatArray = field(repr=False)
    prior: FloatArray
    errors: FloatArray = field(repr=False)
    skill: FloatArray


def dawid_skene(answers: Answers, *, one_coin: bool = False, most: int = 10_000) -> ErrorRates:
    """Estimates the true choices and the workers' errors together.

    Args:
        answers: The answers.
        one_coin: Whether a worker has one number, how likely they are right, and all wrong choices are alike.
            It needs fewer answers a worker than a probability for each true and chosen choice.
        most: The most iterations.

    Raises:
        OptionError: An option has a value that is not allowed.
        MismatchError: There is only one choice.
    """
    checked_flag("one_coin", one_coin)
    checked_integer("most", most, 1)
    kinds = _choices(answers)
    counts = answers.counts()
    truth = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(most):
        prior = truth.mean(axis=0)
        skill = _skill(answers, truth)
        errors = _one_coin(skill, kinds) if one_coin else _errors(answers, truth)
        logs = np.tile(np.log(np.maximum(prior, _LEAST)), (len(truth), 1))
        np.add.at(logs, answers.question, np.log(errors[answers.worker, :, answers.choice]))
        made = _normalized(logs)
        change = float(np.abs(made - truth).max())
        truth = made
        if change < _CONVERGED:
            break
    return ErrorRates(
        truth=truth,
        prior=truth.mean(axis=0),
        errors=errors,
        skill=_skill(answers, truth),
    )


def _choices(answers: Answers) -> int:
    if len(answers.choices) < 2:
        raise MismatchError(f"answers must have at least two choices (got {len(answers.choices)})")
    return len(answers.choices)


def _normalized(logs: FloatArray) -> FloatArray:
    """Probabilities that add up to 1 in each row, from their logarithms up to a constant."""
    made: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    made /= made.sum(axis=1, keepdims=True)
    return made


def _skill(answers: Answers, truth: FloatArray) -> FloatArray:
    right = np.bincount(
        answers.worker, weights=truth[answers.question, answers.choice], minlength=len(answers.workers)
    )
    skill: FloatArray = right / answers.answers_of()
    return skill


def _errors(answers: Answers, truth: FloatArray) -> FloatArray:
    kinds = truth.shape[1]
    errors = np.zeros((len(answers.workers), kinds, kinds))
    for true in range(kinds):
        np.add.at(errors[:, true], (answers.worker, answers.choice), truth[answers.question, true])
    errors = np.maximum(errors, _LEAST)
    normal: FloatArray = errors / errors.sum(axis=2, keepdims=True)
    return normal


def _one_coin(skill: FloatArray, kinds: int) -> FloatArray:
    right = np.eye(kinds)
    errors = skill[:, None, None] * right + ((1 - skill) / (kinds - 1))[:, None, None] * (1 - right)
    clipped: FloatArray = np.clip(errors, _LEAST, 1 - _LEAST)
    return clipped


@dataclass(frozen=True, kw_only=True, eq=False)
class Mace:
    """MACE's model (Hovy et al. 2013): a worker knows the true choice, or chooses by a habit of their own.

    Attributes:
        truth: How likely each choice is the true one: questions by choices.
        competence: How often each worker knows the true choice.
        habits: What each worker chooses otherwise: workers by choices.
    """

    truth: FloatArray = field(repr=False)
    competence: FloatArray
    habits: FloatArray = field(repr=False)


def mace(answers: Answers, *, most: int = 10_000) -> Mace:
    """Estimates the true choices, and how often each worker knows them, by expectation and maximization.

    Args:
        answers: The answers.
        most: The most iterations.

    Raises:
        OptionError: `most` is below 1.
        MismatchError: There is only one choice.
    """
    checked_integer("most", most, 1)
    kinds = _choices(answers)
    workers = len(answers.workers)
    knows = np.full(workers, 0.5)
    habits = np.full((workers, kinds), 1 / kinds)
    truth = np.zeros((len(answers.questions), kinds))
    for _ in range(most):
        by_habit = (1 - knows[answers.worker]) * habits[answers.worker, answers.choice]
        if_true = by_habit + knows[answers.worker]
        logs = np.zeros_like(truth)
        np.add.at(logs, answers.question, np.log(by_habit)[:, None])
        np.add.at(logs, (answers.question, answers.choice), np.log(if_true / by_habit))
        made = _normalized(logs)
        change, truth = float(np.abs(made - truth).max()), made
        known = truth[answers.question, answers.choice] * knows[answers.worker] / if_true
        guessed = np.zeros((workers, kinds))
        np.add.at(guessed, (answers.worker, answers.choice), 1 - known)
        knowing = np.bincount(answers.worker, weights=known, minlength=workers)
        smoothing = _SMOOTHING / kinds
        total = knowing + guessed.sum(axis=1) + 2 * smoothing
        competence = (knowing + smoothing) / total
        change = max(change, float(np.abs(competence - knows).max()))
        knows = competence
        habits = (guessed + smoothing) / (guessed.sum(axis=1, keepdims=True) + kinds * smoothing)
        if change < _CONVERGED:
            break
    return Mace(truth=truth, competence=knows, habits=habits)
