"""Human performance (Chen et al. 2015, section 4.1 and Table 1).

One caption of each image is the candidate, and other captions of the image are its references. The candidate
is drawn at random, in several draws. With leave-one-out, every caption is the candidate once.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capeval._internal.random import make_generator, orders
from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray, Signature
from capeval.errors import CapevalWarning, MismatchError, UnscoredWarning
from capeval.metrics.base import Metric, Prepared
from capeval.metrics.registry import DEFAULT, list_metric_keys, resolve
from capeval.studies.human.options import HumanOptions
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.words import WORDS, require_tokens
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = ["HumanOptions", "HumanPerformance", "human_performance", "leave_one_out"]

_Progress = Callable[[str], object]


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanPerformance:
    """Scores of human captions.

    Attributes:
        references: The number of references of each image; None for all captions but one.
        names: The names of the scores.
        draws: The corpus scores: one row per draw (or per round of leave-one-out that contains all images),
            one column per name.
        mean: The score by name: the mean of the draws, or the score of all rounds pooled.
        spread: The standard deviation of the draws by name; NaN for a single draw.
        signatures: The signature of each metric's scores, by the metric's key.
    """

    references: int | None
    names: tuple[str, ...]
    draws: FloatArray
    mean: FloatArray
    spread: FloatArray
    signatures: dict[str, Signature]


def human_performance(
    captions: ReferencesLike,
    metrics: Iterable[str | Metric] = DEFAULT,
    options: HumanOptions = HumanOptions(),  # noqa: B008 - it is immutable.
    *,
    tokenizer: Tokenizer | None = None,
    progress: _Progress = lambda _: None,
    checkpoint: str | Path | None = None,
) -> tuple[HumanPerformance, ...]:
    """Score one caption of each image against others of the image, several times.

    A draw puts the captions of each image in random order: the first is the candidate, the next are its
    references. Within a draw, all numbers of references have the same candidates, and a smaller set of
    references is part of a larger one. Captions are tokenized once, in one batch.

    Args:
        captions: All captions of each image.
        metrics: Names or metric objects.
        options: The numbers of references and draws, or leave-one-out; see `leave_one_out`.
        tokenizer: The tokenizer; the reference tokenizer by default.
        progress: Called with a description of the next step, once for each draw and number of references.
        checkpoint: The file with finished parts, which are not computed again.

    Returns:
        A result for each number of references, in the given order.

    Raises:
        MismatchError: An image has too few captions.
        OptionError: A metric is unknown, or reads untokenized captions.
        FormatError: The checkpoint belongs to other data or options.

    Example:
        >>> from capeval.studies.human import HumanOptions, human_performance
        >>> captions = {1: ["a dog runs", "a dog sits", "a dog sleeps"], 2: ["two cats", "one cat", "a cat"]}
        >>> found = human_performance(captions, ["BLEU-1"], HumanOptions(references=(1, 2), draws=4))
        >>> [(each.references, each.mean.round(3).tolist()) for each in found]
        [(1, [0.45]), (2, [0.55])]
    """
    if options.leave_one_out:
        return (
            leave_one_out(captions, metrics, tokenizer=tokenizer, progress=progress, checkpoint=checkpoint),
        )
    resolved, pool = _resolve_metrics(metrics), _CaptionPool(captions, tokenizer)
    references: tuple[int | None, ...] = options.references or (None,)
    pool.require(max((k or 1) for k in references) + 1)
    finished = StudyCheckpoint(checkpoint, pool.key(resolved, f"draws of seed {options.seed}"))
    sums_of: dict[int | None, list[list[FloatArray]]] = {k: [] for k in references}
    for draw in range(options.draws):
        order = orders([len(texts) for texts in pool.texts], make_generator(options.seed, draw))
        for k in references:
            progress(f"Draw {draw + 1} of {options.draws}, {'all other' if k is None else k} references")
            end = None if k is None else k + 1
            sums_of[k].append(
                _sum_statistics(finished, f"{draw}/{k}", resolved, lambda: pool.split(order, end))  # noqa: B023
            )
    return tuple(
        _build_result(resolved, pool, k, sums, pooled=False, seed=options.seed) for k, sums in sums_of.items()
    )


def leave_one_out(
    captions: ReferencesLike,
    metrics: Iterable[str | Metric] = DEFAULT,
    *,
    tokenizer: Tokenizer | None = None,
    progress: _Progress = lambda _: None,
    checkpoint: str | Path | None = None,
) -> HumanPerformance:
    """Score every caption of each image against all others of the image.

    In round `i`, the caption at position `i` of each image is its candidate. An image with fewer captions has
    no candidate in that round, but its captions count for document frequencies. `mean` is the score of the
    summed statistics of all rounds, so every caption has the same weight.

    Args:
        captions: All captions of each image.
        metrics: Names or metric objects.
        tokenizer: The tokenizer; the reference tokenizer by default.
        progress: Called with a description of the next step, once per round.
        checkpoint: The file with finished parts, which are not computed again.

    Raises:
        MismatchError: An image has only one caption.
        OptionError: A metric is unknown, or reads untokenized captions.
        FormatError: The checkpoint belongs to other data or options.

    Example:
        >>> from capeval.studies.human import leave_one_out
        >>> captions = {1: ["a dog runs", "a dog sits"], 2: ["two cats sleep", "two cats sleep"]}
        >>> performance = leave_one_out(captions, ["BLEU-1"])
        >>> performance.mean.round(3).tolist()  # In each round, 2 of 3 and 3 of 3 words match.
        [0.833]
    """
    resolved, pool = _resolve_metrics(metrics), _CaptionPool(captions, tokenizer)
    pool.require(2)
    finished = StudyCheckpoint(checkpoint, pool.key(resolved, "leave one out"))
    rounds = max(len(texts) for texts in pool.texts)
    sums = []
    for position in range(rounds):
        progress(f"Caption {position + 1} of {rounds}")
        sums.append(_sum_statistics(finished, str(position), resolved, lambda: pool.left_out(position)))  # noqa: B023
    return _build_result(resolved, pool, None, sums, pooled=True, seed=None)


def _resolve_metrics(metrics: Iterable[str | Metric]) -> tuple[Metric, ...]:
    resolved = resolve(metrics)
    require_tokens(resolved)
    return resolved


class _CaptionPool:
    """Tokenized captions of each image."""

    def __init__(self, captions: ReferencesLike, tokenizer: Tokenizer | None) -> None:
        captions = References(captions)
        self.tokens = TokenizedReferences(captions, tokenizer)
        self.image_ids = captions.image_ids
        self.texts = [self.tokens.native.of(position) for position in range(len(self.tokens))]

    def require(self, captions: int) -> None:
        for image, texts in zip(self.image_ids, self.texts, strict=True):
            if len(texts) < captions:
                raise MismatchError(
                    f"every image must have at least {captions} captions, a candidate and "
                    f"{captions - 1} references (got {len(texts)} for image {image!r})"
                )

    def key(self, metrics: Sequence[Metric], how: str) -> str:
        """Return the cache key of a checkpoint."""
        digest = hashlib.sha256(repr((self.image_ids, self.texts)).encode("utf-8", "surrogatepass"))
        options = [
            (metric.family, metric.options(), metric.document_frequencies, len(metric.statistics))
            for metric in metrics
        ]
        return f"{how}; {options}; {self.tokens.tokenizer}; {digest.hexdigest()}"

    def split(self, orders: list[list[int]], end: int | None) -> tuple[References, Candidates]:
        """Return the candidates and references of a draw.

        The first caption of each order is the candidate, and the following ones up to `end` are the
        references.
        """
        others: dict[ImageId, list[str]] = {}
        held_out: dict[ImageId, str] = {}
        for image, texts, order in zip(self.image_ids, self.texts, orders, strict=True):
            held_out[image] = texts[order[0]]
            others[image] = [texts[i] for i in order[1:end]]
        return References(others), Candidates(held_out)

    def left_out(self, position: int) -> tuple[References, Candidates]:
        """Return the captions at a position as candidates, and the others as references."""
        others: dict[ImageId, list[str]] = {}
        held_out: dict[ImageId, str] = {}
        for image, texts in zip(self.image_ids, self.texts, strict=True):
            others[image] = texts[:position] + texts[position + 1 :]
            if position < len(texts):
                held_out[image] = texts[position]
        return References(others), Candidates(held_out)


def _sum_statistics(
    finished: StudyCheckpoint,
    name: str,
    metrics: Sequence[Metric],
    split: Callable[[], tuple[References, Candidates]],
) -> list[FloatArray]:
    """Return each metric's summed statistics of a part, cached in the checkpoint."""

    def score() -> list[list[float]]:
        references, candidates = split()
        tokens = TokenizedReferences(references, WORDS)
        rows = tokens.candidates(candidates)
        with warnings.catch_warnings():
            # `_build_result` warns once for all parts.
            warnings.simplefilter("ignore", UnscoredWarning)
            return [Prepared(metric, tokens).statistics(rows).sum(axis=0).tolist() for metric in metrics]

    return [np.array(sums) for sums in finished.part(name, score)]


def _warn_unscored(metrics: Sequence[Metric], sums: Sequence[FloatArray]) -> None:
    """Warn about candidates of all parts without a score, once per reason."""
    missing = {
        (metric.unscored_reason, metric.unscored_fix): int(metric.unscored(rows).sum())
        for metric, rows in zip(metrics, sums, strict=True)
    }
    for (reason, fix), count in missing.items():
        if count:
            candidates = "1 candidate is" if count == 1 else f"{count:,} candidates are"
            warnings.warn(f"{candidates} {reason}; {fix}", CapevalWarning, stacklevel=2)


def _build_result(
    metrics: Sequence[Metric],
    pool: _CaptionPool,
    references: int | None,
    sums: list[list[FloatArray]],
    *,
    pooled: bool,
    seed: int | None,
) -> HumanPerformance:
    by_metric = [np.array(rows) for rows in zip(*sums, strict=True)]
    _warn_unscored(metrics, by_metric)
    # The spread excludes later rounds of leave-one-out, in which some images have too few captions.
    whole = min(len(texts) for texts in pool.texts) if pooled else len(sums)
    draws = np.hstack(
        [metric.aggregate(rows[:whole]) for metric, rows in zip(metrics, by_metric, strict=True)]
    )
    mean = draws.mean(axis=0)
    if pooled:
        totals = (rows.sum(axis=0) for rows in by_metric)
        mean = np.hstack([metric.aggregate(row) for metric, row in zip(metrics, totals, strict=True)])
    few, many = (
        (ends(len(texts) - 1 for texts in pool.texts) if references is None else references)
        for ends in (min, max)
    )
    signatures = {
        key: metric.signature(pool.tokens, counts=(few, many), seed=seed)
        for key, metric in zip(list_metric_keys(metrics), metrics, strict=True)
    }
    return HumanPerformance(
        references=references,
        names=tuple(name for metric in metrics for name in metric.names),
        draws=draws,
        mean=mean,
        spread=draws.std(axis=0, ddof=1) if len(draws) > 1 else np.full(len(mean), np.nan),
        signatures=signatures,
    )
