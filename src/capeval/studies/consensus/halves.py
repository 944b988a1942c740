"""Human performance: half of the votes predicts the other half (CIDEr paper, section 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from capeval._internal.random import split_in_halves
from capeval.errors import MismatchError
from capeval.studies.consensus.options import ConsensusOptions
from capeval.studies.plan import winners
from capeval.studies.shared.accuracy import Accuracy, AccuracyOverDraws, accuracy, combine_draws
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import TieRules

__all__ = ["SplitHalf", "split_half", "split_halves"]


@dataclass(frozen=True, kw_only=True)
class SplitHalf:
    """Accuracy of people and metrics with one half of the references.

    Attributes:
        humans: The accuracy of people's votes on one half at predicting the votes on the other half.
        metrics: The accuracy of each metric with the references of that half.
    """

    humans: Accuracy
    metrics: Mapping[str, Accuracy]


def split_half(
    scorer: PairScorer,
    *,
    seed: int,
    rules: TieRules = TieRules(),  # noqa: B008 - it is immutable.
) -> SplitHalf:
    """Return human performance: half of the triplets predict the other half.

    This is section 7.4 of the CIDEr paper.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        seed: The seed of the halves; each pair has its own.
        rules: The rules for ties; a tie of the predicting half counts like a metric's tie.

    Raises:
        MismatchError: A pair does not have a vote for each of its references.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import split_half
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> from capeval.studies.shared.ties import TieRules
        >>> dog = ("The dog is running.", "A dog runs on grass.", "A brown dog.", "A dog outside.")
        >>> pair = Pair(image=1, first="A dog runs.", second="A cat.", references=dog, votes=(1, 1, 1, -1))
        >>> half = TieRules(ties="half", human_ties="half")
        >>> halves = split_half(PairScorer([pair]), seed=0, rules=half)
        >>> halves.humans.value  # One half of the votes is a tie.
        0.5
        >>> halves.metrics["ROUGE-L"].value
        1.0
    """
    truth, humans, chosen = [], [], []
    for place, pair in enumerate(scorer.pairs):
        if len(pair.votes) != len(pair.references):
            raise MismatchError(
                f"pair {place} must have a vote for each of its {len(pair.references)} references"
                f" (got {len(pair.votes)})"
            )
        votes = np.array(pair.votes)
        known, predicting = split_in_halves(len(votes), seed=seed + place)
        truth.append(votes[known])
        humans.append(votes[predicting])
        chosen.append(predicting)
    wanted = winners(truth)
    differences = scorer.differences(chosen)
    return SplitHalf(
        humans=accuracy(winners(humans), wanted, rules),
        metrics={name: accuracy(values, wanted, rules) for name, values in differences.items()},
    )


def split_halves(
    scorer: PairScorer,
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, AccuracyOverDraws]:
    """Return human performance over several random halves; see `split_half`.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        options: The number of draws, the seed, and the rules for ties.
        checkpoint: The checkpoint of finished draws; in memory only by default.
        progress: Called with a description of the next step.

    Returns:
        The accuracy of `Humans` and of each metric, by name.

    Raises:
        MismatchError: A pair does not have a vote for each of its references.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, split_halves
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> dog = ("The dog is running.", "A dog runs on grass.", "A brown dog.", "A dog outside.")
        >>> pair = Pair(image=1, first="A dog runs.", second="A cat.", references=dog, votes=(1, 1, 1, -1))
        >>> options = ConsensusOptions(draws=5, ties="half", human_ties="half")
        >>> found = split_halves(PairScorer([pair]), options)
        >>> found["Humans"].mean, round(found["ROUGE-L"].mean, 3)
        (0.5, 0.8)
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")

    def half(draw: int) -> dict[str, dict[str, float]]:
        # The seed of a pair is the draw's seed plus the pair's position, so seeds of draws are far apart.
        seed = options.seed + draw * 1_000_003
        halved = split_half(scorer, seed=seed, rules=replace(options.tie_rules, seed=seed))
        return {name: asdict(each) for name, each in {"Humans": halved.humans, **halved.metrics}.items()}

    parts = []
    for draw in range(options.draws):
        progress(f"Halves of the references, draw {draw + 1} of {options.draws}")
        parts.append(checkpoint.part(f"halves {draw}", partial(half, draw)))
    return {name: combine_draws([Accuracy(**part[name]) for part in parts]) for name in parts[0]}
