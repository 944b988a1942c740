"""Probabilities of answers, given the answers of other workers to the same items.

The probability of a choice is its share among the answers of the other workers to items that were answered in
a similar way. It conditions on the items: if nearly all workers choose the same, so may an honest worker.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capeval.studies.effort import Agreement

__all__ = ["QuestionAnswers", "beta_binomial_tail", "disagreement_p", "same_choice_p"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Honest workers differ. The exponent of a worker's probabilities varies by this standard deviation of its
# logarithm: a worker at one standard deviation who chooses with 89 % what most others choose has 84 or 93 %.
# On a scale of more than two choices, workers also differ in their level.
_SHARPNESS, _SCALE_SHARPNESS = 0.2, 0.4
# The log odds with which a worker prefers a choice vary by this standard deviation.
_PREFERENCE = 0.3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Answers are scored in these steps of the logarithm of their probability, up to a maximum.
_STEP, _MAX_SCORE = 0.1, 50
# Number of pseudo-answers for each kind of items, with the shares of the other answers to the item.
_PSEUDO_ANSWERS = 2.0
# Kinds of items: the mean position of the other answers in eighths of the scale, and their number.
_POSITIONS, _NUMBERS = 9, np.array([1, 2, 3, 5])
# Smallest mean rate of events.
_MIN_RATE = 0.001


class QuestionAnswers:
    """The answers to a question: one row per answer.

    Attributes:
        choice: The position of the choice of each answer, in the order of the scale.
        others: The number of other answers to its item with each choice: answers by choices.
    """

    def __init__(self, item: Integers, choice: Integers, choices: int, reference: NDArray[np.bool_]) -> None:
        """Count the other answers to each answer's item, and the choices by kind of item.

        Args:
            item: The position of the item of each answer.
            choice: The position of its choice, in the order of the scale.
            choices: Number of choices.
            reference: Whether the answer is one of those with which others are compared.
        """
        counts = np.zeros((int(item.max(initial=-1)) + 1, choices))
        np.add.at(counts, (item[reference], choice[reference]), 1)
        others = counts[item]
        others[np.flatnonzero(reference), choice[reference]] -= 1
        number = others.sum(axis=1)
        mean = others @ np.arange(choices) / np.maximum(number, 1)
        position = np.rint(mean / max(choices - 1, 1) * (_POSITIONS - 1)).astype(np.int64)
        self.choice, self.others, self._reference = choice, others, reference
        self._kind = np.searchsorted(_NUMBERS, number, side="right") * _POSITIONS + position
        self._table = np.zeros(((len(_NUMBERS) + 1) * _POSITIONS, choices))
        np.add.at(self._table, (self._kind[reference], choice[reference]), 1)

    def predict(self, rows: Integers, own: Integers) -> Floats:
        """Return the probability of each choice, for some answers of a worker: answers by choices.

        Args:
            rows: The answers.
            own: All answers of the worker, which the probabilities do not include.
        """
        own = own[self._reference[own]]
        table = self._table.copy()
        np.add.at(table, (self._kind[own], self.choice[own]), -1)
        shares = table.sum(axis=0) + 1
        others = self.others[rows] + shares / shares.sum()
        pseudo = _PSEUDO_ANSWERS * others / others.sum(axis=1, keepdims=True)
        found = table[self._kind[rows]] + pseudo
        normal: Floats = found / found.sum(axis=1, keepdims=True)
        return normal


def disagreement_p(probabilities: Floats, made: Integers) -> float:
    """Return the p-value of answers that are less probable than those of an honest worker.

    Args:
        probabilities: The probability of each choice: answers by choices.
        made: The position of the choice of each answer.
    """
    scores = np.minimum(np.rint(-np.log(probabilities) / _STEP), _MAX_SCORE).astype(np.int64)
    observed = int(scores[np.arange(len(made)), made].sum())
    if not _is_large(probabilities, scores, observed):
        return 1.0
    variation = _SHARPNESS if probabilities.shape[1] == 2 else _SCALE_SHARPNESS
    sharper = probabilities ** np.exp(variation * _NODES)[:, None, None]
    return _tail(sharper / sharper.sum(axis=2, keepdims=True), scores, observed)


def same_choice_p(probabilities: Floats, number: int) -> float:
    """Return the p-value of making a choice so often.

    Args:
        probabilities: The probability of the choice in each answer.
        number: How often it was made.
    """
    scores = np.tile(np.array([0, 1]), (len(probabilities), 1))
    if not _is_large(np.stack([1 - probabilities, probabilities], axis=1), scores, number):
        return 1.0
    odds = probabilities / np.maximum(1 - probabilities, 1e-9) * np.exp(_PREFERENCE * _NODES)[:, None]
    chosen = odds / (1 + odds)
    return _tail(np.stack([1 - chosen, chosen], axis=2), scores, number)


def _is_large(probabilities: Floats, scores: Integers, observed: int) -> bool:
    """Return whether a sum is so far above its mean that its exact probability matters."""
    mean = (probabilities * scores).sum(axis=1)
    variance = (probabilities * scores**2).sum(axis=1) - mean**2
    return bool(observed >= mean.sum() + 2 * np.sqrt(variance.sum()))


def _tail(probabilities: Floats, scores: Integers, observed: int) -> float:
    """Return the probability that the sum of independent scores is at least the observed one.

    Args:
        probabilities: The probability of each choice: kinds of workers by answers by choices.
        scores: The score of each choice: answers by choices.
        observed: The observed sum, above 0.
    """
    # The last place collects all sums that are large enough.
    sums = np.zeros((len(probabilities), observed + 1))
    sums[:, 0] = 1
    for answer, values in enumerate(scores.tolist()):
        following = np.zeros_like(sums)
        for choice, value in enumerate(values):
            chance = probabilities[:, answer, choice, None]
            kept = max(observed - value, 0)
            following[:, observed - kept : observed] += chance * sums[:, :kept]
            following[:, observed] += chance[:, 0] * sums[:, kept:].sum(axis=1)
        sums = following
    return float(_WEIGHTS @ sums[:, observed])


def beta_binomial_tail(number: int, of: int, *, mean: float, concentration: float) -> float:
    """Return the probability of at least `number` of `of` events, if their rate varies between workers.

    Args:
        number: The number of events.
        of: The number of answers.
        mean: The mean rate.
        concentration: Sum of the two parameters of the beta distribution of the rates.
    """
    rates = Agreement(yes=max(mean, _MIN_RATE), concentration=concentration)
    return min(1.0, float(rates.counts(of)[number:].sum()))
