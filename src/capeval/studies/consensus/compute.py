"""Accuracy of metrics on human preferences (CIDEr paper, sections 3, 6 and 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import split_in_halves
from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats.judgments.plans import Pair
from capeval.studies.consensus.abstract50s import classify_pairs
from capeval.studies.consensus.options import ConsensusOptions
from capeval.studies.plan import winners
from capeval.studies.shared.accuracy import (
    Accuracy,
    AccuracyOverDraws,
    accuracy,
    combine_draws,
    compute_accuracy_by_class,
)
from capeval.studies.shared.agreement import krippendorff_alpha
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.coefficients import compute_pearson_of_table, none_if_undefined
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
    """Agreement of two kinds of judgment on the pairs of a class.

    Attributes:
        same: The share of the pairs with the same winner by pairwise and consensus judgments.
        alpha: Krippendorff's alpha of the pairwise votes; None if it is undefined because all votes are
            equal.
    """

    same: Accuracy
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class SystemWins:
    """Fractions of wins of systems, by one kind of judgment or one metric.

    Attributes:
        fractions: The fraction of wins, by system.
        correlation: Pearson's correlation with the fractions by the first kind of judgment, which is the
            consensus if present; None if it is undefined.
    """

    fractions: Mapping[str, float]
    correlation: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ConsensusStudy:
    """Comparison of metrics with human judgments of pairs.

    Attributes:
        dataset: The published judgments; None for a plan of the user.
        options: The options of the study.
        accuracy: Each metric's accuracy, by judgment, metric and class (and `all`).
        human: The accuracy of people's votes, and of each metric, both with half of the references, at
            predicting the votes of the other half; empty unless there is a vote for each reference.
        agreement: The agreement of two kinds of judgment, by class; empty if there is only one kind.
        wins: The fraction of wins of each system, by judgment or metric; empty if systems are unknown.
        by_references: The accuracy for each of `options.counts`, by class and metric; empty without counts.
    """

    dataset: Literal["ABSTRACT-50S", "PASCAL-50S"] | None
    options: ConsensusOptions
    accuracy: Mapping[str, Mapping[str, Mapping[str, Accuracy]]]
    human: Mapping[str, AccuracyOverDraws]
    agreement: Mapping[str, ClassAgreement]
    wins: Mapping[str, SystemWins]
    by_references: Mapping[str, Mapping[str, tuple[AccuracyOverDraws, ...]]]


def study_abstract50s(
    pairs: Sequence[Pair],
    options: ConsensusOptions,
    *,
    checkpoint: Path | None = None,
    progress: _Progress = lambda _: None,
) -> ConsensusStudy:
    """Compare metrics with the triplet votes of ABSTRACT-50S.

    Args:
        pairs: The pairs, two of each image, from `load_abstract50s`; classes are not required.
        options: The options.
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
        >>> dog = ("The dog runs.", "A dog runs fast.")
        >>> pairs = [
        ...     Pair(image=1, first="A dog runs.", second="A dog.", references=dog, votes=(1, -1)),
        ...     Pair(image=1, first="A dog runs.", second="A cat sleeps.", references=dog, votes=(1, 1)),
        ... ]
        >>> study = study_abstract50s(pairs, ConsensusOptions())
        >>> {kind: each.value for kind, each in study.accuracy["consensus"]["ROUGE-L"].items()}
        {'HC': 1.0, 'HI': 1.0, 'all': 1.0}
        >>> study.human["Humans"].mean  # People disagree on the first pair.
        0.5
    """
    pairs = classify_pairs(pairs).pairs
    scorer, done = _build_scorer(options, pairs), _open_checkpoint(options, checkpoint, pairs)
    consensus = winners([pair.votes for pair in pairs])
    kinds = [pair.kind for pair in pairs]
    return ConsensusStudy(
        dataset="ABSTRACT-50S",
        options=options,
        accuracy={"consensus": _compute_accuracies(scorer.differences(), consensus, kinds, options.ties)},
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
    """Compare metrics with both kinds of judgment of PASCAL-50S.

    Args:
        preferences: The pairs with references and the consensus of the triplets.
        judged: The same pairs, in any order, with the votes of people who saw the image.
        options: The options.
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
    pairwise_pairs = judged_twice(preferences, judged)
    scorer, done = _build_scorer(options, preferences), _open_checkpoint(options, checkpoint, preferences)
    consensus = winners([pair.votes for pair in preferences])
    pairwise = winners([pair.votes for pair in pairwise_pairs])
    kinds = [pair.kind for pair in preferences]
    differences = scorer.differences()
    judgments = {"consensus": consensus, "pairwise": pairwise}
    return ConsensusStudy(
        dataset="PASCAL-50S",
        options=options,
        accuracy={
            name: _compute_accuracies(differences, chosen, kinds, options.ties)
            for name, chosen in judgments.items()
        },
        human={},
        agreement=_compute_agreement(pairwise_pairs, kinds, consensus, pairwise, options.ties),
        wins=_compute_wins(pairwise_pairs, {**judgments, **differences}),
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
    """Compare metrics with human answers to a plan's triplets, pairs, or both.

    Args:
        votes: The votes on triplets, the consensus.
        pair_votes: The votes of people who saw the image and both captions. With votes on triplets as well,
            pairs without both kinds of vote are excluded.
        options: The options.
        references: The references for metrics, by image. Captions that occur in pairs of the image are
            excluded. The references of the triplets by default.
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
    chosen = {name: winners([pair.votes for pair in each]) for name, each in of_judgment.items()}
    kinds = [pair.kind for pair in pairs]
    shown = pairs if references is None else with_references(pairs, references)
    scorer, done = _build_scorer(options, shown), _open_checkpoint(options, checkpoint, [*shown, *pairs])
    differences = scorer.differences()
    human: dict[str, AccuracyOverDraws] = {}
    if votes is not None:
        halved = scorer if references is None else _build_scorer(options, pairs)
        human = split_halves(halved, options, checkpoint=done, progress=progress)
    both = len(chosen) == 2
    truth = next(iter(chosen.values()))
    return ConsensusStudy(
        dataset=None,
        options=options,
        accuracy={
            name: _compute_accuracies(differences, winner, kinds, options.ties)
            for name, winner in chosen.items()
        },
        human=human,
        agreement=_compute_agreement(
            of_judgment["pairwise"], kinds, chosen["consensus"], chosen["pairwise"], options.ties
        )
        if both
        else {},
        wins=_compute_wins(pairs, {**chosen, **differences}),
        by_references=accuracy_by_references(scorer, truth, options, checkpoint=done, progress=progress),
    )


def _build_scorer(options: ConsensusOptions, pairs: Sequence[Pair]) -> PairScorer:
    """Return the pairs, tokenized according to the options."""
    if options.words == "paper":
        return PairScorer(pairs, PAPER_CONTENDERS, tokenizer=PAPER_TOKENIZER)
    words_as_they_are = [replace(contender, stem=False) for contender in PAPER_CONTENDERS]
    return PairScorer(pairs, words_as_they_are, tokenizer=Tokenizer())


def _open_checkpoint(options: ConsensusOptions, path: Path | None, pairs: Sequence[Pair]) -> StudyCheckpoint:
    """Return the checkpoint of a study with these pairs and options."""
    digest = hashlib.sha256(repr(pairs).encode("utf-8", "surrogatepass")).hexdigest()
    return StudyCheckpoint(path, f"{options.words}; ties {options.ties}; seed {options.seed}; {digest}")


def _index_by_number(votes: PlanVotes | None) -> dict[int, Pair]:
    return {} if votes is None else dict(zip(votes.numbers, votes.pairs, strict=True))


def with_references(pairs: Sequence[Pair], references: Mapping[ImageId, Sequence[str]]) -> tuple[Pair, ...]:
    """Return pairs with their images' references, without the compared captions.

    Raises:
        MismatchError: An image has no reference.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import with_references
        >>> pair = Pair(image=1, first="A dog runs.", second="A cat sleeps.")
        >>> references = {1: ["A dog runs.", "The dog is running.", "A dog on the grass."]}
        >>> with_references([pair], references)[0].references
        ('The dog is running.', 'A dog on the grass.')
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
        raise MismatchError(f"{format_images(missing)} without a reference")
    return tuple(replace(pair, references=found[pair.image]) for pair in pairs)


def _compute_accuracies(
    differences: Mapping[str, NDArray[np.generic]],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    ties: Ties,
) -> dict[str, dict[str, Accuracy]]:
    return {
        metric: compute_accuracy_by_class(values, truth, kinds, ties=ties)
        for metric, values in differences.items()
    }


def _compute_agreement(
    pairs: Sequence[Pair],
    kinds: Sequence[str | None],
    consensus: NDArray[np.int64],
    pairwise: NDArray[np.int64],
    ties: Ties,
) -> dict[str, ClassAgreement]:
    most = max(len(pair.votes) for pair in pairs)
    votes = np.array([[*pair.votes, *[np.nan] * (most - len(pair.votes))] for pair in pairs])
    agreement = {}
    for kind, same in compute_accuracy_by_class(consensus, pairwise, kinds, ties=ties).items():
        rows = np.array([kind in (each, "all") for each in kinds])
        agreement[kind] = ClassAgreement(same=same, alpha=none_if_undefined(krippendorff_alpha, votes[rows]))
    return agreement


def _compute_wins(pairs: Sequence[Pair], chosen: Mapping[str, NDArray[np.generic]]) -> dict[str, SystemWins]:
    """Return the wins of machines against each other, by judgment and metric; none without such pairs."""
    machines = np.array([pair.kind == "MM" for pair in pairs])
    if not machines.any():
        return {}
    systems = [(pair.first_by or "", pair.second_by or "") for pair in pairs if pair.kind == "MM"]
    fractions = {name: fraction_of_wins(systems, values[machines]) for name, values in chosen.items()}
    first = next(iter(fractions.values()))
    return {
        name: SystemWins(fractions=each, correlation=none_if_undefined(pearson, each, first))
        for name, each in fractions.items()
    }


def accuracy_by_references(
    scorer: PairScorer,
    truth: NDArray[np.generic],
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: _Progress = lambda _: None,
) -> dict[str, dict[str, tuple[AccuracyOverDraws, ...]]]:
    """Return the accuracy of each metric by number of references (Figure 3).

    Args:
        scorer: The pairs.
        truth: The human choice for each pair.
        options: The numbers of references, the draws of each, and the tie rule. The seed belongs to the first
            draw, and each further draw uses the next seed.
        checkpoint: The checkpoint of finished draws; in memory only by default.
        progress: Called with a description of the next step.

    Returns:
        The accuracy for each of `options.counts`, by class (and `all`) and metric; empty without counts.

    Raises:
        MismatchError: There are fewer references, or the number of winners differs from the number of pairs.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, accuracy_by_references
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> dog = ("The dog is running.", "A dog runs on grass.")
        >>> cat = ("A cat sleeps on a bed.", "A cat on a bed.")
        >>> pairs = [
        ...     Pair(image=1, first="A dog runs.", second="A dog sits.", references=dog),
        ...     Pair(image=2, first="Two cats sleep.", second="A cat.", references=cat),
        ... ]
        >>> options = ConsensusOptions(counts=(1, 2), draws=3)
        >>> curves = accuracy_by_references(PairScorer(pairs), np.array([1, -1]), options)
        >>> [round(point.mean, 3) for point in curves["all"]["ROUGE-1"]]  # With 1 and 2 references
        [0.667, 1.0]
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")
    kinds = [pair.kind for pair in scorer.pairs]

    def draw(count: int, number: int) -> dict[str, dict[str, dict[str, float]]]:
        differences = scorer.differences(scorer.draw(count, seed=options.seed + number))
        accuracies = _compute_accuracies(differences, truth, kinds, options.ties)
        return {
            name: {kind: asdict(part) for kind, part in parts.items()} for name, parts in accuracies.items()
        }

    curves: dict[str, dict[str, list[AccuracyOverDraws]]] = {}
    for count in options.counts:
        parts_of_draws = []
        for number in range(options.draws):
            progress(f"{count} references, draw {number + 1} of {options.draws}")
            parts_of_draws.append(checkpoint.part(f"accuracy {count} {number}", partial(draw, count, number)))
        for name in scorer.names:
            for kind in parts_of_draws[0][name]:
                point = combine_draws([Accuracy(**part[name][kind]) for part in parts_of_draws])
                curves.setdefault(kind, {}).setdefault(name, []).append(point)
    return {
        kind: {name: tuple(points) for name, points in points_of.items()}
        for kind, points_of in curves.items()
    }


def fraction_of_wins(systems: Sequence[tuple[str, str]], chosen: NDArray[np.generic]) -> dict[str, float]:
    """Return the fraction of wins of each system (Figure 4); a tie is half a win.

    Args:
        systems: The systems of the first and the second candidate of each pair.
        chosen: A number for each pair, above 0 if the first candidate wins, below 0 if the second wins.

    Raises:
        MismatchError: The number of winners differs from the number of pairs, or there are no pairs.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.consensus import fraction_of_wins
        >>> systems = [("transformer", "lstm"), ("transformer", "template"), ("lstm", "template")]
        >>> fraction_of_wins(systems, np.array([1, 1, 0]))
        {'lstm': 0.25, 'template': 0.25, 'transformer': 1.0}
    """
    if len(systems) != len(chosen) or not systems:
        raise MismatchError(f"expected a winner for each of {len(systems)} pairs (got {len(chosen)})")
    won: dict[str, list[float]] = {}
    for (first, second), sign in zip(systems, np.sign(chosen.astype(float)).tolist(), strict=True):
        won.setdefault(first, []).append((1 + sign) / 2)
        won.setdefault(second, []).append((1 - sign) / 2)
    return {system: float(np.mean(won[system])) for system in sorted(won)}


def pearson(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return Pearson's correlation between two fractions of wins, over systems.

    Raises:
        MismatchError: The systems differ, there are fewer than two, or all fractions are equal.

    Example:
        >>> from capeval.studies.consensus import pearson
        >>> people = {"transformer": 0.9, "lstm": 0.5, "template": 0.1}
        >>> metric = {"transformer": 0.7, "lstm": 0.6, "template": 0.2}
        >>> round(pearson(people, metric), 3)
        0.945
    """
    if set(a) != set(b) or len(a) < 2:
        raise MismatchError("a correlation needs at least two systems, the same in both")
    pairs = np.array([[a[system], b[system]] for system in a])
    if not pairs.std(axis=0).all():
        raise MismatchError("a correlation needs different fractions")
    return compute_pearson_of_table(np.eye(len(pairs)), *pairs.T)


def judged_twice(preferences: Sequence[Pair], pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Match each pair of one kind of judgment with its pair of another kind.

    Pairs match if image, class and both sentences are equal, apart from white space. If a pair occurs several
    times, occurrences match in order. The result is in the order of `preferences`.

    Raises:
        MismatchError: A pair has no judgment of the other kind.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import judged_twice
        >>> triplets = [
        ...     Pair(image=1, first="A dog runs.", second="A cat.", votes=(1,)),
        ...     Pair(image=2, first="A dog.", second="Two cats.", votes=(-1,)),
        ... ]
        >>> pairwise = [
        ...     Pair(image=2, first="A dog.", second="Two cats.", votes=(-1, -1, 1)),
        ...     Pair(image=1, first="A dog runs.", second="A cat.", votes=(1, 1, 1)),
        ... ]
        >>> [pair.votes for pair in judged_twice(triplets, pairwise)]
        [(1, 1, 1), (-1, -1, 1)]
    """
    waiting: dict[tuple[ImageId | None, ...], list[Pair]] = {}
    for pair in pairs:
        waiting.setdefault(_get_pair_key(pair), []).append(pair)
    matching = []
    for place, pair in enumerate(preferences):
        same = waiting.get(_get_pair_key(pair))
        if not same:
            raise MismatchError(
                "every pair must have both kinds of judgment"
                f" (got one for pair {place} of image {pair.image!r})"
            )
        matching.append(same.pop(0))
    return tuple(matching)


def _get_pair_key(pair: Pair) -> tuple[ImageId | None, ...]:
    return (pair.image, pair.kind, " ".join(pair.first.split()), " ".join(pair.second.split()))


@dataclass(frozen=True, kw_only=True)
class SplitHalf:
    """Accuracy of people and metrics with one half of the references.

    Attributes:
        humans: The accuracy of people's votes on one half at predicting the votes on the other half.
        metrics: The accuracy of each metric with the references of that half.
    """

    humans: Accuracy
    metrics: Mapping[str, Accuracy]


def split_half(scorer: PairScorer, *, seed: int, ties: Ties) -> SplitHalf:
    """Return human performance: half of the triplets predict the other half.

    This is section 7.4 of the CIDEr paper.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        seed: The seed of the halves; each pair has its own.
        ties: The tie rule; see `accuracy`.

    Raises:
        MismatchError: A pair does not have a vote for each of its references.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import split_half
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> dog = ("The dog is running.", "A dog runs on grass.", "A brown dog.", "A dog outside.")
        >>> pair = Pair(image=1, first="A dog runs.", second="A cat.", references=dog, votes=(1, 1, 1, -1))
        >>> halves = split_half(PairScorer([pair]), seed=0, ties="half")
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
        humans=accuracy(winners(humans), wanted, ties=ties),
        metrics={name: accuracy(values, wanted, ties=ties) for name, values in differences.items()},
    )


def split_halves(
    scorer: PairScorer,
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: _Progress = lambda _: None,
) -> dict[str, AccuracyOverDraws]:
    """Return human performance over several random halves; see `split_half`.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        options: The number of draws, the seed, and the tie rule.
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
        >>> found = split_halves(PairScorer([pair]), ConsensusOptions(draws=5, ties="half"))
        >>> found["Humans"].mean, round(found["ROUGE-L"].mean, 3)
        (0.5, 0.8)
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")

    def half(draw: int) -> dict[str, dict[str, float]]:
        # The seed of a pair is the draw's seed plus the pair's position, so seeds of draws are far apart.
        halved = split_half(scorer, seed=options.seed + draw * 1_000_003, ties=options.ties)
        return {name: asdict(each) for name, each in {"Humans": halved.humans, **halved.metrics}.items()}

    parts = []
    for draw in range(options.draws):
        progress(f"Halves of the references, draw {draw + 1} of {options.draws}")
        parts.append(checkpoint.part(f"halves {draw}", partial(half, draw)))
    return {name: combine_draws([Accuracy(**part[name]) for part in parts]) for name in parts[0]}
