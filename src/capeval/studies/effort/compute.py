"""What judging will take and show, said before it begins: answers, days, cost, intervals, differences.

A share of images is uncertain for two reasons: which images were drawn, and how few people answered for each.
Both follow from how people differ on an image, which `Agreement` says and votes at hand can estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np

from capeval._internal.validation import checked_integer, checked_number, checked_positive
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.studies.effort.options import EffortOptions, Prices
from capeval.studies.votes import is_lead_confident, is_lead_decided
from capeval.studies.votes.options import LEAST_VOTES, LEVELS

__all__ = ["Agreement", "EffortOptions", "Forecast", "Prices", "estimated_agreement", "forecast"]

_POWER = 0.8


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How people differ on a question with two answers: a beta distribution over images.

    An image draws its part of people who say yes from it.

    Attributes:
        yes: The mean part of yes.
        concentration: Small where people agree on each image (0.2: nearly always), large where images are
            alike and people differ.

    Raises:
        OptionError: A number is not in its range.
    """

    yes: float
    concentration: float

    def __post_init__(self) -> None:
        checked_number("yes", self.yes, 0.001, 0.999)
        checked_positive("concentration", self.concentration)

    def counts(self, votes: int) -> FloatArray:
        """How likely 0, 1, ... of so many votes on an image are yes: the beta-binomial distribution."""
        a, b = self.yes * self.concentration, (1 - self.yes) * self.concentration
        # Logarithms throughout: of a thousand votes, the binomial coefficients are more than a float holds.
        base = lgamma(a + b) - lgamma(a) - lgamma(b) + lgamma(votes + 1) - lgamma(votes + a + b)
        return np.array(
            [
                exp(base + lgamma(k + a) - lgamma(k + 1) + lgamma(votes - k + b) - lgamma(votes - k + 1))
                for k in range(votes + 1)
            ]
        )

    def majority(self, votes: int) -> float:
        """How likely most of so many votes on an image are yes; a tie is half."""
        counts = self.counts(votes)
        number = np.arange(votes + 1)
        return float(counts[2 * number > votes].sum() + counts[2 * number == votes].sum() / 2)

    def votes_until_decided(self, votes: int) -> float:
        """How many of so many votes it takes on average until more can't change the winner of an image."""
        return self.votes_until(lambda yes, no: is_lead_decided(abs(yes - no), yes + no, votes), votes)

    def votes_until_confident(
        self, votes: int, *, level: float = 0.95, least: int = LEAST_VOTES, curtail: bool = False
    ) -> float:
        """How many of so many votes it takes on average until the winner of an image is likely enough.

        Args:
            votes: How many votes there are at most.
            level: How likely the winner must be: see `is_confident`.
            least: How many votes there must be.
            curtail: Whether an image ends, too, when more votes can't change its winner.

        Raises:
            OptionError: `level` is not in `LEVELS` of `capeval.studies.votes`, or `least` is below 1.
        """
        checked_number("level", level, *LEVELS)
        checked_integer("least", least, 1)

        def ended(yes: int, no: int) -> bool:
            certain = curtail and is_lead_decided(abs(yes - no), yes + no, votes)
            return certain or is_lead_confident(yes, no, level=level, least=least)

        return self.votes_until(ended, votes)

    def votes_until(self, ended: Callable[[int, int], bool], votes: int) -> float:
        """How many of so many votes it takes on average until votes of an image are enough.

        Args:
            ended: Whether so many votes for yes and for no are enough.
            votes: How many there are at most.
        """
        yes, both = self.yes * self.concentration, self.concentration
        # How likely an image has gone on until now, by how many of its votes are yes.
        going_on, expected = np.ones(1), 0.0
        for taken in range(votes):
            expected += float(going_on.sum())
            number = np.arange(taken + 1)
            next_is_yes = (yes + number) / (both + taken)
            after = np.append(going_on * (1 - next_is_yes), 0.0)
            after[1:] += going_on * next_is_yes
            for k in np.flatnonzero(after).tolist():
                if ended(k, taken + 1 - k):
                    after[k] = 0.0
            going_on = after
        return expected


def estimated_agreement(answers: Sequence[Sequence[int]]) -> Agreement:
    """How people differ, from votes at hand: those of earlier studies, or of a pilot.

    By moments: the mean part of yes, and how often two votes of an image agree beyond chance.

    Args:
        answers: The votes on each image or pair: 1 for yes or the first, and anything else for no.

    Raises:
        MismatchError: No image has two votes, or all votes are the same.
    """
    yes = np.array([sum(vote == 1 for vote in votes) for votes in answers], dtype=np.float64)
    count = np.array([len(votes) for votes in answers], dtype=np.float64)
    several = count >= 2
    if not several.any():
        raise MismatchError("at least one question must have two votes (got none)")
    mean = float(yes.sum() / count.sum())
    if mean in (0.0, 1.0):
        raise MismatchError("votes must differ somewhere (got one answer throughout)")
    yes, count = yes[several], count[several]
    differ = float(np.mean(2 * yes * (count - yes) / (count * (count - 1))))
    # Two votes of an image differ in the part 2 m (1 - m) c / (1 + c).
    part = min(max(differ / (2 * mean * (1 - mean)), 1e-3), 1 - 1e-3)
    return Agreement(yes=min(max(mean, 0.001), 0.999), concentration=part / (1 - part))


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What judging will take and show.

    Attributes:
        answers: How many answers are expected, of all questions.
        most_answers: How many there are if none can stop early.
        hours: How long people work on them, together.
        days: How many days it takes.
        cost: What is paid, with the panel's fee.
        value: The expected value of a share: most votes of an image are yes.
        width: From the value to the end of its interval, at the level.
        difference: The smallest difference between two such shares that is seen with 80 % power. Systems that
            do well on the same images are told apart sooner by a paired test.
        level: The level of the interval.
    """

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
        agreement: How people differ.
        prices: The time and cost of answers.
        options: The number of systems and votes, the end of a question, and the level of the interval.

    Raises:
        OptionError: `images` is below 1.
    """
    checked_integer("images", images, 1)
    votes, questions = options.votes, images * options.systems
    each = _expected_votes(agreement, options)
    hours = questions * each * prices.seconds / 3600
    value = agreement.majority(votes)
    # An image counts 1, 0, or a half where votes are tied.
    tied = float(agreement.counts(votes)[votes // 2]) if votes % 2 == 0 else 0.0
    error = sqrt(max(value * (1 - value) - tied / 4, 0.0) / images)
    reach = NormalDist().inv_cdf((1 + options.level) / 2)
    return Forecast(
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


def _expected_votes(agreement: Agreement, options: EffortOptions) -> float:
    """Return the expected number of votes on a question."""
    votes = options.votes
    if options.confidence is not None:
        least = LEAST_VOTES if options.least is None else options.least
        return agreement.votes_until_confident(
            votes, level=options.confidence, least=least, curtail=options.curtail
        )
    return agreement.votes_until_decided(votes) if options.curtail else float(votes)
