"""How often a metric chooses the candidate that people chose (CIDEr paper, sections 3, 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import NormalDist, fmean
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from capeval.checks import checked_choice
from capeval.errors import MismatchError, OptionError
from capeval.formats.judgements import JudgedPair
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.rouge import RougeL, RougeN
from capeval.studies.checkpoints import Checkpoint
from capeval.studies.correlation import pearson_of_table
from capeval.studies.protocol import split_votes, winners
from capeval.studies.words import WORDS, Contender, contender_names, stems_of, with_frequencies, words_of
from capeval.tokenization import Tokenizer
from capeval.types import Candidates, FloatArray, ImageId, References

__all__ = [
    "PAPER_CONTENDERS",
    "PAPER_TOKENIZER",
    "Accuracy",
    "Drawn",
    "PairScorer",
    "SplitHalf",
    "accuracy",
    "accuracy_by_references",
    "by_class",
    "drawn",
    "fraction_of_wins",
    "judged_twice",
    "pearson",
    "split_half",
    "words_only",
]

Ties = Literal["first", "half"]


PAPER_TOKENIZER = Tokenizer(punctuation="keep")
"""The tokens that come closest to the CIDEr paper's table: punctuation stays."""

PAPER_CONTENDERS = (
    Contender(metric=Bleu(orders=(1, 4), level="sentence"), stem=True),
    Contender(metric=RougeN(n=1), stem=True),
    Contender(metric=RougeL(beta=2.0), stem=True),
    Contender(metric=Meteor()),
    Contender(metric=Cider()),
    Contender(metric=CiderD()),
)
"""The metrics as the CIDEr paper has them: BLEU by sentence, stems for words (appendix VII)."""


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The part of pairs on which a prediction and the truth agree.

    Attributes:
        value: The part, 0 to 1.
        low: The lower end of Wilson's score interval, at 95 %.
        high: The upper end.
        pairs: How many pairs there are.
        tied: Pairs on which the prediction is a tie.
        truth_tied: Pairs that have no winner.
    """

    value: float
    low: float
    high: float
    pairs: int
    tied: int
    truth_tied: int


def accuracy(predicted: NDArray[np.generic], truth: NDArray[np.generic], *, ties: Ties = "first") -> Accuracy:
    """How often the sign of a prediction is the sign of the truth.

    Args:
        predicted: A number for each pair, above 0 for the first: a winner, or a difference of scores.
        truth: The same for what people chose.
        ties: `first` counts a tie, of either, as a win of the first candidate, which the paper's table
            is in best keeping with; `half` counts a pair with a tie in one of the two as half right.

    Raises:
        OptionError: `ties` is something else.
        MismatchError: The two are not of the same pairs, or there is none.
    """
    checked_choice("ties", ties, get_args(Ties))
    if predicted.shape != truth.shape or predicted.ndim != 1 or not predicted.size:
        raise MismatchError(
            "predictions and truth must be of the same pairs, at least one"
            f" (got shapes {predicted.shape} and {truth.shape})"
        )
    signs, wanted = np.sign(predicted.astype(float)), np.sign(truth.astype(float))
    tied, truth_tied = int((signs == 0).sum()), int((wanted == 0).sum())
    if ties == "first":
        right = np.where(signs == 0, 1.0, signs) == np.where(wanted == 0, 1.0, wanted)
    else:
        right = 1 - np.abs(signs - wanted) / 2
    low, high = _wilson(float(right.mean()), right.size)
    return Accuracy(
        value=float(right.mean()), low=low, high=high, pairs=right.size, tied=tied, truth_tied=truth_tied
    )


def _wilson(part: float, count: int, level: float = 0.95) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (part + z * z / (2 * count)) / (1 + z * z / count)
    reach = z / (1 + z * z / count) * np.sqrt(part * (1 - part) / count + z * z / (4 * count * count))
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))


def by_class(
    predicted: NDArray[np.generic],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    *,
    ties: Ties = "first",
) -> dict[str, Accuracy]:
    """The accuracy on the pairs of each class, in the order of their names, and on `all`.

    Raises:
        MismatchError: There is not one class for each pair.
    """
    if len(kinds) != len(truth):
        raise MismatchError(f"there must be a class for each of {len(truth)} pairs (got {len(kinds)})")
    found: dict[str, Accuracy] = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        rows = np.array([other == kind for other in kinds])
        found[kind] = accuracy(predicted[rows], truth[rows], ties=ties)
    return {**found, "all": accuracy(predicted, truth, ties=ties)}


def words_only(pairs: Sequence[JudgedPair], tokenizer: Tokenizer) -> tuple[JudgedPair, ...]:
    """The pairs with tokens joined by single spaces for sentences; each sentence is tokenised once."""
    known = words_of((text for pair in pairs for text in _texts(pair)), tokenizer)
    return tuple(_mapped(pair, known) for pair in pairs)


def _texts(pair: JudgedPair) -> tuple[str, ...]:
    return (pair.first, pair.second, *pair.references)


def _mapped(pair: JudgedPair, known: Mapping[str, str]) -> JudgedPair:
    return replace(
        pair,
        first=known[pair.first],
        second=known[pair.second],
        references=tuple(known[text] for text in pair.references),
    )


class PairScorer:
    """Pairs whose sentences are tokenised and stemmed once, to be scored with all or some references.

    Document frequencies are those of the references used, image by image, unless a metric brings its own.

    Args:
        pairs: The pairs, with references.
        contenders: The metrics.
        tokenizer: How to tokenise.

    Raises:
        MismatchError: There is no pair, or one has no references.
        OptionError: Two contenders have scores of the same name.
        DependencyError: Stems are wanted and snowballstemmer is not installed.
    """

    def __init__(
        self,
        pairs: Sequence[JudgedPair],
        contenders: Sequence[Contender] = PAPER_CONTENDERS,
        *,
        tokenizer: Tokenizer = PAPER_TOKENIZER,
    ) -> None:
        if not pairs:
            raise MismatchError("there must be at least one pair (got none)")
        for place, pair in enumerate(pairs):
            if not pair.references:
                raise MismatchError(f"every pair must have references (got none for pair {place})")
        self.names = contender_names(contenders)
        self.pairs = tuple(pairs)
        self.contenders = tuple(contenders)
        self._words = words_only(pairs, tokenizer)
        stemmed = any(contender.stem for contender in contenders)
        stems = stems_of(text for pair in self._words for text in _texts(pair)) if stemmed else {}
        self._stems = tuple(_mapped(pair, stems) for pair in self._words) if stemmed else ()

    def scores(self, chosen: Sequence[NDArray[np.int64]] | None = None) -> dict[str, FloatArray]:
        """The scores of both candidates of each pair, by name: arrays of pairs by 2.

        Args:
            chosen: Which of its references to use for each pair; all by default.
        """
        found: dict[str, FloatArray] = {}
        for contender in self.contenders:
            pairs = self._stems if contender.stem else self._words
            references = [
                pair.references if chosen is None else tuple(pair.references[i] for i in chosen[place])
                for place, pair in enumerate(pairs)
            ]
            metric = with_frequencies(contender.metric, _by_image(pairs, references), "images of the pairs")
            prepared = metric.prepare(References(dict(enumerate(references))), tokenizer=WORDS)
            candidates = {place: [pair.first, pair.second] for place, pair in enumerate(pairs)}
            scored = prepared.score(Candidates(candidates)).per_image
            for name, known in zip(contender.names, metric.names, strict=True):
                found[name] = scored[known].reshape(-1, 2)
        return found

    def differences(self, chosen: Sequence[NDArray[np.int64]] | None = None) -> dict[str, FloatArray]:
        """The score of the first less that of the second, for each pair, by name."""
        return {name: both[:, 0] - both[:, 1] for name, both in self.scores(chosen).items()}

    def draw(self, count: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
        """`count` references of each pair, drawn at random; with more, those stay that fewer had.

        Raises:
            MismatchError: A pair has fewer references.
        """
        few = min(len(pair.references) for pair in self.pairs)
        if not 1 <= count <= few:
            raise MismatchError(f"the number of references must be from 1 to {few} (got {count})")
        generator = np.random.default_rng(seed)
        return [generator.permutation(len(pair.references))[:count] for pair in self.pairs]


def _by_image(pairs: Sequence[JudgedPair], references: Sequence[Sequence[str]]) -> dict[ImageId, list[str]]:
    """The references of each image once, however many pairs it has."""
    images: dict[ImageId, dict[str, None]] = {}
    for pair, texts in zip(pairs, references, strict=True):
        images.setdefault(pair.image, {}).update(dict.fromkeys(texts))
    return {image: list(texts) for image, texts in images.items()}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The accuracy over several random draws of the references.

    Two things are uncertain, and kept apart: which pairs were judged, which is the interval, and which
    references were drawn, which is the spread.

    Attributes:
        mean: The mean over the draws.
        low: The lower end of Wilson's score interval at 95 %, for an accuracy of `mean` on so many pairs.
        high: The upper end. More draws narrow neither: it is the interval of one draw, not of their mean.
        lowest: The lowest accuracy of a draw.
        highest: The highest.
        pairs: How many pairs there are.
        draws: How many draws.
    """

    mean: float
    low: float
    high: float
    lowest: float
    highest: float
    pairs: int
    draws: int


def drawn(parts: Sequence[Accuracy]) -> Drawn:
    """What several draws say together.

    Raises:
        MismatchError: There is no draw, or they are not of as many pairs.
    """
    if len({part.pairs for part in parts}) != 1:
        raise MismatchError("draws must be of the same pairs, at least one draw")
    values = [part.value for part in parts]
    mean, pairs = fmean(values), parts[0].pairs
    low, high = _wilson(mean, pairs)
    return Drawn(
        mean=mean,
        low=low,
        high=high,
        lowest=min(values),
        highest=max(values),
        pairs=pairs,
        draws=len(values),
    )


def accuracy_by_references(
    scorer: PairScorer,
    truth: NDArray[np.generic],
    counts: Sequence[int],
    *,
    draws: int = 3,
    seed: int = 0,
    ties: Ties = "first",
    kept: Checkpoint | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[str, tuple[Drawn, ...]]]:
    """The accuracy of each metric over the number of references (Figure 3), by class and on all pairs.

    Args:
        scorer: The pairs.
        truth: What people chose, for each pair.
        counts: The numbers of references.
        draws: How many times references are drawn at random for each number.
        seed: The seed of the first draw; the next has the next.
        ties: What a tie counts; see `accuracy`.
        kept: Where each draw is kept when it is made, and taken from when it is there.
        progress: Called with what is done next.

    Returns:
        Class (and `all`) to metric to what came out for each of `counts`.

    Raises:
        MismatchError: There are fewer references, or not a winner for each pair.
        OptionError: There is no number of references or no draw.
    """
    if not counts or draws < 1:
        raise OptionError("there must be a number of references and a draw, at least (got none)")
    kept = kept or Checkpoint(None, "")
    kinds = [pair.kind for pair in scorer.pairs]

    def draw(count: int, number: int) -> dict[str, dict[str, dict[str, float]]]:
        differences = scorer.differences(scorer.draw(count, seed=seed + number))
        found = {name: by_class(values, truth, kinds, ties=ties) for name, values in differences.items()}
        return {name: {kind: asdict(part) for kind, part in parts.items()} for name, parts in found.items()}

    curves: dict[str, dict[str, list[Drawn]]] = {}
    for count in counts:
        made = []
        for number in range(draws):
            progress(f"{count} references, draw {number + 1} of {draws}")
            made.append(kept.part(f"accuracy {count} {number}", partial(draw, count, number)))
        for name in scorer.names:
            for kind in made[0][name]:
                point = drawn([Accuracy(**part[name][kind]) for part in made])
                curves.setdefault(kind, {}).setdefault(name, []).append(point)
    return {kind: {name: tuple(points) for name, points in found.items()} for kind, found in curves.items()}


def fraction_of_wins(systems: Sequence[tuple[int, int]], chosen: NDArray[np.generic]) -> dict[int, float]:
    """How often each system wins against the others (Figure 4); a tie is half a win for both.

    Args:
        systems: What wrote the first and the second candidate of each pair.
        chosen: Above 0 where the first wins, below 0 where the second does.

    Raises:
        MismatchError: There is not a winner for each pair, or no pair.
    """
    if len(systems) != len(chosen) or not systems:
        raise MismatchError(f"there must be a winner for each of {len(systems)} pairs (got {len(chosen)})")
    won: dict[int, list[float]] = {}
    for (first, second), sign in zip(systems, np.sign(chosen.astype(float)).tolist(), strict=True):
        won.setdefault(first, []).append((1 + sign) / 2)
        won.setdefault(second, []).append((1 - sign) / 2)
    return {system: float(np.mean(won[system])) for system in sorted(won)}


def pearson(a: Mapping[int, float], b: Mapping[int, float]) -> float:
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


def judged_twice(preferences: Sequence[JudgedPair], pairs: Sequence[JudgedPair]) -> tuple[JudgedPair, ...]:
    """For each pair of one kind of judgement the same pair of another, in the order of the first.

    Pairs are the same when image, class and both sentences are, but for white space. Where a pair occurs
    several times, the first belongs to the first.

    Raises:
        MismatchError: A pair has no judgement of the other kind.
    """
    waiting: dict[tuple[str | None, ...], list[JudgedPair]] = {}
    for pair in pairs:
        waiting.setdefault(_identity(pair), []).append(pair)
    found = []
    for place, pair in enumerate(preferences):
        same = waiting.get(_identity(pair))
        if not same:
            raise MismatchError(
                f"every pair must have both kinds of judgement (pair {place} of image {pair.image!r} has one)"
            )
        found.append(same.pop(0))
    return tuple(found)


def _identity(pair: JudgedPair) -> tuple[str | None, ...]:
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


def split_half(scorer: PairScorer, *, seed: int = 0, ties: Ties = "first") -> SplitHalf:
    """Human performance (section 7.4): half of the triplets are the truth, half predict it.

    Args:
        scorer: Pairs of the triplet protocol, with a vote for each reference.
        seed: The seed of the halves; each pair has its own.
        ties: What a tie counts; see `accuracy`.

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
        known, predicting = split_votes(len(votes), seed=seed + place)
        truth.append(votes[known])
        humans.append(votes[predicting])
        chosen.append(predicting)
    wanted = winners(truth)
    differences = scorer.differences(chosen)
    return SplitHalf(
        humans=accuracy(winners(humans), wanted, ties=ties),
        metrics={name: accuracy(values, wanted, ties=ties) for name, values in differences.items()},
    )
