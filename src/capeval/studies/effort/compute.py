"""Forecast of an annotation campaign: answers, days, cost, intervals, power.

A share of images is uncertain for two reasons: the choice of images, and the small number of answers per
image. Both depend on the disagreement between people on an image, which `Agreement` models and existing votes
can estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np

from capeval._internal.validation import validate_integer, validate_number, validate_positive
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.studies.effort.options import EffortOptions, Prices
from capeval.studies.votes import is_lead_confident, is_lead_decided
from capeval.studies.votes.options import LEAST_VOTES, LEVELS

__all__ = ["Agreement", "EffortOptions", "Forecast", "Prices", "estimated_agreement", "forecast"]

_POWER = 0.8


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Beta distribution, over images, of the share of yes answers.

    It models the disagreement between people on a question with two answers: each image draws its share from
    the distribution.

    Attributes:
        yes: The mean share of yes.
        concentration: Small if people agree on each image (0.2: nearly always), large if images are similar
            and people disagree.

    Raises:
        OptionError: A number is out of range.

    Example:
        >>> from capeval.studies.effort import Agreement
        >>> agreement = Agreement(yes=0.5, concentration=2)
        >>> agreement.counts(2).round(3).tolist()
        [0.333, 0.333, 0.333]
        >>> round(agreement.votes_until_decided(3), 3)  # 2 votes if they are equal, otherwise 3.
        2.333
    """

    yes: float
    concentration: float

    def __post_init__(self) -> None:
        validate_number("yes", self.yes, 0.001, 0.999)
        validate_positive("concentration", self.concentration)

    def counts(self, votes: int) -> FloatArray:
        """Return the probability of 0, 1, ..., `votes` yes votes on an image.

        This is the beta-binomial distribution.
        """
        a, b = self.yes * self.concentration, (1 - self.yes) * self.concentration
        # Logarithms, because the binomial coefficients of a thousand votes exceed the range of floats.
        base = lgamma(a + b) - lgamma(a) - lgamma(b) + lgamma(votes + 1) - lgamma(votes + a + b)
        return np.array(
            [
                exp(base + lgamma(k + a) - lgamma(k + 1) + lgamma(votes - k + b) - lgamma(votes - k + 1))
                for k in range(votes + 1)
            ]
        )

    def majority(self, votes: int) -> float:
        """Return the probability of a yes majority of `votes` votes; a tie counts half."""
        counts = self.counts(votes)
        number = np.arange(votes + 1)
        return float(counts[2 * number > votes].sum() + counts[2 * number == votes].sum() / 2)

    def votes_until_decided(self, votes: int) -> float:
        """Return the expected number of votes until the winner of an image is final.

        An image has at most `votes` votes. Its winner is final if the remaining votes can't change it.
        """
        return self.votes_until(lambda yes, no: is_lead_decided(abs(yes - no), yes + no, votes), votes)

    def votes_until_confident(
        self, votes: int, *, level: float = 0.95, least: int = LEAST_VOTES, curtail: bool = False
    ) -> float:
        """Return the expected number of votes until an image's winner is likely enough.

        Args:
            votes: The maximum number of votes.
            level: The required probability of the winner; see `is_confident`.
            least: The minimum number of votes.
            curtail: Whether an image also ends if more votes can't change its winner.

        Raises:
            OptionError: `level` is not in `LEVELS` of `capeval.studies.votes`, or `least` is below 1.
        """
        validate_number("level", level, *LEVELS)
        validate_integer("least", least, 1)

        def ended(yes: int, no: int) -> bool:
            certain = curtail and is_lead_decided(abs(yes - no), yes + no, votes)
            return certain or is_lead_confident(yes, no, level=level, least=least)

        return self.votes_until(ended, votes)

    def votes_until(self, ended: Callable[[int, int], bool], votes: int) -> float:
        """Return the expected number of votes on an image until a stopping rule applies.

        Args:
            ended: Stopping rule: whether the given numbers of yes and no votes are sufficient.
            votes: The maximum number of votes.
        """
        yes, both = self.yes * self.concentration, self.concentration
        # Probability that an image is still open, by its number of yes votes.
        still_open, expected = np.ones(1), 0.0
        for taken in range(votes):
            expected += float(still_open.sum())
            number = np.arange(taken + 1)
            next_is_yes = (yes + number) / (both + taken)
            after = np.append(still_open * (1 - next_is_yes), 0.0)
            after[1:] += still_open * next_is_yes
            for k in np.flatnonzero(after).tolist():
                if ended(k, taken + 1 - k):
                    after[k] = 0.0
            still_open = after
        return expected


def estimated_agreement(answers: Sequence[Sequence[int]]) -> Agreement:
    """Estimate the agreement of people from votes of earlier studies or a pilot.

    The method of moments matches the mean share of yes and the frequency with which two votes of an image
    agree.

    Args:
        answers: The votes on each image or pair: 1 for yes or the first, any other number for no.

    Raises:
        MismatchError: No image has two votes, or all votes are equal.

    Example:
        >>> from capeval.studies.effort import estimated_agreement
        >>> agreement = estimated_agreement([[1, 1], [1, 0], [0, 0]])
        >>> agreement.yes, round(agreement.concentration, 3)
        (0.5, 2.0)
    """
    yes = np.array([sum(vote == 1 for vote in votes) for votes in answers], dtype=np.float64)
    count = np.array([len(votes) for votes in answers], dtype=np.float64)
    several = count >= 2
    if not several.any():
        raise MismatchError("at least one question must have two votes (got none)")
    mean = float(yes.sum() / count.sum())
    if mean in (0.0, 1.0):
        raise MismatchError("votes must not all be equal")
    yes, count = yes[several], count[several]
    differ = float(np.mean(2 * yes * (count - yes) / (count * (count - 1))))
    # Two votes of an image differ with the probability 2 m (1 - m) c / (1 + c).
    part = min(max(differ / (2 * mean * (1 - mean)), 1e-3), 1 - 1e-3)
    return Agreement(yes=min(max(mean, 0.001), 0.999), concentration=part / (1 - part))


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Forecast of a campaign.

    Attributes:
        images: The number of images or pairs per system.
        answers: The expected number of answers to all questions.
        most_answers: The number of answers without early stopping.
        hours: The total working time of all people, in hours.
        days: The duration in days.
        cost: The cost, with the panel's fee.
        value: The expected share of images with a majority of yes.
        width: The half-width of its interval, at the level.
        difference: The smallest difference between two such shares that is detectable with 80 % power. A
            paired test detects smaller differences between systems that do well on the same images.
        level: The level of the interval.
    """

    images: int
    answers: float
    most_answers: int
    hours: float
    days: float
    cost: float
    value: float
    width: float
    difference: float
    level: float


def forecast(
    *,
    images: int,
    agreement: Agreement,
    prices: Prices,
    options: EffortOptions = EffortOptions(),  # noqa: B008 - it is immutable.
) -> Forecast:
    """Forecast the answers, the time and the cost of a campaign, and its intervals.

    Args:
        images: The number of images or pairs that each system is judged on.
        agreement: The agreement of people.
        prices: The time and cost of answers.
        options: The number of systems and votes, the end of a question, and the level of the interval.

    Raises:
        OptionError: `images` is below 1.

    Example:
        >>> from capeval.studies.effort import Agreement, EffortOptions, Prices, forecast
        >>> agreement, prices = Agreement(yes=0.5, concentration=2), Prices(seconds=9, hourly=12)
        >>> options = EffortOptions(votes=3)
        >>> expected = forecast(images=200, agreement=agreement, prices=prices, options=options)
        >>> expected.answers, expected.hours, expected.cost
        (600.0, 1.5, 18.0)
        >>> round(expected.value, 3), round(expected.width, 3)  # 1.96 * sqrt(0.5 * 0.5 / 200)
        (0.5, 0.069)
    """
    validate_integer("images", images, 1)
    votes, questions = options.votes, images * options.systems
    each = _compute_expected_votes(agreement, options)
    hours = questions * each * prices.seconds / 3600
    value = agreement.majority(votes)
    # An image counts 1, 0, or 1/2 if votes are tied.
    tied = float(agreement.counts(votes)[votes // 2]) if votes % 2 == 0 else 0.0
    error = sqrt(max(value * (1 - value) - tied / 4, 0.0) / images)
    reach = NormalDist().inv_cdf((1 + options.level) / 2)
    return Forecast(
        images=images,
        answers=questions * each,
        most_answers=questions * votes,
        hours=hours,
        days=hours / (prices.workers * prices.hours),
        cost=hours * prices.hourly * (1 + prices.fee),
        value=value,
        width=reach * error,
        difference=(reach + NormalDist().inv_cdf(_POWER)) * sqrt(2) * error,
        level=options.level,
    )


def _compute_expected_votes(agreement: Agreement, options: EffortOptions) -> float:
    """Return the expected number of votes on a question."""
    votes = options.votes
    if options.confidence is not None:
        least = LEAST_VOTES if options.least is None else options.least
        return agreement.votes_until_confident(
            votes, level=options.confidence, least=least, curtail=options.curtail
        )
    return agreement.votes_until_decided(votes) if options.curtail else float(votes)
