"""How often metrics choose the candidate that people chose (CIDEr paper, sections 3, 6 and 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import halves
from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import first_few
from capeval.formats.judgments.plans import Pair
from capeval.studies.consensus.abstract50s import classified
from capeval.studies.consensus.options import ConsensusOptions
from capeval.studies.plan import krippendorff_alpha, winners
from capeval.studies.shared.accuracy import Accuracy, Drawn, accuracy, by_class, drawn
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.coefficients import if_defined, pearson_of_table
from capeval.studies.shared.pair_scores import PAPER_CONTENDERS, PAPER_TOKENIZER, PairScorer
from capeval.studies.shared.ties import Ties
from capeval.studies.votes import PlanVotes
from capeval.tokenizers import Tokenizer

__all__ = [
    "ClassAgreement",
    "ConsensusOptions",
    "ConsensusStudy",
    "SplitHalf",
    "SystemWins",
    "accuracy_by_references",
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
    """How far two kinds of judgment agree on the pairs of a class.

    Attributes:
        same: The part of the pairs on which the pairwise winner is that of the consensus.
        alpha: Krippendorff's alpha of the pairwise votes; None where it is not defined, for they are all the
            same.
    """

    same: Accuracy
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class SystemWins:
    """How often each system wins against the others, by one kind of judgment or one metric.

    Attributes:
        fractions: The fraction of wins, by system.
        correlation: Pearson's correlation with the fractions by the first kind of judgment, the consensus
            where there is one; None where it is not defined.
    """

    fractions: Mapping[str, float]
    correlation: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ConsensusStudy:
    """How metrics compare with human judgments of pairs.

    Attributes:
        dataset: The judgments; None for those of one's own plan.
        options: The options of the study.
        accuracy: Each metric's accuracy, by judgment, metric and class (and `all`).
        human: How well people's votes, and each metric, with half of the references predict the votes of the
            other half; empty where there is not a vote for each reference.
        agreement: How far two kinds of judgment agree, by class; empty where there is one.
        wins: How often each system wins, by judgment or metric; empty where systems are not known.
        by_references: The accuracy for each of `options.counts`, by class and metric; empty without counts.
    """

    dataset: Literal["ABSTRACT-50S", "PASCAL-50S"] | None
    options: ConsensusOptions
    accuracy: Mapping[str, Mapping[str, Mapping[str, Accuracy]]]
    human: Mapping[str, Drawn]
    agreement: Mapping[str, ClassAgreement]
    wins: Mapping[str, SystemWins]
    by_references: Mapping[str, Mapping[str, tuple[Drawn, ...]]]


def study_abstract50s(
    pairs: Sequence[Pair],
    options: ConsensusOptions,
    *,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compares metrics with the triplet votes of ABSTRACT-50S.

    Args:
        pairs: The pairs, two of each image, as `load_abstract50s` reads them; they need no classes.
        options: The options.
        checkpoint: The file where finished draws are kept and read from.
        progress: Called with a description of the next step: once for each draw of halves, and of each count.

    Raises:
        MismatchError: An image does not have two pairs that share a candidate, or references are too few.
        FormatError: The checkpoint is of other data or options.
        DependencyError: Stems are wanted and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.
    """
    pairs = classified(pairs).pairs
    scorer, done = _scorer(options, pairs), _checkpoint(options, checkpoint, pairs)
    consensus = winners([pair.votes for pair in pairs])
    kinds = [pair.kind for pair in pairs]
    return ConsensusStudy(
        dataset="ABSTRACT-50S",
        options=options,
        accuracy={"consensus": _accuracies(scorer.differences(), consensus, kinds, options.ties)},
        human=split_halves(scorer, options, checkpoint=done, progress=progress),
        agreement={},
        wins={},
        by_references=accuracy_by_references(scorer, consensus, options, checkpoint=done, progress=progress),
    )


def study_pascal50s(
    preferences: Sequence[Pair],
    judged: Sequence[Pair],
    options: ConsensusOptions,
    *,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compares metrics with both kinds of judgment of PASCAL-50S.

    Args:
        preferences: The pairs with references and the consensus of the triplets.
        judged: The same pairs with the votes of people who saw the image, in any order.
        options: The options.
        checkpoint: The file where finished draws are kept and read from.
        progress: Called with a description of the next step: once for each draw of each count.

    Raises:
        MismatchError: A pair has only one kind of judgment, or too few references.
        FormatError: The checkpoint is of other data or options.
        DependencyError: Stems are wanted and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.
    """
    pairwise_pairs = judged_twice(preferences, judged)
    scorer, done = _scorer(options, preferences), _checkpoint(options, checkpoint, preferences)
    consensus = winners([pair.votes for pair in preferences])
    pairwise = winners([pair.votes for pair in pairwise_pairs])
    kinds = [pair.kind for pair in preferences]
    differences = scorer.differences()
    judgments = {"consensus": consensus, "pairwise": pairwise}
    return ConsensusStudy(
        dataset="PASCAL-50S",
        options=options,
        accuracy={
            name: _accuracies(differences, chosen, kinds, options.ties) for name, chosen in judgments.items()
        },
        human={},
        agreement=_agreement(pairwise_pairs, kinds, consensus, pairwise, options.ties),
        wins=_wins(pairwise_pairs, {**judgments, **differences}),
        by_references=accuracy_by_references(scorer, consensus, options, checkpoint=done, progress=progress),
    )


def study_plan(
    votes: PlanVotes | None,
    pair_votes: PlanVotes | None,
    options: ConsensusOptions,
    *,
    references: Mapping[ImageId, Sequence[str]] | None = None,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compares metrics with what people answered to one's own plan: its triplets, its pairs, or both.

    Args:
        votes: The votes on triplets, the consensus.
        pair_votes: The votes of people who saw the image and both captions. Where there are votes on triplets
            too, pairs that lack one of the two are left out.
        options: The options.
        references: The references that metrics get, by image. Captions that the image's pairs compare are no
            references, and are left out. By default they are those of the triplets.
        checkpoint: The file where finished draws are kept and read from.
        progress: Called with a description of the next step: once for each draw of halves, and of each count.

    Raises:
        OptionError: There are no votes, or only those on pairs and no references.
        MismatchError: A pair has no references, or too few.
        FormatError: The checkpoint is of other data or options.
        DependencyError: Stems are wanted and snowballstemmer is not installed.
        OSError: The checkpoint can't be read or written.
    """
    if votes is None and (pair_votes is None or references is None):
        raise OptionError("a study needs votes on triplets, or votes on pairs and references (got neither)")
    judged = {"consensus": _by_number(votes), "pairwise": _by_number(pair_votes)}
    judged = {name: pairs for name, pairs in judged.items() if pairs}
    numbers = [
        number for number in next(iter(judged.values())) if all(number in one for one in judged.values())
    ]
    if not numbers:
        raise MismatchError("at least one pair must have both kinds of judgment (got none)")
    of_judgment = {name: [pairs[number] for number in numbers] for name, pairs in judged.items()}
    pairs = next(iter(of_judgment.values()))
    chosen = {name: winners([pair.votes for pair in each]) for name, each in of_judgment.items()}
    kinds = [pair.kind for pair in pairs]
    shown = pairs if references is None else with_references(pairs, references)
    scorer, done = _scorer(options, shown), _checkpoint(options, checkpoint, [*shown, *pairs])
    differences = scorer.differences()
    human: dict[str, Drawn] = {}
    if votes is not None:
        halved = scorer if references is None else _scorer(options, pairs)
        human = split_halves(halved, options, checkpoint=done, progress=progress)
    both = len(chosen) == 2
    truth = next(iter(chosen.values()))
    return ConsensusStudy(
        dataset=None,
        options=options,
        accuracy={
            name: _accuracies(differences, winner, kinds, options.ties) for name, winner in chosen.items()
        },
        human=human,
        agreement=_agreement(
            of_judgment["pairwise"], kinds, chosen["consensus"], chosen["pairwise"], options.ties
        )
        if both
        else {},
        wins=_wins(pairs, {**chosen, **differences}) if "MM" in kinds else {},
        by_references=accuracy_by_references(scorer, truth, options, checkpoint=done, progress=progress),
    )


def _scorer(options: ConsensusOptions, pairs: Sequence[Pair]) -> PairScorer:
    """Return the pairs with the words of the options."""
    if options.words == "paper":
        return PairScorer(pairs, PAPER_CONTENDERS, tokenizer=PAPER_TOKENIZER)
    words_as_they_are = [replace(contender, stem=False) for contender in PAPER_CONTENDERS]
    return PairScorer(pairs, words_as_they_are, tokenizer=Tokenizer())


def _checkpoint(options: ConsensusOptions, path: Path | None, pairs: Sequence[Pair]) -> StudyCheckpoint:
    """Return the checkpoint of a study of these pairs with these options."""
    digest = hashlib.sha256(repr(pairs).encode("utf-8", "surrogatepass")).hexdigest()
    return StudyCheckpoint(path, f"{options.words}; ties {options.ties}; seed {options.seed}; {digest}")


def _by_number(votes: PlanVotes | None) -> dict[int, Pair]:
    return {} if votes is None else dict(zip(votes.numbers, votes.pairs, strict=True))


def with_references(pairs: Sequence[Pair], references: Mapping[ImageId, Sequence[str]]) -> tuple[Pair, ...]:
    """Pairs with the references of their images, without the captions that pairs of the image compare.

    Raises:
        MismatchError: An image has no reference.
    """
    compared: dict[ImageId, set[str]] = {}
    for pair in pairs:
        compared.setdefault(pair.image, set()).update((pair.first, pair.second))
    found = {
        image: tuple(text for text in references.get(image, ()) if text not in captions)
        for image, captions in compared.items()
    }
    missing = [image for image, texts in found.items() if not texts]
    if missing:
        raise MismatchError(f"{first_few(missing)} without a reference")
    return tuple(replace(pair, references=found[pair.image]) for pair in pairs)


def _accuracies(
    differences: Mapping[str, NDArray[np.generic]],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    ties: Ties,
) -> dict[str, dict[str, Accuracy]]:
    return {metric: by_class(values, truth, kinds, ties=ties) for metric, values in differences.items()}


def _agreement(
    pairs: Sequence[Pair],
    kinds: Sequence[str | None],
    consensus: NDArray[np.int64],
    pairwise: NDArray[np.int64],
    ties: Ties,
) -> dict[str, ClassAgreement]:
    most = max(len(pair.votes) for pair in pairs)
    votes = np.array([[*pair.votes, *[np.nan] * (most - len(pair.votes))] for pair in pairs])
    agreement = {}
    for kind, same in by_class(consensus, pairwise, kinds, ties=ties).items():
        rows = np.array([kind in (each, "all") for each in kinds])
        agreement[kind] = ClassAgreement(same=same, alpha=if_defined(krippendorff_alpha, votes[rows]))
    return agreement


def _wins(pairs: Sequence[Pair], chosen: Mapping[str, NDArray[np.generic]]) -> dict[str, SystemWins]:
    """The wins of machines against each other, by each of the judgments and metrics."""
    machines = np.array([pair.kind == "MM" for pair in pairs])
    systems = [(pair.first_by or "", pair.second_by or "") for pair in pairs if pair.kind == "MM"]
    fractions = {name: fraction_of_wins(systems, values[machines]) for name, values in chosen.items()}
    first = next(iter(fractions.values()))
    return {
        name: SystemWins(fractions=each, correlation=if_defined(pearson, each, first))
        for name, each in fractions.items()
    }


def accuracy_by_references(
    scorer: PairScorer,
    truth: NDArray[np.generic],
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: _Progress = lambda _: None,
) -> dict[str, dict[str, tuple[Drawn, ...]]]:
    """The accuracy of each metric over the number of references (Figure 3), by class and on all pairs.

    Args:
        scorer: The pairs.
        truth: What people chose, for each pair.
        options: The numbers of references, the draws of each, and how ties count. The seed is that of the
            first draw, and each further draw has the next seed.
        checkpoint: Where finished draws are kept and read from; by default only in memory.
        progress: Called with a description of the next step.

    Returns:
        The accuracy for each of `options.counts`, by class (and `all`) and metric; empty without counts.

    Raises:
        MismatchError: There are fewer references, or not a winner for each pair.
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")
    kinds = [pair.kind for pair in scorer.pairs]

    def draw(count: int, number: int) -> dict[str, dict[str, dict[str, float]]]:
        differences = scorer.differences(scorer.draw(count, seed=options.seed + number))
        accuracies = _accuracies(differences, truth, kinds, options.ties)
        return {
            name: {kind: asdict(part) for kind, part in parts.items()} for name, parts in accuracies.items()
        }

    curves: dict[str, dict[str, list[Drawn]]] = {}
    for count in options.counts:
        parts_of_draws = []
        for number in range(options.draws):
            progress(f"{count} references, draw {number + 1} of {options.draws}")
            parts_of_draws.append(checkpoint.part(f"accuracy {count} {number}", partial(draw, count, number)))
        for name in scorer.names:
            for kind in parts_of_draws[0][name]:
                point = drawn([Accuracy(**part[name][kind]) for part in parts_of_draws])
                curves.setdefault(kind, {}).setdefault(name, []).append(point)
    return {
        kind: {name: tuple(points) for name, points in points_of.items()}
        for kind, points_of in curves.items()
    }


def fraction_of_wins(systems: Sequence[tuple[str, str]], chosen: NDArray[np.generic]) -> dict[str, float]:
    """How often each system wins against the others (Figure 4); a tie is half a win for both.

    Args:
        systems: What wrote the first and the second candidate of each pair.
        chosen: Above 0 where the first wins, below 0 where the second does.

    Raises:
        MismatchError: There is not a winner for each pair, or no pair.
    """
    if len(systems) != len(chosen) or not systems:
        raise MismatchError(f"there must be a winner for each of {len(systems)} pairs (got {len(chosen)})")
    won: dict[str, list[float]] = {}
    for (first, second), sign in zip(systems, np.sign(chosen.astype(float)).tolist(), strict=True):
        won.setdefault(first, []).append((1 + sign) / 2)
        won.setdefault(second, []).append((1 - sign) / 2)
    return {system: float(np.mean(won[system])) for system in sorted(won)}


def pearson(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Pearson's correlation between two fractions of wins, over systems.

    Raises:
        MismatchError: They are not of the same systems, there are fewer than two, or all are equal.
    """
    if set(a) != set(b) or len(a) < 2:
        raise MismatchError("a correlation needs the same two or more systems in both")
    pairs = np.array([[a[system], b[system]] for system in a])
    if not pairs.std(axis=0).all():
        raise MismatchError("a correlation needs fractions that differ")
    return pearson_of_table(np.eye(len(pairs)), *pairs.T)


def judged_twice(preferences: Sequence[Pair], pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Finds each pair of one kind of judgment among those of another, in the order of the first.

    Pairs are the same when image, class and both sentences are equal, apart from white space. Where a pair
    occurs several times, the first of one kind belongs to the first of the other, and so on.

    Raises:
        MismatchError: A pair has no judgment of the other kind.
    """
    waiting: dict[tuple[ImageId | None, ...], list[Pair]] = {}
    for pair in pairs:
        waiting.setdefault(_identity(pair), []).append(pair)
    matching = []
    for place, pair in enumerate(preferences):
        same = waiting.get(_identity(pair))
        if not same:
            raise MismatchError(
                "every pair must have both kinds of judgment"
                f" (got one for pair {place} of image {pair.image!r})"
            )
        matching.append(same.pop(0))
    return tuple(matching)


def _identity(pair: Pair) -> tuple[ImageId | None, ...]:
    return (pair.image, pair.kind, " ".join(pair.first.split()), " ".join(pair.second.split()))


@dataclass(frozen=True, kw_only=True)
class SplitHalf:
    """How well people and metrics predict the consensus, both from the same half of the references.

    Attributes:
        humans: The accuracy of people's votes on one half at predicting those on the other.
        metrics: The accuracy of each metric with the references of that half.
    """

    humans: Accuracy
    metrics: Mapping[str, Accuracy]


def split_half(scorer: PairScorer, *, seed: int, ties: Ties) -> SplitHalf:
    """Human performance (section 7.4): half of the triplets are the truth, half predict it.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        seed: The seed of the halves; each pair has its own.
        ties: How a tie counts; see `accuracy`.

    Raises:
        MismatchError: A pair does not have a vote for each of its references.
    """
    truth, humans, chosen = [], [], []
    for place, pair in enumerate(scorer.pairs):
        if len(pair.votes) != len(pair.references):
            raise MismatchError(
                f"pair {place} must have a vote for each of its {len(pair.references)} references"
                f" (got {len(pair.votes)})"
            )
        votes = np.array(pair.votes)
        known, predicting = halves(len(votes), seed=seed + place)
        truth.append(votes[known])
        humans.append(votes[predicting])
        chosen.append(predicting)
    wanted = winners(truth)
    differences = scorer.differences(chosen)
    return SplitHalf(
        humans=accuracy(winners(humans), wanted, ties=ties),
        metrics={name: accuracy(values, wanted, ties=ties) for name, values in differences.items()},
    )


def split_halves(
    scorer: PairScorer,
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: _Progress = lambda _: None,
) -> dict[str, Drawn]:
    """Human performance over several random halves of the references; see `split_half`.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        options: How many times the references are halved, the seed, and how ties count.
        checkpoint: Where finished draws are kept and read from; by default only in memory.
        progress: Called with a description of the next step.

    Returns:
        The accuracy of `Humans`, and of each metric, by name.

    Raises:
        MismatchError: A pair does not have a vote for each of its references.
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")

    def half(draw: int) -> dict[str, dict[str, float]]:
        # The seed of a pair is that of the draw plus its position, so the seeds of draws are far apart.
        halved = split_half(scorer, seed=options.seed + draw * 1_000_003, ties=options.ties)
        return {name: asdict(each) for name, each in {"Humans": halved.humans, **halved.metrics}.items()}

    parts = []
    for draw in range(options.draws):
        progress(f"Halves of the references, draw {draw + 1} of {options.draws}")
        parts.append(checkpoint.part(f"halves {draw}", partial(half, draw)))
    return {name: drawn([Accuracy(**part[name]) for part in parts]) for name in parts[0]}
