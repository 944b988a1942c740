"""Ranking of references within their images.

These are the experiments of the CIDEr paper, section 8 and appendices II and IV.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.metrics.base import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.rouge import RougeN
from capeval.scoring.intervals import compute_t_quantile
from capeval.studies.shared.words import (
    WORDS,
    ComparedMetric,
    add_document_frequencies,
    check_scored,
    stem_texts,
    tokenize_texts,
    validate_contenders,
)
from capeval.tokenizers import Tokenizer

__all__ = [
    "BATCH",
    "PAPER_RANKERS",
    "RankCorrelation",
    "Ranking",
    "first_correlations",
    "paper_correlations",
    "rank_correlation",
    "rank_references",
    "ranked",
    "ranks",
]

# Limits memory: each reference is scored against all others of its image.
BATCH = 4_000
"""Number of references scored at a time."""

PAPER_RANKERS = (
    ComparedMetric(metric=Cider2015()),
    ComparedMetric(metric=CiderD()),
    ComparedMetric(metric=Cider2015(n=1, order=1)),
    ComparedMetric(metric=CiderD(n=1, order=1)),
    ComparedMetric(metric=RougeN(n=1)),
    ComparedMetric(metric=Bleu(orders=(1,), level="sentence")),
    ComparedMetric(
        metric=Bleu(orders=(1,), level="sentence", brevity="none"), name="BLEU-1 without brevity penalty"
    ),
)
"""The metrics of Figures 5 and 6, and the two metrics of the correlation in section 8."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """Scores of each reference against the other references of its image.

    Attributes:
        references: The references.
        scores: For each metric, one array per image with a number for each of its references.
    """

    references: References
    scores: Mapping[str, tuple[FloatArray, ...]]


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Spearman's rho between two metrics' rankings of the references of an image.

    Attributes:
        mean: The mean over images.
        low: The lower end of the t interval of that mean over images, at 95 %; NaN with one image.
        high: The upper end.
        images: The number of images. Images on which a metric gives all references the same score are
            excluded.
        all_references: Spearman's rho over all references of all images at once.
    """

    mean: float
    low: float
    high: float
    images: int
    all_references: float


def rank_references(
    references: References,
    contenders: Sequence[ComparedMetric] = PAPER_RANKERS,
    *,
    tokenizer: Tokenizer | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Ranking:
    """Score each reference against the rest of its image.

    In appendix II, each of 48 references is scored against 47. Document frequencies come from all references.

    Args:
        references: At least two captions for each image.
        contenders: The metrics.
        tokenizer: The tokenizer; the reference tokenizer by default.
        progress: Called after each batch, with the number of ranked images.

    Raises:
        MismatchError: An image has only one reference.
        OptionError: Two contenders have scores of the same name.
        DependencyError: Stems are required and snowballstemmer is not installed.

    Example:
        The first reference contains all 5 words of the second, and 1 of the 3 words of the third. Its
        ROUGE-1 is 6/8:

        >>> from capeval import References
        >>> from capeval.studies.ranking import rank_references
        >>> references = {1: ["A dog runs on the grass.", "A dog runs on grass.", "A brown animal."]}
        >>> ranking = rank_references(References(references))
        >>> [scores.round(3).tolist() for scores in ranking.scores["ROUGE-1"]]
        [[0.75, 0.667, 0.182]]
    """
    names = validate_contenders(contenders)
    single = np.flatnonzero(references.counts < 2)
    if single.size:
        image = references.image_ids[single[0]]
        raise MismatchError(f"every image must have at least two references (got one for image {image!r})")
    tokenized = tokenize_texts(
        (text for texts in references.values() for text in texts), tokenizer or Tokenizer()
    )
    words = {image: [tokenized[text] for text in texts] for image, texts in references.items()}
    forms = {False: words}
    if any(contender.stem for contender in contenders):
        stems = stem_texts(tokenized.values())
        forms[True] = {image: [stems[text] for text in texts] for image, texts in words.items()}
    counted = [
        (contender, add_document_frequencies(contender.metric, forms[contender.stem], "all references"))
        for contender in contenders
    ]
    scores: dict[str, list[FloatArray]] = {name: [] for name in names}
    finished = 0
    for images in _split_batches(references):
        for contender, metric in counted:
            by_score = _score_left_out(metric, [forms[contender.stem][image] for image in images])
            for name, parts in zip(contender.names, by_score, strict=True):
                scores[name] += parts
        finished += len(images)
        progress(f"{finished:,} images ranked")
    return Ranking(references=references, scores={name: tuple(parts) for name, parts in scores.items()})


def _split_batches(references: References) -> Iterator[list[ImageId]]:
    batch: list[ImageId] = []
    size = 0
    for image, count in zip(references.image_ids, references.counts.tolist(), strict=True):
        batch.append(image)
        size += count
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _score_left_out(metric: Metric, groups: Sequence[Sequence[str]]) -> list[list[FloatArray]]:
    rest = [[*texts[:i], *texts[i + 1 :]] for texts in groups for i in range(len(texts))]
    own = [text for texts in groups for text in texts]
    prepared = metric.prepare(References(dict(enumerate(rest))), tokenizer=WORDS)
    scored = prepared.score(Candidates(dict(enumerate(own)))).per_image
    check_scored(scored)
    ends = np.cumsum([len(texts) for texts in groups])[:-1]
    return [list(np.split(scored[name], ends)) for name in metric.names]


def ranked(ranking: Ranking, image: ImageId, name: str) -> list[tuple[float, str]]:
    """Return an image's references and scores, best first by a metric (Figure 5).

    References with equal scores stay in their order.

    Raises:
        MismatchError: The image has no ranking.
        OptionError: The metric has no ranking.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.ranking import rank_references, ranked
        >>> references = {1: ["A brown animal.", "A dog runs on the grass.", "A dog runs on grass."]}
        >>> ranking = rank_references(References(references))
        >>> [(round(score, 3), text) for score, text in ranked(ranking, 1, "ROUGE-1")]
        [(0.75, 'A dog runs on the grass.'), (0.667, 'A dog runs on grass.'), (0.182, 'A brown animal.')]
    """
    if name not in ranking.scores:
        raise OptionError(f"the metric must be one of {', '.join(ranking.scores)} (got {name!r})")
    if image not in ranking.references:
        raise MismatchError(f"image {image!r} is not among the {len(ranking.references):,} ranked images")
    scores = ranking.scores[name][ranking.references.image_ids.index(image)]
    texts = ranking.references[image]
    return [(float(scores[i]), texts[i]) for i in np.argsort(-scores, kind="stable")]


def ranks(scores: Sequence[FloatArray]) -> FloatArray:
    """Return the rank of each reference in its image, from 0 (best) to 1 (worst).

    Equal scores share the mean of their ranks. All images are in one array.

    Args:
        scores: The scores of one metric, as in `Ranking.scores`.

    Raises:
        DependencyError: scipy is not installed.

    Example:
        The first image has three references, and the second has two with equal scores:

        >>> import numpy as np
        >>> from capeval.studies.ranking import ranks
        >>> ranks([np.array([0.9, 0.1, 0.5]), np.array([0.4, 0.4])]).tolist()
        [0.0, 1.0, 0.5, 0.5, 0.5]
    """
    _, rankdata = _import_scipy()
    parts = [(rankdata(-values) - 1) / max(1, len(values) - 1) for values in scores]
    return np.concatenate(parts)


def paper_correlations(ranking: Ranking) -> dict[tuple[str, str], RankCorrelation]:
    """Return the rank correlations of section 8 (Figure 6).

    They are the correlation of each metric with CIDEr, and of CIDEr-1 with CIDEr-D-1.

    Args:
        ranking: The ranking by `PAPER_RANKERS`.

    Example:
        CIDEr and BLEU-1 rank the references of image 1 equally. They exchange the first two of image 2, so
        that rho is 1 for image 1 and 0.5 for image 2:

        >>> from capeval import References
        >>> from capeval.studies.ranking import paper_correlations, rank_references
        >>> references = {
        ...     1: ["A dog runs on the grass.", "A brown dog runs.", "An animal on grass."],
        ...     2: ["Two cats sleep on a bed.", "Cats on a bed.", "Cats sleep."],
        ... }
        >>> correlations = paper_correlations(rank_references(References(references)))
        >>> found = correlations["CIDEr-2015", "BLEU-1"]
        >>> round(found.mean, 3), found.images
        (0.75, 2)
    """
    others = [name for name in ranking.scores if name not in ("CIDEr-2015", "CIDEr-2015-1", "CIDEr-D-1")]
    pairs = (*(("CIDEr-2015", name) for name in others), ("CIDEr-2015-1", "CIDEr-D-1"))
    return {(a, b): rank_correlation(ranking.scores[a], ranking.scores[b]) for a, b in pairs}


def first_correlations(ranking: Ranking) -> dict[tuple[str, str], RankCorrelation]:
    """Return the rank correlation of the first metric with each other metric.

    Example:
        >>> from capeval import CiderD, References
        >>> from capeval.studies.ranking import first_correlations, rank_references
        >>> from capeval.studies.shared.pair_scores import list_contenders
        >>> references = {1: ["A dog runs.", "Brown dogs run.", "A dog."], 2: ["Cats.", "A cat."]}
        >>> contenders = list_contenders([CiderD(), CiderD(stem=True)])
        >>> correlations = first_correlations(rank_references(References(references), contenders))
        >>> {names: round(each.mean, 2) for names, each in correlations.items()}
        {('CIDEr-D', 'CIDEr-D(stem=true)'): 0.87}
    """
    first, *others = ranking.scores
    return {
        (first, other): rank_correlation(ranking.scores[first], ranking.scores[other]) for other in others
    }


def _import_scipy() -> tuple[Callable[..., Any], Callable[..., Any]]:
    try:
        from scipy.stats import rankdata, spearmanr
    except ImportError as error:
        raise make_missing_package_error("ranks need", error) from None
    return spearmanr, rankdata


def rank_correlation(a: Sequence[FloatArray], b: Sequence[FloatArray]) -> RankCorrelation:
    """Return the rank correlation of two metrics, image by image.

    Args:
        a: The scores of one metric: one array per image, as in `Ranking.scores`.
        b: The scores of the other metric.

    Raises:
        MismatchError: The metrics have different references, or no image can be ranked by both.
        DependencyError: scipy is not installed.

    Example:
        The metrics agree on the first image. On the second they exchange the two lower ranks, so that
        rho is 1 - 6 * (1 + 1) / (3 * 8) = 0.5:

        >>> import numpy as np
        >>> from capeval.studies.ranking import rank_correlation
        >>> a = [np.array([0.9, 0.5, 0.1]), np.array([0.8, 0.4, 0.2])]
        >>> b = [np.array([0.7, 0.3, 0.2]), np.array([0.6, 0.1, 0.3])]
        >>> found = rank_correlation(a, b)
        >>> round(found.mean, 3), found.images
        (0.75, 2)
    """
    spearmanr, _ = _import_scipy()
    if [len(scores) for scores in a] != [len(scores) for scores in b]:
        raise MismatchError("both metrics must have scored the same references")
    rhos = np.array(
        [float(spearmanr(x, y).statistic) for x, y in zip(a, b, strict=True) if np.ptp(x) and np.ptp(y)]
    )
    if not rhos.size:
        raise MismatchError("no image has references with different scores by both metrics")
    reach = math.nan
    if rhos.size > 1:
        reach = compute_t_quantile(0.025, rhos.size - 1) * float(rhos.std(ddof=1)) / math.sqrt(rhos.size)
    pooled = float(spearmanr(np.concatenate(a), np.concatenate(b)).statistic)
    mean = float(rhos.mean())
    return RankCorrelation(
        mean=mean, low=mean - reach, high=mean + reach, images=rhos.size, all_references=pooled
    )
