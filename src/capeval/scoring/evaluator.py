"""Evaluation with several metrics; captions are tokenized once for all metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from capeval.data.captions import Candidates, CandidatesLike, ImageId, References, ReferencesLike, find_rows
from capeval.data.scores import Digest, Scores
from capeval.errors import MismatchError, OptionError
from capeval.metrics.base import Metric, Prepared, make_scores
from capeval.metrics.registry import DEFAULT, DefaultMetrics, resolve
from capeval.scoring.matching import Matching, Policy, match_captions
from capeval.scoring.replay import (
    Program,
    are_equal,
    check_replay,
    find_line_ends,
    warn_about_line_ends,
)
from capeval.scoring.report import Replay, Report, create_report
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, as_tokenized

__all__ = ["Evaluator", "Subsets", "evaluate"]

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
    tokenizer: Tokenizer | str | None = None,
    missing: Policy = "error",
    extra: Policy = "error",
    replay: Program | None = None,
) -> Report:
    """Score one candidate per image with several metrics.

    Args:
        references: The references of each image, in any form that `References` accepts.
        candidates: Mapping of image ids to candidates, or any other form that `Candidates` accepts. Image ids
            can differ in form from those of the references (`capeval.scoring.matching.match_captions`).
        metrics: Names or metric objects, or a text such as `"BLEU,CIDEr-D"`. Default metrics without
            installed data are left out, with a warning (`Report.omitted`).
        subsets: Mapping of subset names to image ids; each subset is also scored separately.
        tokenizer: The tokenizer, or its name such as `zh`; by default the reference implementation's.
        missing: `skip` to score only the images that have a candidate, with the document frequencies of these
            images, as pycocoevalcap does with a list of image ids.
        extra: `skip` to ignore candidates without references.
        replay: `pycocoevalcap-1.2` to compute the scores of this version as well, including its error after
            line ends inside captions.

    Returns:
        Corpus scores, scores per image in the order of the references, scores by subset, signatures.

    Raises:
        CaptionError: References or candidates are not captions by image, or a subset contains something other
            than image ids.
        MismatchError: Images of candidates and references differ, an image has several candidates, or a
            subset contains an image without references.
        OptionError: A metric is unknown or duplicate, `subsets` is not a mapping of names to image ids, a
            subset is empty, `missing` or `extra` is neither `error` nor `skip`, or `replay` is an unknown
            program or requires a different tokenizer.

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
    omitted = metrics.omitted if isinstance(metrics, DefaultMetrics) else None
    resolved = resolve(metrics)
    known = References(references)
    given, matched, matching = match_captions(known, Candidates(candidates), missing=missing, extra=extra)
    if given is not known and isinstance(subsets, Mapping):
        skipped = known.keys() - set(given)
        subsets = {
            name: [image for image in images if image not in skipped]
            if isinstance(images, Iterable)
            else images
            for name, images in subsets.items()
        }
    evaluator = Evaluator(given, resolved, tokenizer=tokenizer, replay=replay, omitted=omitted)
    report = evaluator.evaluate(matched, subsets=subsets)
    return replace(report, matching=matching)


class Evaluator:
    """References prepared for several metrics, to evaluate any number of systems.

    Args:
        references: The references of each image; tokenized references are used unchanged.
        metrics: Names or metric objects, or a text such as `"BLEU,CIDEr-D"`. Default metrics without
            installed data are left out, with a warning (`Report.omitted`).
        tokenizer: The tokenizer, or its name such as `zh`; by default the reference implementation's.
        replay: `pycocoevalcap-1.2` to compute the scores of this version as well, including its error after
            line ends inside captions.
        omitted: `Report.omitted` of the reports, if `metrics` are resolved default metrics.

    Raises:
        CaptionError: `references` are not captions by image.
        OptionError: A metric is unknown or duplicate, `tokenizer` is not the tokenizer of the tokenized
            references, or `replay` is an unknown program or requires a different tokenizer.

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
        tokenizer: Tokenizer | str | None = None,
        replay: Program | None = None,
        omitted: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(metrics, DefaultMetrics):
            omitted = metrics.omitted
        self._omitted = dict(omitted or {})
        resolved = resolve(metrics)
        self._tokens = as_tokenized(references, tokenizer)
        self.references = self._tokens.references
        self._program = None if replay is None else check_replay(replay, self._tokens.tokenizer)
        self._prepared = tuple(Prepared(metric, self._tokens) for metric in resolved)
        self._replayed: Evaluator | None = None
        if self._program is not None:
            lines = Tokenizer(line_ends="reference")
            self._replayed = Evaluator(self.references, resolved, tokenizer=lines)

    def tokenize(self, candidates: CandidatesLike) -> TokenizedCandidates:
        """Tokenize candidates for all evaluators with the same tokenized references.

        Args:
            candidates: Mapping of image ids to candidates, one per image.

        Raises:
            CaptionError: `candidates` are not captions by image.
            MismatchError: Images of candidates and references differ, or an image has several candidates.
        """
        _, matched, _ = match_captions(self.references, Candidates(candidates))
        return self._tokens.candidates(matched)

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
        matching = Matching(references=len(self.references))
        if isinstance(candidates, Candidates):
            _, candidates, matching = match_captions(self.references, candidates)
        tokens = self._match_tokens(candidates)
        scores = tuple(
            (prepared.metric, make_scores(prepared, prepared.statistics(tokens), tokens.image_ids))
            for prepared in self._prepared
        )
        subset_scores = {name: _score_subset(scores, part) for name, part in rows.items()}
        report = create_report(self.references.image_ids, scores, subset_scores)
        digest = Digest(tokens.candidates)
        ids = self.references.image_ids
        report = replace(
            report,
            matching=matching,
            candidates_digest=digest,
            omitted=self._omitted,
            subset_images={name: tuple(ids[row] for row in part) for name, part in rows.items()},
        )
        line_ends = find_line_ends(self.references, tokens.candidates)
        if self._program is None or self._replayed is None:
            warn_about_line_ends(line_ends, self._tokens.tokenizer)
            return report
        replayed = self._replayed.evaluate(tokens.candidates, subsets=subsets)
        equal = are_equal(report.corpus, replayed.corpus)
        found = Replay(program=self._program, report=replayed, line_ends=line_ends, is_equal=equal)
        return replace(report, replay=found)

    def _match_tokens(self, candidates: Candidates | TokenizedCandidates) -> TokenizedCandidates:
        """Return tokenized candidates in the order of the references."""
        if isinstance(candidates, Candidates):
            return self._tokens.candidates(candidates)
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


def _score_subset(scores: Sequence[tuple[Metric, Scores]], rows: list[int]) -> dict[str, float]:
    subset: dict[str, float] = {}
    for metric, part in scores:
        sums = part.statistics[rows].sum(axis=0)
        subset.update(zip(metric.names, metric.aggregate(sums).tolist(), strict=True))
    return subset
