"""Human answers to a plan's triplets or pairs: votes, winners and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer, validate_number
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair, Plan
from capeval.studies.plan import majority, winners
from capeval.studies.shared.agreement import Alpha, measure_alpha
from capeval.studies.votes.options import LEAST_VOTES, LEVELS

__all__ = [
    "LEVELS",
    "Incomplete",
    "PlanVotes",
    "VoteAgreement",
    "WriterWins",
    "count_pair_votes",
    "count_votes",
    "is_confident",
    "is_decided",
    "is_lead_confident",
    "is_lead_decided",
    "posterior",
    "votes_until_confident",
    "votes_until_decided",
]

# The number of unanswered questions in a message.
_MAX_NAMED = 10

Protocol = Literal["triplets", "pairwise"]


@dataclass(frozen=True, kw_only=True)
class VoteAgreement:
    """Agreement on the questions of a class: triplets, or pairs with their image.

    Attributes:
        pairs: The number of pairs.
        tied_pairs: The number of pairs without a winner.
        questions: The number of questions; in the pairwise protocol, the number of pairs.
        tied_questions: The number of questions without a majority.
        answers: The number of answers.
        alpha: Krippendorff's alpha, with an interval over images; None if it is undefined because all answers
            are equal, or no question has two.
    """

    pairs: int
    tied_pairs: int
    questions: int
    tied_questions: int
    answers: int
    alpha: Alpha | None


@dataclass(frozen=True, kw_only=True)
class Incomplete:
    """Question with fewer answers than planned and an open outcome.

    More answers could still change its winner.

    Attributes:
        question: The number of the triplet, or of the pair in the pairwise protocol.
        pair: The number of the pair.
        answers: The number of answers.
        planned: The planned number of answers.
    """

    question: int
    pair: int
    answers: int
    planned: int


@dataclass(frozen=True, kw_only=True)
class WriterWins:
    """Wins of two writers of captions against each other, in the pairs of a class."""

    kind: str | None
    a: str | None
    b: str | None
    a_wins: int
    b_wins: int
    ties: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanVotes:
    """Votes on a plan.

    Attributes:
        protocol: The kind of question.
        numbers: The number in the plan of each counted pair.
        pairs: These pairs with their votes. In the triplet protocol, they have the references of their
            triplets and one vote per triplet, 0 for a tie.
        winners: 1 (first), -1 (second) or 0 (a tie) for each of these pairs.
        agreement: The agreement of people, by class and on `all`.
        wins: The wins of writers against each other.
        incomplete: The questions with fewer answers than planned, whose winner could still change.
        answers: The answers to each counted question, one row per question, with NaN for no answer.
        pair_of: The position in `pairs` of each of these questions.
    """

    protocol: Protocol
    numbers: tuple[int, ...]
    pairs: tuple[Pair, ...]
    winners: NDArray[np.int64]
    agreement: Mapping[str, VoteAgreement]
    wins: tuple[WriterWins, ...]
    incomplete: tuple[Incomplete, ...]
    answers: FloatArray = field(repr=False)
    pair_of: NDArray[np.int64] = field(repr=False)


def is_decided(votes: Sequence[int], planned: int) -> bool:
    """Return whether the remaining votes can't change the winner of a question.

    Args:
        votes: The votes so far: 1, -1, or 0 for neither.
        planned: The planned number of votes.

    Example:
        Two equal votes of three planned ones decide a question, and a single vote does not:

        >>> from capeval.studies.votes import is_decided
        >>> is_decided([1, 1], planned=3), is_decided([1], planned=3)
        (True, False)
    """
    return is_lead_decided(abs(sum(votes)), len(votes), planned)


def is_lead_decided(lead: int, cast: int, planned: int) -> bool:
    """Return whether a lead is final, given the numbers of cast and planned votes.

    Example:
        After 3 of 5 votes, a lead of 3 votes is final, and a lead of 1 is not:

        >>> from capeval.studies.votes import is_lead_decided
        >>> is_lead_decided(3, cast=3, planned=5), is_lead_decided(1, cast=3, planned=5)
        (True, False)
    """
    return lead > planned - cast or cast >= planned


def votes_until_decided(votes: Sequence[int], planned: int) -> int:
    """Return how many votes, in order, decide a question; all if none do.

    Args:
        votes: The votes: 1, -1, or 0 for neither.
        planned: The planned number of votes.

    Raises:
        OptionError: `planned` is below 1.

    Example:
        >>> from capeval.studies.votes import votes_until_decided
        >>> votes_until_decided([1, 1, -1], planned=3), votes_until_decided([1, -1, 1], planned=3)
        (2, 3)
    """
    validate_integer("planned", planned, 1)
    decided = (count for count in range(1, len(votes)) if is_decided(votes[:count], planned))
    return next(decided, len(votes))


def posterior(first: int, second: int) -> float:
    """Return the probability that most people prefer the first of two candidates.

    The prior of the share of people who prefer the first is uniform. Given the votes, the share has a beta
    distribution, and the result is its mass above one half.

    Args:
        first: The number of votes for the first candidate.
        second: The number of votes for the second candidate.

    Raises:
        OptionError: A number of votes is negative.

    Example:
        After one vote, the density of the share x is 2x, and its mass above one half is 3/4:

        >>> from capeval.studies.votes import posterior
        >>> posterior(1, 0), posterior(1, 1), posterior(5, 0)
        (0.75, 0.5, 0.984375)
    """
    validate_integer("first", first, 0)
    validate_integer("second", second, 0)
    return _compute_posteriors(first + second)[first]


@lru_cache(maxsize=256)
def _compute_posteriors(votes: int) -> tuple[float, ...]:
    """Return the posterior by number of votes for the first, from 0 to `votes`.

    The sums of binomial coefficients are exact.
    """
    coefficient, coefficients = 1, []
    for number in range(votes + 1):
        coefficients.append(coefficient)
        coefficient = coefficient * (votes + 1 - number) // (number + 1)
    return tuple(total / 2 ** (votes + 1) for total in accumulate(coefficients))


def is_confident(votes: Sequence[int], *, level: float = 0.95, least: int = LEAST_VOTES) -> bool:
    """Return whether the votes identify the majority preference with confidence.

    The rule is the label uncertainty of Sheng, Provost and Ipeirotis (2008, "Get another label?"), used as a
    stopping rule. Votes must be independent: for a triplet with several answers, use the majority. A share of
    votes under this stopping rule is biased, and a winner's share can be biased too.

    Args:
        votes: The votes so far: 1, -1, or 0 for neither, which is ignored.
        level: The required probability.
        least: The minimum number of votes for one of the two candidates.

    Raises:
        OptionError: `level` is not in `LEVELS`, or `least` is below 1.

    Example:
        Five equal votes suffice (the posterior is 63/64), and four votes against one do not (57/64):

        >>> from capeval.studies.votes import is_confident
        >>> is_confident([1, 1, 1, 1, 1]), is_confident([1, 1, -1, 1, 1])
        (True, False)
    """
    validate_number("level", level, *LEVELS)
    validate_integer("least", least, 1)
    return is_lead_confident(votes.count(1), votes.count(-1), level=level, least=least)


def is_lead_confident(first: int, second: int, *, level: float, least: int) -> bool:
    """Return whether the votes for each candidate are sufficient; see `is_confident`.

    Example:
        >>> from capeval.studies.votes import is_lead_confident
        >>> is_lead_confident(5, 0, level=0.95, least=5), is_lead_confident(4, 1, level=0.95, least=5)
        (True, False)
    """
    return first + second >= least and posterior(max(first, second), min(first, second)) >= level


def votes_until_confident(votes: Sequence[int], *, level: float = 0.95, least: int = LEAST_VOTES) -> int:
    """Return how many votes, in order, it takes until `is_confident`; all if never.

    Raises:
        OptionError: `level` is not in `LEVELS`, or `least` is below 1.

    Example:
        >>> from capeval.studies.votes import votes_until_confident
        >>> votes_until_confident([1, 1, 1, 1, 1, 1, 1]), votes_until_confident([1, -1, 1, 1, 1, 1, 1, 1])
        (5, 7)
    """
    validate_number("level", level, *LEVELS)
    validate_integer("least", least, 1)
    enough = (
        count for count in range(1, len(votes)) if is_confident(votes[:count], level=level, least=least)
    )
    return next(enough, len(votes))


def count_votes(plan: Plan, answers: Sequence[Sequence[int]], *, complete_only: bool = False) -> PlanVotes:
    """Count answers: the majority per triplet is a vote, and votes decide pairs.

    Args:
        plan: The plan.
        answers: The answers to each triplet, 1 for the pair's first candidate and -1 for the second.
        complete_only: Exclude triplets with fewer answers than planned, unless the remaining ones can't
            change their majority, and pairs without a complete triplet.

    Raises:
        MismatchError: The number of answer lists differs from the number of triplets, a triplet has no
            answer, or a pair has no triplet; with `complete_only`, no triplet is complete.

    Example:
        Three people answer each of three triplets. Their majorities are the votes on the pair:

        >>> from capeval.formats.judgments.plans import Pair, Plan
        >>> from capeval.studies.plan import plan_triplets
        >>> from capeval.studies.votes import count_votes
        >>> pair = Pair(image=1, first="A dog runs.", second="A dog in a field.")
        >>> references = {1: ["The dog is running.", "A dog on the grass.", "A dog outside."]}
        >>> plan = Plan(pairs=(pair,), triplets=plan_triplets([pair], references))
        >>> votes = count_votes(plan, [[1, 1, -1], [1, 1, 1], [-1, -1, 1]])
        >>> votes.pairs[0].votes, votes.winners.tolist()
        ((1, 1, -1), [1])
    """
    if len(answers) != len(plan.triplets):
        raise MismatchError(f"expected answers to each of {len(plan.triplets)} triplets (got {len(answers)})")
    incomplete = tuple(
        Incomplete(question=number, pair=triplet.pair, answers=len(given), planned=triplet.judgments)
        for number, (triplet, given) in enumerate(zip(plan.triplets, answers, strict=True))
        if not given or not is_decided(given, triplet.judgments)
    )
    left_out = _find_excluded(incomplete, "triplet", complete_only=complete_only)
    asked = [number for number in range(len(answers)) if number not in left_out]
    table = _build_answer_table([answers[number] for number in asked], "triplet")
    decided = majority(np.nan_to_num(table))
    pair_of = np.array([plan.triplets[number].pair for number in asked], dtype=np.int64)
    numbers = tuple(np.unique(pair_of).tolist()) if complete_only else tuple(range(len(plan.pairs)))
    questions = [np.flatnonzero(pair_of == number) for number in numbers]
    pairs = tuple(
        replace(
            plan.pairs[number],
            references=tuple(plan.triplets[asked[place]].reference for place in places),
            votes=tuple(decided[places].tolist()),
        )
        for number, places in zip(numbers, questions, strict=True)
    )
    won = winners([pair.votes for pair in pairs])
    places = np.searchsorted(numbers, pair_of)
    return PlanVotes(
        protocol="triplets",
        numbers=numbers,
        pairs=pairs,
        winners=won,
        agreement=_compute_agreement(pairs, places, table, decided, won),
        wins=_count_wins(pairs, won),
        incomplete=incomplete,
        answers=table,
        pair_of=places,
    )


def count_pair_votes(
    pairs: Sequence[Pair],
    answers: Sequence[Sequence[int]],
    *,
    judgments: int | None = None,
    complete_only: bool = False,
) -> PlanVotes:
    """Count answers to a plan's pairs, by people with image and both captions in view.

    This is the pairwise protocol of the CIDEr paper, appendix I.

    Args:
        pairs: The pairs of the plan.
        answers: The answers to each pair: 1 for its first candidate, -1 for the second, 0 for neither.
        judgments: The planned number of people per pair, one by default. A pair with fewer answers is
            complete if the remaining ones can't change its winner.
        complete_only: Exclude incomplete pairs.

    Raises:
        OptionError: `judgments` is below 1.
        MismatchError: The number of answer lists differs from the number of pairs, or a pair has no answer;
            with `complete_only`, no pair is complete.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.votes import count_pair_votes
        >>> by = {"first_by": "human", "second_by": "up-down"}
        >>> pairs = [Pair(image=image, first="A dog runs.", second="A dog dog.", **by) for image in (1, 2)]
        >>> votes = count_pair_votes(pairs, [[1, 1, -1], [1, -1, 0]], judgments=3)
        >>> votes.winners.tolist()
        [1, 0]
        >>> [(each.a, each.a_wins, each.b, each.b_wins, each.ties) for each in votes.wins]
        [('human', 1, 'up-down', 0, 1)]
    """
    planned = 1 if judgments is None else validate_integer("judgments", judgments, 1)
    if len(answers) != len(pairs):
        raise MismatchError(f"expected answers to each of {len(pairs)} pairs (got {len(answers)})")
    incomplete = tuple(
        Incomplete(question=number, pair=number, answers=len(given), planned=planned)
        for number, given in enumerate(answers)
        if not is_decided(given, planned)
    )
    left_out = _find_excluded(incomplete, "pair", complete_only=complete_only)
    numbers = tuple(number for number in range(len(pairs)) if number not in left_out)
    table = _build_answer_table([answers[number] for number in numbers], "pair")
    counted = tuple(replace(pairs[number], votes=tuple(answers[number])) for number in numbers)
    won = winners([pair.votes for pair in counted])
    return PlanVotes(
        protocol="pairwise",
        numbers=numbers,
        pairs=counted,
        winners=won,
        agreement=_compute_agreement(counted, np.arange(len(counted)), table, won, won),
        wins=_count_wins(counted, won),
        incomplete=incomplete,
        answers=table,
        pair_of=np.arange(len(counted)),
    )


def _find_excluded(incomplete: Sequence[Incomplete], what: str, *, complete_only: bool) -> set[int]:
    if complete_only:
        return {each.question for each in incomplete}
    without_answer = [str(each.question) for each in incomplete if not each.answers]
    if without_answer:
        more = f" and {len(without_answer) - _MAX_NAMED:,} more" if len(without_answer) > _MAX_NAMED else ""
        raise MismatchError(
            f"every {what} must have an answer (got none for {what}{'s' * (len(without_answer) > 1)}"
            f" {', '.join(without_answer[:_MAX_NAMED])}{more}); 'complete_only' excludes incomplete {what}s"
        )
    return set()


def _build_answer_table(answers: Sequence[Sequence[int]], what: str) -> FloatArray:
    """Return the answers as rows of equal length, with NaN for no answer."""
    if not answers:
        raise MismatchError(f"at least one {what} must have all of its answers (got none)")
    most = max(map(len, answers))
    return np.array([[*each, *[np.nan] * (most - len(each))] for each in answers])


def _compute_agreement(
    pairs: Sequence[Pair],
    pair_of: NDArray[np.int64],
    answers: FloatArray,
    decided: NDArray[np.int64],
    won: NDArray[np.int64],
) -> dict[str, VoteAgreement]:
    kinds = [pair.kind or "" for pair in pairs]
    images = np.array([str(pair.image) for pair in pairs])[pair_of]
    agreement = {}
    for kind in (*dict.fromkeys(kinds), "all"):
        chosen = np.array([kind in (each, "all") for each in kinds])
        asked = chosen[pair_of]
        agreement[kind] = VoteAgreement(
            pairs=int(chosen.sum()),
            tied_pairs=int((won[chosen] == 0).sum()),
            questions=int(asked.sum()),
            tied_questions=int((decided[asked] == 0).sum()),
            answers=int((~np.isnan(answers[asked])).sum()),
            alpha=measure_alpha(answers[asked], scale="nominal", units=images[asked].tolist()),
        )
    return agreement


def _count_wins(pairs: Sequence[Pair], won: NDArray[np.int64]) -> tuple[WriterWins, ...]:
    counts: dict[tuple[str | None, str, str], Counter[int]] = {}
    for pair, winner in zip(pairs, won.tolist(), strict=True):
        first, second = pair.first_by or "", pair.second_by or ""
        # The order of the two candidates is random, so both orders are counted together.
        swap = first > second
        writers = (pair.kind, second, first) if swap else (pair.kind, first, second)
        counts.setdefault(writers, Counter())[-winner if swap else winner] += 1
    return tuple(
        WriterWins(kind=kind, a=a, b=b, a_wins=count[1], b_wins=count[-1], ties=count[0])
        for (kind, a, b), count in counts.items()
    )
