"""People's answers to the triplets of a plan: votes, winners, and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capeval.errors import MismatchError
from capeval.formats.judgements import Pair, Plan
from capeval.studies.protocol import krippendorff_alpha, majority, winners

__all__ = ["PlanVotes", "TripletAgreement", "WriterWins", "count_votes"]


@dataclass(frozen=True, kw_only=True)
class TripletAgreement:
    """How far people agree on the triplets of a class.

    Attributes:
        pairs: How many pairs there are.
        tied_pairs: How many of them have no winner.
        triplets: How many triplets there are.
        tied_triplets: How many of them have no majority.
        answers: How many answers there are.
        alpha: Krippendorff's alpha; None where it is not defined: all answers are the same, or no triplet has
            two.
    """

    pairs: int
    tied_pairs: int
    triplets: int
    tied_triplets: int
    answers: int
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class WriterWins:
    """How often each of two writers of captions wins against the other, in the pairs of a class."""

    kind: str | None
    a: str | None
    b: str | None
    a_wins: int
    b_wins: int
    ties: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanVotes:
    """The votes on a plan.

    Attributes:
        pairs: The pairs of the plan, each with the votes of its triplets; a tied triplet has no vote.
        winners: For each pair 1 (first), -1 (second) or 0 (a tie).
        agreement: How far people agree, by class and on `all`.
        wins: Who wins against whom.
    """

    pairs: tuple[Pair, ...]
    winners: NDArray[np.int64]
    agreement: Mapping[str, TripletAgreement]
    wins: tuple[WriterWins, ...]


def count_votes(plan: Plan, answers: Sequence[Sequence[int]]) -> PlanVotes:
    """Counts answers: the majority of a triplet is its vote, and the votes of a pair make its winner.

    Args:
        plan: What people were asked.
        answers: The answers to each triplet, 1 for the pair's first candidate and -1 for the second.

    Raises:
        MismatchError: A triplet has no answer, or a pair has no triplet.
    """
    most = max(map(len, answers), default=0)
    table = np.array([[*each, *[0] * (most - len(each))] for each in answers]).reshape(len(answers), most)
    decided = majority(table)
    pair_of = np.array([triplet.pair for triplet in plan.triplets], dtype=np.int64)
    of_pair = [decided[pair_of == number] for number in range(len(plan.pairs))]
    won = winners(of_pair)
    return PlanVotes(
        pairs=tuple(
            replace(pair, votes=tuple(votes[votes != 0].tolist()))
            for pair, votes in zip(plan.pairs, of_pair, strict=True)
        ),
        winners=won,
        agreement=_agreement(plan.pairs, pair_of, table, decided, won),
        wins=_wins(plan.pairs, won),
    )


def _agreement(
    pairs: Sequence[Pair],
    pair_of: NDArray[np.int64],
    answers: NDArray[np.int64],
    decided: NDArray[np.int64],
    won: NDArray[np.int64],
) -> dict[str, TripletAgreement]:
    kinds = [pair.kind or "" for pair in pairs]
    agreement = {}
    for kind in (*dict.fromkeys(kinds), "all"):
        chosen = np.array([kind in (each, "all") for each in kinds])
        asked = chosen[pair_of]
        agreement[kind] = TripletAgreement(
            pairs=int(chosen.sum()),
            tied_pairs=int((won[chosen] == 0).sum()),
            triplets=int(asked.sum()),
            tied_triplets=int((decided[asked] == 0).sum()),
            answers=int((answers[asked] != 0).sum()),
            alpha=_alpha(answers[asked]),
        )
    return agreement


def _alpha(answers: NDArray[np.int64]) -> float | None:
    try:
        # 0 stands for no answer.
        return krippendorff_alpha(np.where(answers == 0, np.nan, answers))
    except MismatchError:
        return None


def _wins(pairs: Sequence[Pair], won: NDArray[np.int64]) -> tuple[WriterWins, ...]:
    counts: dict[tuple[str | None, str, str], Counter[int]] = {}
    for pair, winner in zip(pairs, won.tolist(), strict=True):
        first, second = pair.first_by or "", pair.second_by or ""
        # Which of the two is the first candidate is random, so both orders are counted as one.
        swap = first > second
        writers = (pair.kind, second, first) if swap else (pair.kind, first, second)
        counts.setdefault(writers, Counter())[-winner if swap else winner] += 1
    return tuple(
        WriterWins(kind=kind, a=a, b=b, a_wins=count[1], b_wins=count[-1], ties=count[0])
        for (kind, a, b), count in counts.items()
    )
