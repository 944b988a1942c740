"""Pairs with the votes of people and the scores of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.formats.judgments.plans import Pair
from capeval.studies.plan import winners
from capeval.studies.shared.pair_scores import PairScorer

__all__ = ["JudgedPairs", "judge_pairs"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedPairs:
    """Pairs with the votes of people and the scores of metrics.

    Attributes:
        pairs: The pairs with the references of the metrics.
        votes: The votes on each pair, by judgment.
        winners: The human winner of each pair, by judgment: 1 for the first candidate, -1 for the second, 0
            for a tie.
        scores: The scores of both candidates, by metric: pairs by 2.
        differences: The first candidate's score minus the second's, by metric. The sign is reversed for
            metrics with lower scores for better captions.
    """

    pairs: tuple[Pair, ...]
    votes: Mapping[str, tuple[tuple[int, ...], ...]]
    winners: Mapping[str, NDArray[np.int64]]
    scores: Mapping[str, FloatArray]
    differences: Mapping[str, FloatArray]

    @property
    def kinds(self) -> list[str | None]:
        """The class of each pair."""
        return [pair.kind for pair in self.pairs]

    @property
    def truth(self) -> NDArray[np.int64]:
        """The winners by the first kind of judgment, which is the consensus if present."""
        return next(iter(self.winners.values()))


def judge_pairs(scorer: PairScorer, of_judgment: Mapping[str, Sequence[Pair]]) -> JudgedPairs:
    """Score pairs and determine their human winners.

    Args:
        scorer: The pairs with references.
        of_judgment: The same pairs in the same order with votes, by judgment.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus.judged_pairs import judge_pairs
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> dog = {"references": ("The dog is running.",), "votes": (1, 1, -1)}
        >>> pairs = [Pair(image=1, first="A dog runs.", second="A cat.", **dog)]
        >>> judged = judge_pairs(PairScorer(pairs), {"consensus": pairs})
        >>> judged.truth.tolist(), judged.scores["BLEU-1"].round(2).tolist()
        ([1], [[0.58, 0.17]])
    """
    scores = scorer.scores()
    votes = {name: tuple(pair.votes for pair in pairs) for name, pairs in of_judgment.items()}
    return JudgedPairs(
        pairs=scorer.pairs,
        votes=votes,
        winners={name: winners(each) for name, each in votes.items()},
        scores=scores,
        differences=scorer.subtract(scores),
    )
