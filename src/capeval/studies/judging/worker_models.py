"""Models of annotator quality: Dawid and Skene's, its one-coin form, and MACE.

Each model estimates the true choice of every question and the quality of every worker together, by
expectation maximization. There is no randomness, so the same answers give the same numbers. Show the
estimates together with raw counts: a model attributes errors to the workers who disagree most with the
others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_flag, validate_integer
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError

__all__ = ["Answers", "ErrorRates", "Mace", "fit_dawid_skene", "fit_mace", "gather_answers"]

# Lower bound of probabilities: a worker without errors so far can still be wrong.
_MIN_PROBABILITY = 1e-10
# Added to each count of MACE after division by the number of choices (Hovy et al. 2013).
_SMOOTHING = 0.01
# Iterations stop when no probability changes by more.
_TOLERANCE = 1e-12

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Answers of workers to questions, one row per answer.

    Attributes:
        questions: The questions' names.
        workers: The workers' names.
        choices: The choices.
        question: The question of each answer, as a position in `questions`.
        worker: The worker of each answer, as a position in `workers`.
        choice: The choice of each answer, as a position in `choices`.

    Example:
        >>> from capeval.studies.judging.worker_models import gather_answers
        >>> rows = [("pair 1", "Ann", "first"), ("pair 1", "Bob", "first"), ("pair 2", "Ann", "second")]
        >>> answers = gather_answers(rows)
        >>> answers.counts().tolist()
        [[2.0, 0.0], [0.0, 1.0]]
        >>> dict(zip(answers.workers, answers.count_by_worker().tolist()))
        {'Ann': 2, 'Bob': 1}
    """

    questions: tuple[Hashable, ...]
    workers: tuple[str, ...]
    choices: tuple[Hashable, ...]
    question: NDArray[np.int64] = field(repr=False)
    worker: NDArray[np.int64] = field(repr=False)
    choice: NDArray[np.int64] = field(repr=False)

    def swap_alternately(self, first: Hashable, second: Hashable) -> Answers:
        """Return the answers with two choices swapped in every other question.

        For choices between the sides of a pair, where their order means nothing. The models take a worker who
        mostly makes one choice for one who answers by habit, also if all better captions are on one side.

        Args:
            first: A choice.
            second: The choice to swap it with.

        Example:
            >>> from capeval.studies.judging.worker_models import gather_answers
            >>> answers = gather_answers([("pair 1", "Ann", "first"), ("pair 2", "Ann", "first")])
            >>> swapped = answers.swap_alternately("first", "second")
            >>> [swapped.choices[choice] for choice in swapped.choice]
            ['first', 'second']
        """
        choices = (*self.choices, *(name for name in (first, second) if name not in self.choices))
        places = np.arange(len(choices))
        pair = [choices.index(first), choices.index(second)]
        places[pair] = pair[::-1]
        choice = np.where(self.question % 2 == 1, places[self.choice], self.choice)
        return replace(self, choices=choices, choice=choice)

    def counts(self) -> FloatArray:
        """Return the number of times each choice was made: questions by choices."""
        counts = np.zeros((len(self.questions), len(self.choices)))
        np.add.at(counts, (self.question, self.choice), 1)
        return counts

    def count_by_worker(self) -> NDArray[np.int64]:
        """Return the number of answers of each worker."""
        return np.bincount(self.worker, minlength=len(self.workers))


def gather_answers(rows: Iterable[tuple[Hashable, str, Hashable]]) -> Answers:
    """Build answers from rows of question, worker and choice.

    Names are in the order of their first answers.

    Raises:
        MismatchError: There are no answers, or a worker answered a question twice.

    Example:
        >>> from capeval.studies.judging.worker_models import gather_answers
        >>> answers = gather_answers([("pair 1", "Ann", "first"), ("pair 2", "Bob", "second")])
        >>> answers.questions, answers.workers, answers.choices
        (('pair 1', 'pair 2'), ('Ann', 'Bob'), ('first', 'second'))
    """
    questions: dict[Hashable, int] = {}
    workers: dict[str, int] = {}
    choices: dict[Hashable, int] = {}
    seen: dict[tuple[int, int], int] = {}
    for question, worker, choice in rows:
        key = (_get_index(questions, question), _get_index(workers, worker))
        if key in seen:
            raise MismatchError(
                f"a worker must answer a question once (got two answers to {question!r} by {worker!r})"
            )
        seen[key] = _get_index(choices, choice)
    if not seen:
        raise MismatchError("at least one answer is required (got none)")
    columns = np.array([(*key, choice) for key, choice in seen.items()], dtype=np.int64)
    return Answers(
        questions=tuple(questions),
        workers=tuple(workers),
        choices=tuple(choices),
        question=columns[:, 0],
        worker=columns[:, 1],
        choice=columns[:, 2],
    )


def _get_index(names: dict[_Key, int], name: _Key) -> int:
    return names.setdefault(name, len(names))


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorRates:
    """Estimates of Dawid and Skene's model (1979).

    Attributes:
        truth: The probability that each choice is the true one: questions by choices.
        prior: The frequency of each choice as the true one.
        errors: The probability that a worker makes each choice, given the true one: workers by true choice by
            made choice.
        skill: The probability that each worker makes the true choice, averaged over their answers.
    """

    truth: FloatArray = field(repr=False)
    prior: FloatArray
    errors: FloatArray = field(repr=False)
    skill: FloatArray


def fit_dawid_skene(answers: Answers, *, one_coin: bool = False, most: int = 10_000) -> ErrorRates:
    """Estimate the true choices and the workers' error rates together.

    Args:
        answers: The answers.
        one_coin: Whether a worker has a single parameter, the probability of a correct answer, with all wrong
            choices equally likely. It needs fewer answers per worker than a full confusion matrix.
        most: The maximum number of iterations.

    Raises:
        OptionError: An option has an invalid value.
        MismatchError: All answers are the same choice.

    Example:
        Three workers choose the better caption, A or B, for each of four images. Cem disagrees with
        both others on two images:

        >>> from capeval.studies.judging.worker_models import fit_dawid_skene, gather_answers
        >>> made = {"Ann": "ABAB", "Bob": "ABAB", "Cem": "BBAA"}
        >>> rows = ((pair, who, choice) for who, text in made.items() for pair, choice in enumerate(text))
        >>> answers = gather_answers(rows)
        >>> rates = fit_dawid_skene(answers)
        >>> [answers.choices[best] for best in rates.truth.argmax(axis=1)]
        ['A', 'B', 'A', 'B']
        >>> dict(zip(answers.workers, rates.skill.round(3).tolist()))
        {'Ann': 1.0, 'Bob': 1.0, 'Cem': 0.5}
    """
    validate_flag("one_coin", one_coin)
    validate_integer("most", most, 1)
    kinds = _count_choices(answers)
    counts = answers.counts()
    truth = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(most):
        prior = truth.mean(axis=0)
        skill = _compute_skill(answers, truth)
        errors = _compute_one_coin_errors(skill, kinds) if one_coin else _compute_errors(answers, truth)
        logs = np.tile(np.log(np.maximum(prior, _MIN_PROBABILITY)), (len(truth), 1))
        np.add.at(logs, answers.question, np.log(errors[answers.worker, :, answers.choice]))
        made = _normalize(logs)
        change = float(np.abs(made - truth).max())
        truth = made
        if change < _TOLERANCE:
            break
    return ErrorRates(
        truth=truth,
        prior=truth.mean(axis=0),
        errors=errors,
        skill=_compute_skill(answers, truth),
    )


def _count_choices(answers: Answers) -> int:
    if len(answers.choices) < 2:
        raise MismatchError(f"answers must have at least two choices (got {len(answers.choices)})")
    return len(answers.choices)


def _normalize(logs: FloatArray) -> FloatArray:
    """Return probabilities that add up to 1 in each row, from unnormalized logs."""
    made: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    made /= made.sum(axis=1, keepdims=True)
    return made


def _compute_skill(answers: Answers, truth: FloatArray) -> FloatArray:
    right = np.bincount(
        answers.worker, weights=truth[answers.question, answers.choice], minlength=len(answers.workers)
    )
    skill: FloatArray = right / answers.count_by_worker()
    return skill


def _compute_errors(answers: Answers, truth: FloatArray) -> FloatArray:
    kinds = truth.shape[1]
    errors = np.zeros((len(answers.workers), kinds, kinds))
    for true in range(kinds):
        np.add.at(errors[:, true], (answers.worker, answers.choice), truth[answers.question, true])
    errors = np.maximum(errors, _MIN_PROBABILITY)
    normal: FloatArray = errors / errors.sum(axis=2, keepdims=True)
    return normal


def _compute_one_coin_errors(skill: FloatArray, kinds: int) -> FloatArray:
    right = np.eye(kinds)
    errors = skill[:, None, None] * right + ((1 - skill) / (kinds - 1))[:, None, None] * (1 - right)
    clipped: FloatArray = np.clip(errors, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    return clipped


@dataclass(frozen=True, kw_only=True, eq=False)
class Mace:
    """Estimates of MACE (Hovy et al. 2013).

    In this model a worker knows the true choice, or answers by habit.

    Attributes:
        truth: The probability that each choice is the true one: questions by choices.
        competence: How often each worker knows the true choice.
        habits: The distribution of each worker's choices otherwise: workers by choices.
    """

    truth: FloatArray = field(repr=False)
    competence: FloatArray
    habits: FloatArray = field(repr=False)


def fit_mace(answers: Answers, *, most: int = 10_000) -> Mace:
    """Estimate the true choices and the workers' competence by MACE.

    Args:
        answers: The answers.
        most: The maximum number of iterations of expectation maximization.

    Raises:
        OptionError: `most` is below 1.
        MismatchError: All answers are the same choice.

    Example:
        Three workers choose the better caption, A or B, for each of four images. Cem's answers fit a
        habit of choosing A and B equally often:

        >>> from capeval.studies.judging.worker_models import fit_mace, gather_answers
        >>> made = {"Ann": "ABAB", "Bob": "ABAB", "Cem": "BBAA"}
        >>> rows = ((pair, who, choice) for who, text in made.items() for pair, choice in enumerate(text))
        >>> answers = gather_answers(rows)
        >>> mace = fit_mace(answers)
        >>> dict(zip(answers.workers, mace.competence.round(2).tolist()))
        {'Ann': 1.0, 'Bob': 1.0, 'Cem': 0.03}
        >>> mace.habits[2].round(2).tolist()
        [0.5, 0.5]
    """
    validate_integer("most", most, 1)
    kinds = _count_choices(answers)
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
        made = _normalize(logs)
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
        if change < _TOLERANCE:
            break
    return Mace(truth=truth, competence=knows, habits=habits)
