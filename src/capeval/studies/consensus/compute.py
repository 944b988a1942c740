"""Accuracy of metrics on human preferences (CIDEr paper, sections 3, 6 and 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.formats.judgments.plans import Pair
from capeval.studies.consensus.abstract50s import classify_pairs
from capeval.studies.consensus.accuracy_tests import AccuracyTest, compare_accuracies
from capeval.studies.consensus.curves import accuracy_by_references, compute_accuracies
from capeval.studies.consensus.halves import SplitHalf, split_half, split_halves
from capeval.studies.consensus.judged_pairs import JudgedPairs, judge_pairs
from capeval.studies.consensus.options import ConsensusOptions
from capeval.studies.consensus.pairs import judged_twice, with_references
from capeval.studies.consensus.system_wins import (
    SystemWins,
    balanced_fraction_of_wins,
    compute_wins,
    fraction_of_wins,
    pearson,
)
from capeval.studies.shared.accuracy import (
    Accuracy,
    AccuracyOverDraws,
    compute_accuracy_by_class,
)
from capeval.studies.shared.agreement import Alpha, measure_alpha
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.pair_scores import PAPER_CONTENDERS, PAPER_TOKENIZER, PairScorer
from capeval.studies.shared.ties import HumanTies, TieRules
from capeval.studies.shared.words import ComparedMetric
from capeval.studies.votes import PlanVotes
from capeval.tokenizers import Tokenizer

__all__ = [
    "AccuracyTest",
    "ClassAgreement",
    "ConsensusOptions",
    "ConsensusStudy",
    "JudgedPairs",
    "SplitHalf",
    "SystemWins",
    "accuracy_by_references",
    "balanced_fraction_of_wins",
    "compare_accuracies",
    "fraction_of_wins",
    "judged_twice",
    "pearson",
    "split_half",
    "split_halves",
    "study_abstract50s",
    "study_pascal50s",
    "study_plan",
    "with_references",
]

_Progress = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class ClassAgreement:
    """Agreement of two kinds of judgment on the pairs of a class.

    Attributes:
        same: The share of the pairs with the same winner by pairwise and consensus judgments.
        alpha: Krippendorff's alpha of the pairwise votes, with an interval over images; None if it is
            undefined because all votes are equal.
    """

    same: Accuracy
    alpha: Alpha | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ConsensusStudy:
    """Comparison of metrics with human judgments of pairs.

    Attributes:
        dataset: The published judgments; None for a plan of the user.
        options: The options of the study.
        judged: The pairs with votes and scores.
        accuracy: Each metric's accuracy, by judgment, metric and class (and `all`).
        tests: The paired tests of the accuracies on all pairs, by the first kind of judgment.
        human: The accuracy of people's votes, and of each metric, both with half of the references, at
            predicting the votes of the other half; empty unless there is a vote for each reference.
        agreement: The agreement of two kinds of judgment, by class; empty if there is only one kind.
        wins: The fraction of wins of each system, by judgment or metric; empty if systems are unknown.
        balanced_wins: The same with equal weights of all opponents of a system.
        by_references: The accuracy for each of `options.counts`, by class and metric; empty without counts.
    """

    dataset: Literal["ABSTRACT-50S", "PASCAL-50S"] | None
    options: ConsensusOptions
    judged: JudgedPairs
    accuracy: Mapping[str, Mapping[str, Mapping[str, Accuracy]]]
    tests: tuple[AccuracyTest, ...]
    human: Mapping[str, AccuracyOverDraws] = field(default_factory=dict)
    agreement: Mapping[str, ClassAgreement] = field(default_factory=dict)
    wins: Mapping[str, SystemWins] = field(default_factory=dict)
    balanced_wins: Mapping[str, SystemWins] = field(default_factory=dict)
    by_references: Mapping[str, Mapping[str, tuple[AccuracyOverDraws, ...]]]


def study_abstract50s(
    pairs: Sequence[Pair],
    options: ConsensusOptions,
    *,
    contenders: Sequence[ComparedMetric] = PAPER_CONTENDERS,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compare metrics with the triplet votes of ABSTRACT-50S.

    Args:
        pairs: The pairs, two of each image, from `load_abstract50s`; classes are not required.
        options: The options.
        contenders: The metrics; those of the paper by default.
        checkpoint: The file for finished draws.
        progress: Called with a description of the next step: once for each draw of halves, and of each count.

    Raises:
        MismatchError: An image does not have two pairs that share a candidate, or there are too few
            references.
        FormatError: The checkpoint belongs to other data or options.
        DependencyError: Stems are required and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, study_abstract50s
        >>> dog = ("The dog runs.", "A dog runs fast.", "A dog is running.", "A dog.")
        >>> pairs = [
        ...     Pair(image=1, first="A dog runs.", second="A bed.", references=dog, votes=(1, 1, 1, -1)),
        ...     Pair(image=1, first="A dog runs.", second="A cat.", references=dog, votes=(1, 1, 1, 1)),
        ... ]
        >>> study = study_abstract50s(pairs, ConsensusOptions())
        >>> {kind: each.value for kind, each in study.accuracy["consensus"]["ROUGE-L"].items()}
        {'HC': 1.0, 'HI': 1.0, 'all': 1.0}
        >>> study.human["Humans"].pairs  # In a draw of halves, the first pair can be without a winner.
        1
    """
    pairs = classify_pairs(pairs).pairs
    scorer = _build_scorer(options, pairs, contenders)
    done = _open_checkpoint(options, checkpoint, scorer)
    judged = judge_pairs(scorer, {"consensus": pairs})
    return ConsensusStudy(
        dataset="ABSTRACT-50S",
        options=options,
        judged=judged,
        accuracy=_compute_accuracies(judged, options.tie_rules),
        tests=compare_accuracies(judged.differences, judged.truth, options.tie_rules),
        human=split_halves(scorer, options, checkpoint=done, progress=progress),
        by_references=accuracy_by_references(
            scorer, judged.truth, options, checkpoint=done, progress=progress
        ),
    )


def study_pascal50s(
    preferences: Sequence[Pair],
    judged: Sequence[Pair],
    options: ConsensusOptions,
    *,
    contenders: Sequence[ComparedMetric] = PAPER_CONTENDERS,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compare metrics with both kinds of judgment of PASCAL-50S.

    Args:
        preferences: The pairs with references and the consensus of the triplets.
        judged: The same pairs, in any order, with the votes of people who saw the image.
        options: The options.
        contenders: The metrics; those of the paper by default.
        checkpoint: The file for finished draws.
        progress: Called with a description of the next step: once for each draw of each count.

    Raises:
        MismatchError: A pair has only one kind of judgment, or too few references.
        FormatError: The checkpoint belongs to other data or options.
        DependencyError: Stems are required and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.

    Example:
        >>> from dataclasses import replace
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, study_pascal50s
        >>> systems = {"kind": "MM", "first_by": "1", "second_by": "2"}
        >>> dog = Pair(image="1.jpg", first="A dog.", second="A cat.", references=("The dog.",), **systems)
        >>> cat = Pair(image="2.jpg", first="A bed.", second="A cat.", references=("The cat.",), **systems)
        >>> preferences = [replace(dog, votes=(1,)), replace(cat, votes=(-1,))]
        >>> judged = [replace(dog, votes=(1, 1, -1)), replace(cat, votes=(1, -1, 1))]
        >>> study = study_pascal50s(preferences, judged, ConsensusOptions())
        >>> {name: metrics["ROUGE-L"]["all"].value for name, metrics in study.accuracy.items()}
        {'consensus': 1.0, 'pairwise': 0.5}
        >>> study.wins["pairwise"].fractions
        {'1': 1.0, '2': 0.0}
    """
    pairwise = judged_twice(preferences, judged)
    # Only the pairwise judgments name the systems.
    preferences = [
        replace(pair, first_by=same.first_by, second_by=same.second_by)
        for pair, same in zip(preferences, pairwise, strict=True)
    ]
    scorer = _build_scorer(options, preferences, contenders)
    done = _open_checkpoint(options, checkpoint, scorer)
    scored = judge_pairs(scorer, {"consensus": preferences, "pairwise": pairwise})
    chosen = {**scored.winners, **scored.differences}
    return ConsensusStudy(
        dataset="PASCAL-50S",
        options=options,
        judged=scored,
        accuracy=_compute_accuracies(scored, options.tie_rules),
        tests=compare_accuracies(scored.differences, scored.truth, options.tie_rules),
        agreement=_compute_agreement(pairwise, scored, options.human_ties),
        wins=compute_wins(pairwise, chosen),
        balanced_wins=compute_wins(pairwise, chosen, balanced=True),
        by_references=accuracy_by_references(
            scorer, scored.truth, options, checkpoint=done, progress=progress
        ),
    )


def study_plan(
    votes: PlanVotes | None,
    pair_votes: PlanVotes | None,
    options: ConsensusOptions,
    *,
    references: Mapping[ImageId, Sequence[str]] | None = None,
    contenders: Sequence[ComparedMetric] = PAPER_CONTENDERS,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compare metrics with human answers to a plan's triplets, pairs, or both.

    Args:
        votes: The votes on triplets, the consensus.
        pair_votes: The votes of people who saw the image and both captions. With votes on triplets as well,
            pairs without both kinds of vote are excluded.
        options: The options.
        references: The references for metrics, by image. Captions that occur in pairs of the image are
            excluded. The references of the triplets by default.
        contenders: The metrics; those of the paper by default.
        checkpoint: The file for finished draws.
        progress: Called with a description of the next step: once for each draw of halves, and of each count.

    Raises:
        OptionError: There are no votes, or only votes on pairs without references.
        MismatchError: A pair has no references, or too few.
        FormatError: The checkpoint belongs to other data or options.
        DependencyError: Stems are required and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, study_plan
        >>> from capeval.studies.votes import count_pair_votes
        >>> pairs = [
        ...     Pair(image=1, first="A dog runs.", second="A cat."),
        ...     Pair(image=2, first="Two cats.", second="Two cats on a table."),
        ... ]
        >>> votes = count_pair_votes(pairs, [(1, 1, -1), (1, 1, 1)])
        >>> references = {1: ["The dog runs."], 2: ["Two cats sleep on a bed."]}
        >>> study = study_plan(None, votes, ConsensusOptions(), references=references)
        >>> study.accuracy["pairwise"]["ROUGE-L"]["all"].value  # Wrong on image 2
        0.5
    """
    if votes is None and (pair_votes is None or references is None):
        raise OptionError("votes on triplets, or votes on pairs with references, are required (got neither)")
    judged = {"consensus": _index_by_number(votes), "pairwise": _index_by_number(pair_votes)}
    judged = {name: pairs for name, pairs in judged.items() if pairs}
    numbers = [
        number for number in next(iter(judged.values())) if all(number in one for one in judged.values())
    ]
    if not numbers:
        raise MismatchError("at least one pair must have both kinds of judgment (got none)")
    of_judgment = {name: [pairs[number] for number in numbers] for name, pairs in judged.items()}
    pairs = next(iter(of_judgment.values()))
    shown = pairs if references is None else with_references(pairs, references)
    scorer = _build_scorer(options, shown, contenders)
    done = _open_checkpoint(options, checkpoint, scorer, *pairs)
    scored = judge_pairs(scorer, of_judgment)
    chosen = {**scored.winners, **scored.differences}
    human: dict[str, AccuracyOverDraws] = {}
    if votes is not None:
        halved = scorer if references is None else _build_scorer(options, pairs, contenders)
        human = split_halves(halved, options, checkpoint=done, progress=progress)
    both = len(of_judgment) == 2
    return ConsensusStudy(
        dataset=None,
        options=options,
        judged=scored,
        accuracy=_compute_accuracies(scored, options.tie_rules),
        tests=compare_accuracies(scored.differences, scored.truth, options.tie_rules),
        human=human,
        agreement=_compute_agreement(of_judgment["pairwise"], scored, options.human_ties) if both else {},
        wins=compute_wins(pairs, chosen),
        balanced_wins=compute_wins(pairs, chosen, balanced=True),
        by_references=accuracy_by_references(
            scorer, scored.truth, options, checkpoint=done, progress=progress
        ),
    )


def _build_scorer(
    options: ConsensusOptions, pairs: Sequence[Pair], contenders: Sequence[ComparedMetric]
) -> PairScorer:
    """Return the pairs, tokenized according to the options."""
    if options.words == "paper":
        return PairScorer(pairs, contenders, tokenizer=PAPER_TOKENIZER)
    words_as_they_are = [replace(contender, stem=False) for contender in contenders]
    return PairScorer(pairs, words_as_they_are, tokenizer=Tokenizer())


def _compute_accuracies(judged: JudgedPairs, rules: TieRules) -> dict[str, dict[str, dict[str, Accuracy]]]:
    return {
        name: compute_accuracies(judged.differences, winner, judged.kinds, rules)
        for name, winner in judged.winners.items()
    }


def _open_checkpoint(
    options: ConsensusOptions, path: Path | None, scorer: PairScorer, *others: Pair
) -> StudyCheckpoint:
    """Return the checkpoint of a study with these pairs, metrics and options."""
    content = repr((scorer.pairs, others, scorer.contenders))
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    ties = f"ties {options.ties}; human ties {options.human_ties}"
    return StudyCheckpoint(path, f"{options.words}; {ties}; seed {options.seed}; {digest}")


def _index_by_number(votes: PlanVotes | None) -> dict[int, Pair]:
    return {} if votes is None else dict(zip(votes.numbers, votes.pairs, strict=True))


def _compute_agreement(
    pairs: Sequence[Pair], judged: JudgedPairs, human_ties: HumanTies
) -> dict[str, ClassAgreement]:
    most = max(len(pair.votes) for pair in pairs)
    votes = np.array([[*pair.votes, *[np.nan] * (most - len(pair.votes))] for pair in pairs])
    agreement, images = {}, np.array([str(pair.image) for pair in pairs])
    consensus, pairwise = judged.winners["consensus"], judged.winners["pairwise"]
    # Both sides are people, so pairs without a winner by either judgment have no winner.
    truth, rules = np.where(consensus == 0, 0, pairwise), TieRules(ties="half", human_ties=human_ties)
    for kind, same in compute_accuracy_by_class(consensus, truth, judged.kinds, rules).items():
        rows = np.array([kind in (each, "all") for each in judged.kinds])
        alpha = measure_alpha(votes[rows], scale="nominal", units=images[rows].tolist())
        agreement[kind] = ClassAgreement(same=same, alpha=alpha)
    return agreement
