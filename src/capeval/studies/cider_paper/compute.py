"""Results for the tables and figures of the CIDEr paper (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from capeval.data.captions import References
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.meteor import Meteor
from capeval.studies.cider_paper.contenders import FIVE_REFERENCES, PILOT, RANKERS, VERSIONS
from capeval.studies.cider_paper.crossed_wins import CrossedWins, collect_outputs, cross_systems
from capeval.studies.cider_paper.options import CiderPaperOptions
from capeval.studies.consensus import (
    ConsensusOptions,
    ConsensusStudy,
    accuracy_by_references,
    study_abstract50s,
    study_pascal50s,
)
from capeval.studies.correlation import score_ratings
from capeval.studies.plan import winners
from capeval.studies.ranking import RankCorrelation, Ranking, rank_correlation, rank_references
from capeval.studies.shared.accuracy import AccuracyOverDraws
from capeval.studies.shared.coefficients import coefficients
from capeval.studies.shared.pair_scores import PAPER_TOKENIZER, PairScorer
from capeval.studies.shared.words import ComparedMetric
from capeval.tokenizers import Tokenizer, tokenize

__all__ = [
    "AbstractResults",
    "CiderPaperOptions",
    "Curves",
    "PascalResults",
    "study_paper_abstract",
    "study_paper_flickr8k",
    "study_paper_pascal",
]

Curves = Mapping[str, Mapping[str, Sequence[AccuracyOverDraws]]]
_Progress = Callable[[str], object]

COUNTS = (1, 2, 5, 10, 20, 48)
"""Numbers of references for Figures 3b, 3c, 11 and 12."""

PILOT_COUNTS = (1, 2, 5, 10, 20, 50, 100)
"""Numbers of references for Figure 3a."""

PILOT_SIZE = 120
"""The number of sentences of each image of the pilot study."""

PASCAL_STEPS = 5
ABSTRACT_STEPS = 3
"""The number of steps of the studies, without the draws of the curves."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PascalResults:
    """Results on PASCAL-50S.

    Attributes:
        words: The mean number of words of a sentence.
        study: Accuracies, wins and agreement with 48 references.
        curves: The accuracy of all versions of metrics for each of `COUNTS`, by class and metric.
        five: The accuracy with five of the 48 references on pairwise judgments, by class and metric.
        pilot_pairs: The number of pairs of the pilot study.
        pilot: The accuracy on these pairs for each of `PILOT_COUNTS`, by class and metric.
        crossed: The wins of systems on the same images.
        ranking: The scores of the references against each other.
    """

    words: float
    study: ConsensusStudy
    curves: Curves
    five: Curves
    pilot_pairs: int
    pilot: Curves
    crossed: CrossedWins
    ranking: Ranking


@dataclass(frozen=True, kw_only=True, eq=False)
class AbstractResults:
    """Results on ABSTRACT-50S.

    Attributes:
        words: The mean number of words of a sentence; None without all sentences.
        study: Accuracies and human performance with 48 references.
        curves: The accuracy of all versions of metrics for each of `COUNTS`, by class and metric.
        correlation: The rank correlation of CIDEr-2015 and CIDEr-D; None without all sentences.
    """

    words: float | None
    study: ConsensusStudy
    curves: Curves
    correlation: RankCorrelation | None


def study_paper_pascal(
    preferences: Sequence[Pair],
    judged: Sequence[Pair],
    sentences: References,
    options: CiderPaperOptions = CiderPaperOptions(),  # noqa: B008 - it is immutable.
    *,
    progress: _Progress = lambda _: None,
) -> PascalResults:
    """Compute all results of the paper on PASCAL-50S.

    Args:
        preferences: The pairs with 48 references and the consensus, from `load_pascal50s`.
        judged: The pairs with the votes of people who saw the image.
        sentences: All sentences, from `load_sentences`.
        options: The draws.
        progress: Called with a description of the next step.

    Raises:
        MismatchError: There are too few references, or no image has the sentences of the pilot study.

    Example:
        >>> from dataclasses import replace
        >>> from capeval import References
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.cider_paper import CiderPaperOptions, study_paper_pascal
        >>> texts = {"dog.jpg": [f"A dog runs {n} miles." for n in range(120)]}
        >>> texts["cat.jpg"] = [f"A cat sleeps {n} hours." for n in range(120)]
        >>> systems = {"kind": "MM", "first_by": "1", "second_by": "2", "votes": (1,)}
        >>> pairs = [
        ...     Pair(image="dog.jpg", first="A dog runs.", second="A cat.", **systems),
        ...     Pair(image="cat.jpg", first="A cat sleeps.", second="A bus.", **systems),
        ... ]
        >>> preferences = [replace(pair, references=tuple(texts[pair.image][:48])) for pair in pairs]
        >>> options = CiderPaperOptions(draws=1)
        >>> results = study_paper_pascal(preferences, pairs, References(texts), options)
        >>> results.pilot_pairs, results.words, results.crossed.means
        (2, 5.0, {'1': 1.0, '2': 0.0})
    """
    consensus = ConsensusOptions(draws=options.draws, seed=options.seed)
    progress("PASCAL-50S: accuracy")
    study = study_pascal50s(preferences, judged, consensus)
    progress("PASCAL-50S: pilot study")
    pilot_pairs = _select_pilot(preferences, sentences)
    # The draws of so few pairs differ much, and take little time.
    many = replace(consensus, counts=PILOT_COUNTS, draws=10 * options.draws)
    pilot = _compute_curves(pilot_pairs, PILOT, many)
    progress("PASCAL-50S: systems")
    few = {image: texts[:48] for image, texts in sentences.items()}
    systems = sorted(next(iter(study.wins.values())).fractions)
    crossed = cross_systems(collect_outputs(judged, systems), few, seed=options.seed)
    progress("PASCAL-50S: ranking of references")
    ranking = rank_references(References(few), RANKERS)
    progress("PASCAL-50S: five references")
    return PascalResults(
        words=_count_words(sentences),
        study=study,
        curves=_compute_curves(preferences, VERSIONS, replace(consensus, counts=COUNTS), progress=progress),
        five=accuracy_by_references(
            PairScorer(preferences, FIVE_REFERENCES, tokenizer=PAPER_TOKENIZER),
            study.judged.winners["pairwise"],
            replace(consensus, counts=(5,), draws=2 * options.draws),
        ),
        pilot_pairs=len(pilot_pairs),
        pilot=pilot,
        crossed=crossed,
        ranking=ranking,
    )


def study_paper_abstract(
    pairs: Sequence[Pair],
    sentences: References | None,
    options: CiderPaperOptions = CiderPaperOptions(),  # noqa: B008 - it is immutable.
    *,
    progress: _Progress = lambda _: None,
) -> AbstractResults:
    """Compute all results of the paper on ABSTRACT-50S.

    Args:
        pairs: The pairs, from `load_abstract50s`.
        sentences: All sentences, from `load_sentences`; None if they are unknown.
        options: The draws.
        progress: Called with a description of the next step.

    Raises:
        MismatchError: There are too few references, or two pairs of an image don't share a candidate.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.cider_paper import CiderPaperOptions, study_paper_abstract
        >>> dog = tuple(f"A dog runs {n} miles." for n in range(48))
        >>> judged = {"image": 1, "first": "A dog runs.", "references": dog, "votes": (1,) * 48}
        >>> pairs = [Pair(second=text, **judged) for text in ("A bed.", "A cat.")]
        >>> results = study_paper_abstract(pairs, None, CiderPaperOptions(draws=1))
        >>> results.study.human["Humans"].mean
        1.0
    """
    # The paper's accuracies are multiples of 0.5 %, so pairs without a human winner were not excluded.
    consensus = ConsensusOptions(draws=options.draws, seed=options.seed, human_ties="half")
    progress("ABSTRACT-50S: accuracy and human performance")
    study = study_abstract50s(pairs, consensus)
    correlation = None
    if sentences is not None:
        progress("ABSTRACT-50S: ranking of references")
        metrics = [ComparedMetric(metric=Cider2015()), ComparedMetric(metric=CiderD())]
        scores = rank_references(sentences, metrics).scores
        correlation = rank_correlation(scores["CIDEr-2015"], scores["CIDEr-D"])
    return AbstractResults(
        words=None if sentences is None else _count_words(sentences),
        study=study,
        curves=_compute_curves(
            study.judged.pairs, VERSIONS, replace(consensus, counts=COUNTS), progress=progress
        ),
        correlation=correlation,
    )


def study_paper_flickr8k(captions: References, ratings: Ratings) -> dict[str, float]:
    """Return Spearman's rho of CIDEr-2015 and METEOR with the expert ratings of Flickr8K.

    Args:
        captions: The references.
        ratings: The ratings of captions.

    Example:
        >>> import numpy as np
        >>> from capeval import References
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.cider_paper import study_paper_flickr8k
        >>> captions = References({1: ["a dog runs"], 2: ["two cats sleep"]})
        >>> ratings = Ratings(
        ...     image_ids=(1, 2), captions=("a dog runs", "two dogs"), values=np.array([[4.0], [1.0]])
        ... )
        >>> {name: round(rho, 3) for name, rho in study_paper_flickr8k(captions, ratings).items()}
        {'CIDEr-2015': 1.0, 'METEOR': 1.0}
    """
    rated = score_ratings(captions, ratings, [Cider2015(), Meteor()])
    values = np.repeat(np.arange(len(ratings.captions)), ratings.values.shape[1])
    every = ratings.values.ravel()
    known = ~np.isnan(every)
    return {
        name: coefficients(scores[values][known], every[known])["Spearman"]
        for name, scores in rated.per_caption.items()
    }


def _select_pilot(pairs: Sequence[Pair], sentences: References) -> list[Pair]:
    """Return the pairs on images with the sentences of the pilot study, with these as references."""
    chosen = [
        replace(pair, references=tuple(sentences[pair.image]))
        for pair in pairs
        if len(sentences[pair.image]) >= PILOT_SIZE
    ]
    if not chosen:
        raise MismatchError(f"at least one image must have {PILOT_SIZE} sentences (got none)")
    return chosen


def _compute_curves(
    pairs: Sequence[Pair],
    contenders: Sequence[ComparedMetric],
    options: ConsensusOptions,
    *,
    progress: _Progress = lambda _: None,
) -> Curves:
    truth = winners([pair.votes for pair in pairs])
    scorer = PairScorer(pairs, contenders, tokenizer=PAPER_TOKENIZER)
    return accuracy_by_references(scorer, truth, options, progress=progress)


def _count_words(sentences: References) -> float:
    """Return the mean number of words of a sentence, without punctuation."""
    tokens = tokenize([text for texts in sentences.values() for text in texts], Tokenizer())
    return float(np.mean([len(words) for words in tokens]))
