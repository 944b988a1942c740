"""Scoring candidates with several metrics: tokenise once, score all, one report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capeval.defaults import DEFAULT
from capeval.dependencies import missing_package
from capeval.errors import CaptionError, MismatchError, OptionError, UnscoredWarning
from capeval.files import written_whole
from capeval.formats.json import without_nan
from capeval.messages import SWAPPED, first_few, listed, one_candidate, shown_score
from capeval.metrics.base import Metric, Prepared, make_scores, unscored_images
from capeval.metrics.registry import metric_keys, resolve
from capeval.notebooks import html_table
from capeval.scoring import Subsets
from capeval.tokenization import (
    TokenizedCandidates,
    TokenizedReferences,
    Tokenizer,
    tokenized,
    unknown_images,
)
from capeval.types import (
    Candidates,
    CandidatesLike,
    FloatArray,
    ImageId,
    References,
    ReferencesLike,
    Scores,
    Signature,
    is_image_id,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from capeval.significance import Comparisons, Interval, Method

__all__ = ["Evaluator", "Report", "problems"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report:
    """The scores of one set of candidates.

    Attributes:
        image_ids: The images, in the order of the references.
        corpus: The corpus score by name, such as `{"BLEU-4": 0.3, "CIDEr-D": 1.1}`.
        per_image: The score of each image by name; arrays in the order of `image_ids`.
        subsets: The corpus scores of each subset of the images, by subset and name.
        signatures: What the scores of each metric depend on, by the metric's key (`metric_keys`).
        scores: Each metric with its `Scores`, which have the statistics.
        intervals: The bootstrap interval of each corpus score; empty, except after `with_intervals`.
        unscored: The images that a metric could not score and leaves out of its corpus scores, with the
            reason, by the metric's key; empty if all are scored.
    """

    image_ids: tuple[ImageId, ...]
    corpus: Mapping[str, float]
    per_image: Mapping[str, FloatArray]
    subsets: Mapping[str, Mapping[str, float]]
    signatures: Mapping[str, Signature]
    scores: tuple[tuple[Metric, Scores], ...]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    unscored: Mapping[str, UnscoredWarning] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [f"Report of {len(self.image_ids):,} images"]
        for metric, _ in self.scores:
            lines.append(", ".join(f"{name} {self._shown(name)}" for name in metric.names))
        if self.subsets:
            lines.append(f"subsets {listed(list(self.subsets))}")
        lines += self.unscored_notes()
        return "<" + "\n ".join(lines) + ">"

    def _repr_html_(self) -> str:
        """A table for notebooks: a row a score, with the interval where there is one; a column a subset."""
        columns = ("", f"{len(self.image_ids):,} images", *self.subsets)
        rows = [
            (name, self._shown(name), *(shown_score(scores[name]) for scores in self.subsets.values()))
            for name in self.corpus
        ]
        signatures = [str(signature) for signature in self.signatures.values()]
        return html_table(columns, rows, notes={"Notes": self.notes(), "Signatures": signatures})

    def notes(self, source: str = "", *, unscored: bool = True) -> tuple[str, ...]:
        """What readers ask about the scores: of which references they are, and what names and numbers mean.

        Args:
            source: What to call the references, such as the name of their file.
            unscored: Whether to add those about images without a score.
        """
        signature = next(iter(self.signatures.values()))
        counts = signature.references.replace("-", " to ")
        references = "1 reference" if counts == "1" else f"{counts} references"
        images = "1 image" if self._images == 1 else f"{self._images:,} images"
        named = f" ({source})" if source else ""
        of_metrics = dict.fromkeys(metric.note for metric, _ in self.scores if metric.note)
        return (
            f"{images}, {references} each{named}.",
            " ".join([*of_metrics, "Papers often print scores times 100."]),
            *(self.unscored_notes() if unscored else ()),
        )

    def unscored_notes(self) -> tuple[str, ...]:
        """Return a sentence for each reason for which images have no score; empty if all are scored."""
        return tuple(dict.fromkeys(f"{each}." for each in self.unscored.values()))

    @property
    def _images(self) -> int:
        # Scores of shards have no rows, but signatures, which say of how many images they are.
        return next((signature.images for signature in self.signatures.values()), len(self.image_ids))

    def _shown(self, name: str) -> str:
        interval = self.intervals.get(name)
        score = shown_score(self.corpus[name])
        if interval is None:
            return score
        return f"{score} [{shown_score(interval.low)}, {shown_score(interval.high)}]"

    def with_intervals(self, *, samples: int = 1000, level: float = 0.95, seed: int = 0) -> Report:
        """The report with bootstrap intervals of the corpus scores (`capeval.significance.bootstrap`).

        Args:
            samples: The number of resamples.
            level: The part of the resamples inside an interval.
            seed: The seed of the resamples; the same seed gives the same intervals.

        Raises:
            OptionError: An option has a value that is not allowed.
        """
        # Imported here: significance is made of reports.
        from capeval.significance import bootstrap

        return replace(self, intervals=bootstrap(self, samples=samples, level=level, seed=seed))

    def compare(
        self,
        other: Report,
        *,
        method: Method = "bootstrap",
        samples: int = 1000,
        level: float = 0.95,
        seed: int = 0,
    ) -> Comparisons:
        """Tests whether this system and another differ (`capeval.significance.compare`).

        Args:
            other: The scores of the other, against the same references with the same metrics and options.
            method: `bootstrap` or `randomization`.
            samples: The number of resamples.
            level: The part of the resamples inside an interval.
            seed: The seed of the resamples; the same seed gives the same numbers.

        Raises:
            MismatchError: The two are not of the same images, references, metrics and options.
            OptionError: An option has a value that is not allowed.
        """
        from capeval.significance import compare

        return compare(self, other, method=method, samples=samples, level=level, seed=seed)

    def to_dict(self, *, per_image: bool = False) -> dict[str, Any]:
        """The report as plain Python: what `save` writes as JSON; None for a score that is not a number.

        Args:
            per_image: Whether to add the scores of each image.
        """
        report: dict[str, Any] = {"images": self._images, "metrics": _numbers(self.corpus)}
        if self.subsets:
            report["subsets"] = {name: _numbers(scores) for name, scores in self.subsets.items()}
        if self.intervals:
            report["intervals"] = {name: _numbers(asdict(each)) for name, each in self.intervals.items()}
        if self.unscored:
            report["unscored"] = {
                name: {"images": list(each.images), "note": str(each)} for name, each in self.unscored.items()
            }
        report["signatures"] = {name: _plain(signature) for name, signature in self.signatures.items()}
        if per_image:
            columns = {
                name: [without_nan(each) for each in values.tolist()]
                for name, values in self.per_image.items()
            }
            report["per_image"] = [
                {"image_id": image, **{name: values[row] for name, values in columns.items()}}
                for row, image in enumerate(self.image_ids)
            ]
        return report

    def to_pandas(self) -> pd.DataFrame:
        """The scores of each image: a row an image, a column a score.

        Raises:
            DependencyError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise missing_package("to_pandas needs", error) from None
        return pd.DataFrame(dict(self.per_image), index=pd.Index(self.image_ids, name="image_id"))

    def to_polars(self) -> pl.DataFrame:
        """The scores of each image: a row an image, the column `image_id`, and a column a score.

        Raises:
            DependencyError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise missing_package("to_polars needs", error) from None
        return pl.DataFrame(self._columns())

    def to_arrow(self) -> pa.Table:
        """The scores of each image: a row an image, the column `image_id`, and a column a score.

        Raises:
            DependencyError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise missing_package("to_arrow needs", error) from None
        return pa.table(self._columns())

    def _columns(self) -> dict[str, Any]:
        return {"image_id": list(self.image_ids), **self.per_image}

    def save(self, path: str | Path, *, per_image: bool = True) -> None:
        """Writes the report as JSON, whole or not at all.

        Raises:
            OSError: The file can't be written.
        """
        text = json.dumps(self.to_dict(per_image=per_image), indent=2, ensure_ascii=False, allow_nan=False)
        with written_whole(path) as file:
            file.write(text.encode() + b"\n")


class Evaluator:
    """References prepared for several metrics, to evaluate one system after the other.

    Args:
        references: The references of each image; already tokenised ones are used as they are.
        metrics: Names or metric objects.
        tokenizer: How to tokenise; the reference's way by default.

    Raises:
        CaptionError: `references` are not captions by image.
        OptionError: A metric is not known, or given twice; `tokenizer` is not that of tokenised references.
    """

    def __init__(
        self,
        references: ReferencesLike | TokenizedReferences,
        metrics: Iterable[str | Metric] = DEFAULT,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        resolved = resolve(metrics)
        self._tokens = tokenized(references, tokenizer)
        self.references = self._tokens.references
        self._prepared = tuple(Prepared(metric, self._tokens) for metric in resolved)

    def tokenized(self, candidates: CandidatesLike) -> TokenizedCandidates:
        """One candidate for each image, tokenised once for all evaluators of the same tokenised references.

        Args:
            candidates: Image id to its candidate.

        Raises:
            CaptionError: `candidates` are not captions by image.
            MismatchError: Images of candidates and references differ, or an image has several candidates.
        """
        return self._tokens.candidates(matched(self.references, Candidates(candidates)))

    def evaluate(
        self,
        candidates: CandidatesLike | TokenizedCandidates,
        *,
        subsets: Subsets | None = None,
    ) -> Report:
        """Scores one candidate for each image.

        Args:
            candidates: Image id to its candidate, or what `tokenized` made of that.
            subsets: Names of subsets to the ids of their images, to score each on its own too.

        Raises:
            CaptionError: `candidates` are not captions by image, or a subset has something else than image
                ids.
            MismatchError: Images of candidates and references differ, an image has several
                candidates, a subset has an image without references, or the candidates were tokenised for
                other references.
            OptionError: `subsets` is not a mapping of names to image ids, or a subset has no image.
        """
        if not isinstance(candidates, TokenizedCandidates):
            candidates = Candidates(candidates)
        if subsets is not None and not isinstance(subsets, Mapping):
            raise OptionError(
                f"'subsets' must be a mapping of names to image ids (got {type(subsets).__name__})"
            )
        # Before anything is scored, so that the error of a wrong subset comes at once.
        rows = {
            name: rows_of(self.references.image_ids, images, f"subset {name!r}")
            for name, images in (subsets or {}).items()
        }
        tokens = self._checked(candidates)
        scores = tuple(
            (prepared.metric, make_scores(prepared, prepared.statistics(tokens), tokens.image_ids))
            for prepared in self._prepared
        )
        subset_scores = {name: _subset(scores, part) for name, part in rows.items()}
        return report_from(self.references.image_ids, scores, subset_scores)

    def _checked(self, candidates: Candidates | TokenizedCandidates) -> TokenizedCandidates:
        """Tokenised candidates in the order of the references."""
        if isinstance(candidates, Candidates):
            return self.tokenized(candidates)
        if candidates.references is not self._tokens:
            raise MismatchError(
                "candidates must be tokenised by this evaluator, or by one of the same tokenised references"
                " (got candidates of other references)"
            )
        if candidates.image_ids != self.references.image_ids:
            raise MismatchError(
                "tokenised candidates must be one for each image, in the order of the references, as"
                " `Evaluator.tokenized` makes them (got others)"
            )
        return candidates


def report_from(
    image_ids: tuple[ImageId, ...],
    scores: tuple[tuple[Metric, Scores], ...],
    subsets: Mapping[str, Mapping[str, float]] | None = None,
) -> Report:
    """The report of the scores of each metric."""
    keys = metric_keys([metric for metric, _ in scores])
    unscored = {
        key: unscored_images(metric, part.statistics, image_ids)
        for key, (metric, part) in zip(keys, scores, strict=True)
    }
    return Report(
        image_ids=image_ids,
        corpus={name: score for _, part in scores for name, score in part.corpus.items()},
        per_image={name: values for _, part in scores for name, values in part.per_image.items()},
        subsets=subsets or {},
        signatures={key: part.signature for key, (_, part) in zip(keys, scores, strict=True)},
        scores=scores,
        unscored={key: each for key, each in unscored.items() if each is not None},
    )


def rows_of(image_ids: Sequence[ImageId], images: object, name: str) -> list[int]:
    """The rows of some images, in the order of `image_ids`.

    Args:
        image_ids: The image of each row.
        images: The ids of some of them.
        name: What to call these in messages.

    Raises:
        CaptionError: There is something else than image ids.
        MismatchError: An image has no row.
        OptionError: It is not a list, or there is no image.
    """
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise OptionError(f"{name} must be a list of image ids (got {type(images).__name__})")
    wanted = list(images)
    for image in wanted:
        if not is_image_id(image):
            raise CaptionError(
                f"{name}: an image id must be an integer or a string (got {image!r}, {type(image).__name__})"
            )
    if not wanted:
        raise OptionError(f"{name} must have at least one image (got none)")
    different = set(wanted)
    unknown = sorted(different.difference(image_ids), key=str)
    if unknown:
        raise MismatchError(f"{name}: {first_few(unknown)} not among the references")
    return [row for row, image in enumerate(image_ids) if image in different]


def matched(references: References, candidates: Candidates) -> Candidates:
    """The candidates in the order of the references.

    Raises:
        MismatchError: The images differ, or an image has several candidates.
    """
    messages = problems(references, candidates)
    if messages:
        raise MismatchError("; ".join(messages))
    positions = references.native.positions_in(candidates.native)
    if np.array_equal(positions, np.arange(len(references))):
        return candidates
    return Candidates.from_native(candidates.native.select(positions.tolist()))


def problems(references: References, candidates: Candidates) -> list[str]:
    """Messages that say why the candidates can't be scored; none where each image has one candidate."""
    messages = []
    several = np.flatnonzero(candidates.counts > 1)
    if several.size:
        image = candidates.image_ids[several[0]]
        swapped = references.counts.max() == 1 and candidates.counts.min() > 1
        messages.append(one_candidate(image, len(candidates[image])) + (f"; {SWAPPED}" if swapped else ""))
    unknown = np.flatnonzero(candidates.native.positions_in(references.native) < 0)
    if unknown.size:
        messages.append(unknown_images(candidates, references, unknown.tolist()))
    if messages or len(candidates) != len(references):
        missing = np.flatnonzero(references.native.positions_in(candidates.native) < 0)
    else:
        # As many images as there are references, all of them known: none is missing.
        missing = unknown
    if missing.size:
        images = [references.image_ids[position] for position in missing.tolist()]
        messages.append(f"{first_few(images)} among the references but without a candidate")
    return messages


def _subset(scores: Sequence[tuple[Metric, Scores]], rows: list[int]) -> dict[str, float]:
    subset: dict[str, float] = {}
    for metric, part in scores:
        sums = part.statistics[rows].sum(axis=0)
        subset.update(zip(metric.names, metric.aggregate(sums).tolist(), strict=True))
    return subset


def _numbers(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: without_nan(score) for name, score in scores.items()}


def _plain(signature: Signature) -> dict[str, Any]:
    parts = {field.name: getattr(signature, field.name) for field in fields(signature)}
    return {**parts, "digest": str(signature.digest), "text": str(signature)}
