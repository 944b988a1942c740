"""Evaluation with several metrics; captions are tokenized once for all metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from capeval.data.captions import Candidates, CandidatesLike, ImageId, References, ReferencesLike, find_rows
from capeval.data.scores import Scores
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import SWAPPED, describe_several_candidates, format_images
from capeval.metrics.base import Metric, Prepared, make_scores
from capeval.metrics.registry import DEFAULT, resolve
from capeval.scoring.report import Report, create_report
from capeval.tokenizers import (
    TokenizedCandidates,
    TokenizedReferences,
    Tokenizer,
    as_tokenized,
    unknown_images,
)

__all__ = ["Evaluator", "Subsets", "evaluate", "list_problems"]

Subsets: TypeAlias = (
    Mapping[str, Iterable[int]] | Mapping[str, Iterable[str]] | Mapping[str, Iterable[ImageId]]
)
"""Mapping of subset names to the ids of their images."""


def evaluate(
    references: ReferencesLike,
    candidates: CandidatesLike,
    metrics: Iterable[str | Metric] = DEFAULT,
    *,
    subsets: Subsets | None = None,
    tokenizer: Tokenizer | None = None,
) -> Report:
    """Score one candidate per image with several metrics.

    Args:
        references: The references of each image, in any form that `References` accepts.
        candidates: Mapping of image ids to candidates, or any other form that `Candidates` accepts; the
            images must be the same as in the references.
        metrics: Names or metric objects.
        subsets: Mapping of subset names to image ids; each subset is also scored separately.
        tokenizer: The tokenizer; by default the reference implementation's.

    Returns:
        Corpus scores, scores per image in the order of the references, scores by subset, signatures.

    Raises:
        CaptionError: References or candidates are not captions by image, or a subset contains something other
            than image ids.
        MismatchError: Images of candidates and references differ, an image has several candidates, or a
            subset contains an image without references.
        OptionError: A metric is unknown or duplicate, `subsets` is not a mapping of names to image ids, or a
            subset is empty.

    Example:
        >>> from capeval import evaluate
        >>> references = {1: ["A dog runs.", "The dog is running."], 2: ["Two cats on a bed."]}
        >>> candidates, subsets = {1: "A dog runs.", 2: "Two cats."}, {"dogs": [1], "cats": [2]}
        >>> report = evaluate(references, candidates, ["BLEU-1", "ROUGE-L"], subsets=subsets)
        >>> {name: round(score, 3) for name, score in report.corpus.items()}
        {'BLEU-1': 0.549, 'ROUGE-L': 0.765}
        >>> report.image_ids, report.per_image["ROUGE-L"].round(3).tolist()
        ((1, 2), [1.0, 0.53])
        >>> round(report.subsets["dogs"]["BLEU-1"], 3)
        1.0
    """
    return Evaluator(references, metrics, tokenizer=tokenizer).evaluate(candidates, subsets=subsets)


class Evaluator:
    """References prepared for several metrics, to evaluate any number of systems.

    Args:
        references: The references of each image; tokenized references are used unchanged.
        metrics: Names or metric objects.
        tokenizer: The tokenizer; by default the reference implementation's.

    Raises:
        CaptionError: `references` are not captions by image.
        OptionError: A metric is unknown or duplicate, or `tokenizer` is not the tokenizer of the tokenized
            references.

    Example:
        >>> from capeval import Evaluator
        >>> evaluator = Evaluator({1: ["A big red bus."], 2: ["Two cats."]}, ["ROUGE-1"])
        >>> systems = {"Ours": {1: "A red bus.", 2: "Two cats."}, "Baseline": {1: "A bus.", 2: "Cats."}}
        >>> {name: evaluator.evaluate(candidates).corpus["ROUGE-1"] for name, candidates in systems.items()}
        {'Ours': 0.875, 'Baseline': 0.5}
    """

    def __init__(
        self,
        references: ReferencesLike | TokenizedReferences,
        metrics: Iterable[str | Metric] = DEFAULT,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        resolved = resolve(metrics)
        self._tokens = as_tokenized(references, tokenizer)
        self.references = self._tokens.references
        self._prepared = tuple(Prepared(metric, self._tokens) for metric in resolved)

    def tokenize(self, candidates: CandidatesLike) -> TokenizedCandidates:
        """Tokenize candidates for all evaluators with the same tokenized references.

        Args:
            candidates: Mapping of image ids to candidates, one per image.

        Raises:
            CaptionError: `candidates` are not captions by image.
            MismatchError: Images of candidates and references differ, or an image has several candidates.
        """
        return self._tokens.candidates(match_candidates(self.references, Candidates(candidates)))

    def evaluate(
        self,
        candidates: CandidatesLike | TokenizedCandidates,
        *,
        subsets: Subsets | None = None,
    ) -> Report:
        """Score one candidate per image.

        Args:
            candidates: Mapping of image ids to candidates, or the result of `tokenize`.
            subsets: Mapping of subset names to image ids; each subset is also scored separately.

        Raises:
            CaptionError: `candidates` are not captions by image, or a subset contains something other than
                image ids.
            MismatchError: Images of candidates and references differ, an image has several candidates, a
                subset contains an image without references, or the candidates were tokenized for different
                references.
            OptionError: `subsets` is not a mapping of names to image ids, or a subset is empty.
        """
        if not isinstance(candidates, TokenizedCandidates):
            candidates = Candidates(candidates)
        if subsets is not None and not isinstance(subsets, Mapping):
            raise OptionError(
                f"'subsets' must be a mapping of names to image ids (got {type(subsets).__name__})"
            )
        # Checked before scoring, so that an invalid subset fails early.
        rows = {
            name: find_rows(self.references.image_ids, images, f"subset {name!r}")
            for name, images in (subsets or {}).items()
        }
        tokens = self._match_tokens(candidates)
        scores = tuple(
            (prepared.metric, make_scores(prepared, prepared.statistics(tokens), tokens.image_ids))
            for prepared in self._prepared
        )
        subset_scores = {name: _score_subset(scores, part) for name, part in rows.items()}
        return create_report(self.references.image_ids, scores, subset_scores)

    def _match_tokens(self, candidates: Candidates | TokenizedCandidates) -> TokenizedCandidates:
        """Return tokenized candidates in the order of the references."""
        if isinstance(candidates, Candidates):
            return self.tokenize(candidates)
        if candidates.references is not self._tokens:
            raise MismatchError(
                "the candidates were tokenized for different references; tokenize them with"
                " `evaluator.tokenize(candidates)`"
            )
        if candidates.image_ids != self.references.image_ids:
            raise MismatchError(
                "tokenized candidates must be one per image, in the order of the references; tokenize them"
                " with `evaluator.tokenize(candidates)`"
            )
        return candidates


def match_candidates(references: References, candidates: Candidates) -> Candidates:
    """Return the candidates in the order of the references.

    Raises:
        MismatchError: The images differ, or an image has several candidates.
    """
    messages = list_problems(references, candidates)
    if messages:
        raise MismatchError("; ".join(messages))
    positions = references.native.positions_in(candidates.native)
    if np.array_equal(positions, np.arange(len(references))):
        return candidates
    return Candidates.from_native(candidates.native.select(positions.tolist()))


def list_problems(references: References, candidates: Candidates) -> list[str]:
    """Return the errors that prevent scoring; empty if each image has one candidate.

    Example:
        >>> from capeval import Candidates, References
        >>> from capeval.scoring.evaluator import list_problems
        >>> references = References({1: ["A dog runs."], 2: ["Two cats."]})
        >>> list_problems(references, Candidates({1: "A dog.", 2: "A cat."}))
        []
        >>> list_problems(references, Candidates({1: "A dog."}))
        ['image 2 is among the references but not among the candidates']
    """
    messages = []
    several = np.flatnonzero(candidates.counts > 1)
    if several.size:
        image = candidates.image_ids[several[0]]
        swapped = references.counts.max() == 1 and candidates.counts.min() > 1
        messages.append(
            describe_several_candidates(image, len(candidates[image])) + (f"; {SWAPPED}" if swapped else "")
        )
    unknown = np.flatnonzero(candidates.native.positions_in(references.native) < 0)
    if unknown.size:
        messages.append(unknown_images(candidates, references, unknown.tolist()))
    if messages or len(candidates) != len(references):
        missing = np.flatnonzero(references.native.positions_in(candidates.native) < 0)
    else:
        # All images are known and as many as in the references, so none is missing.
        missing = unknown
    if missing.size:
        images = [references.image_ids[position] for position in missing.tolist()]
        messages.append(f"{format_images(images)} among the references but not among the candidates")
    return messages


def _score_subset(scores: Sequence[tuple[Metric, Scores]], rows: list[int]) -> dict[str, float]:
    subset: dict[str, float] = {}
    for metric, part in scores:
        sums = part.statistics[rows].sum(axis=0)
        subset.update(zip(metric.names, metric.aggregate(sums).tolist(), strict=True))
    return subset
