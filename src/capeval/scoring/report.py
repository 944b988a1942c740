"""The report of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from capeval._internal.atomic_write import atomic_write
from capeval._internal.notebook_html import html_table
from capeval.data.captions import ImageId
from capeval.data.scores import Digest, FloatArray, Scores, Signature
from capeval.errors import OptionError, UnscoredWarning
from capeval.errors.messages import format_names, format_score
from capeval.metrics.base import Metric, find_fingerprints, get_unscored_warning
from capeval.metrics.citations import cite_metrics
from capeval.metrics.registry import describe_omitted, list_metric_keys
from capeval.scoring import report_contents, report_tables
from capeval.scoring.grid_formats import to_latex, to_markdown
from capeval.scoring.grids import Grid, scale_table
from capeval.scoring.matching import Matching
from capeval.scoring.replay import LineEnds, Program, describe_replay
from capeval.scoring.score_names import ScoresByName
from capeval.scoring.subset_images import SubsetImages

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from capeval.scoring.comparisons import Method
    from capeval.scoring.significance import Comparisons, Interval

__all__ = ["Replay", "Report"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report:
    """The scores of one set of candidates.

    Attributes:
        image_ids: The images, in the order of the references.
        corpus: The corpus score by name, such as `{"BLEU-4": 0.3, "CIDEr-D": 1.1}`. Lookups accept the names
            of pycocoevalcap, such as `Bleu_4` and `CIDEr`, too.
        per_image: The score of each image by name; arrays in the order of `image_ids`.
        subsets: The corpus scores of each subset of the images, by subset and name.
        signatures: The reproducibility signature of each metric's scores, by the metric's key
            (`list_metric_keys`).
        scores: Each metric with its `Scores`, which include the statistics.
        intervals: The bootstrap interval of each corpus score; empty, except after `with_intervals`.
        matching: How the images of the results were matched to the references; None if unknown.
        unscored: The images that a metric could not score and excludes from its corpus scores, with the
            reason, by the metric's key; empty if all images are scored.
        omitted: The default metrics that were left out, each with the command that installs its data.
        candidates_digest: A fingerprint of the candidates and their images; None if unknown, as for shards.
        replay: The scores that the reference implementation computes, with `evaluate(..., replay=...)`.
        subset_images: The images of each subset.

    Example:
        >>> from capeval import evaluate
        >>> references = {1: ["A big red bus."], 2: ["Two cats."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Cats."}, ["ROUGE-1"])
        >>> report
        <Report of 2 images
         ROUGE-1 0.625>
        >>> report["ROUGE-1"], report.per_image["ROUGE-1"].tolist()
        (0.625, [0.75, 0.5])
        >>> report.to_dict(per_image=True)["per_image"]
        [{'image_id': 1, 'ROUGE-1': 0.75}, {'image_id': 2, 'ROUGE-1': 0.5}]
    """

    image_ids: tuple[ImageId, ...]
    corpus: Mapping[str, float]
    per_image: Mapping[str, FloatArray]
    subsets: Mapping[str, Mapping[str, float]]
    signatures: Mapping[str, Signature]
    scores: tuple[tuple[Metric, Scores], ...]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    unscored: Mapping[str, UnscoredWarning] = field(default_factory=dict)
    matching: Matching | None = None
    omitted: Mapping[str, str] = field(default_factory=dict)
    candidates_digest: Digest | None = None
    replay: Replay | None = None
    subset_images: Mapping[str, tuple[ImageId, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        """Return a corpus score, as `corpus` does."""
        return self.corpus[name]

    def __repr__(self) -> str:
        count = len(self.image_ids)
        lines = [f"Report of {count:,} {'image' if count == 1 else 'images'}"]
        for metric, _ in self.scores:
            lines.append(", ".join(f"{name} {self._format_score(name)}" for name in metric.names))
        if self.subsets:
            lines.append(f"subsets {format_names(list(self.subsets))}")
        lines += [*describe_omitted(self.omitted), *self.unscored_notes()]
        return "<" + "\n ".join(lines) + ">"

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with one row per score and one column per subset."""
        columns = {
            f"{len(self.image_ids):,} images": {name: self._format_score(name) for name in self.corpus}
        }
        others = dict(self.subsets)
        if self.replay is not None:
            others = {self.replay.program: self.replay.report.corpus, **others}
        for title, scores in others.items():
            columns[title] = {name: format_score(scores[name]) for name in self.corpus}
        rows = [(name, *(column[name] for column in columns.values())) for name in self.corpus]
        signatures = [str(signature) for signature in self.signatures.values()]
        return html_table(("", *columns), rows, notes={"Notes": self.notes(), "Signatures": signatures})

    @property
    def lower_is_better(self) -> frozenset[str]:
        """The names of the scores that are better if they are lower."""
        return frozenset(
            name for metric, _ in self.scores if not metric.higher_is_better for name in metric.names
        )

    @property
    def without_direction(self) -> frozenset[str]:
        """The names of the scores of which neither higher nor lower ones are better, such as lengths."""
        return frozenset(
            name for metric, _ in self.scores if not metric.has_direction for name in metric.names
        )

    def notes(self, source: str = "", *, unscored: bool = True, replay: bool = True) -> tuple[str, ...]:
        """Return footnotes for tables: the references used, and the meaning of the scores.

        Args:
            source: A name for the references, such as the name of their file.
            unscored: Whether to include the notes about unscored images.
            replay: Whether to include the note about the replay.
        """
        signatures = list(self.signatures.values())
        metrics = [metric for metric, _ in self.scores]
        return (
            report_contents.describe_references(signatures[0], source),
            *report_contents.describe_settings(signatures, metrics),
            *(self.matching.notes if self.matching is not None else ()),
            *report_contents.describe_scores(metrics),
            *((self.replay.note,) if replay and self.replay is not None else ()),
            *(f"{note}." for note in describe_omitted(self.omitted)),
            *(self.unscored_notes() if unscored else ()),
        )

    def unscored_notes(self) -> tuple[str, ...]:
        """Return one sentence per reason for unscored images; empty if all are scored."""
        return tuple(dict.fromkeys(f"{each}." for each in self.unscored.values()))

    def _format_score(self, name: str) -> str:
        interval = self.intervals.get(name)
        score = format_score(self.corpus[name])
        if interval is None:
            return score
        return f"{score} [{format_score(interval.low)}, {format_score(interval.high)}]"

    def with_intervals(self, *, samples: int = 1000, level: float = 0.95, seed: int = 0) -> Report:
        """Return the report with bootstrap intervals.

        They are computed by `capeval.scoring.significance.bootstrap`.

        Args:
            samples: The number of resamples.
            level: The confidence level of the intervals, between 0 and 1.
            seed: The seed of the resamples; the same seed gives the same intervals.

        Raises:
            OptionError: An option has an invalid value.
        """
        # Imported lazily, since scoring needs no resamples.
        from capeval.scoring.significance import bootstrap

        intervals = bootstrap(self, samples=samples, level=level, seed=seed)
        return replace(self, intervals=ScoresByName(intervals))

    def compare(
        self,
        other: Report,
        *,
        method: Method = "randomization",
        samples: int = 1000,
        level: float = 0.95,
        seed: int = 0,
        images: Iterable[ImageId] | None = None,
    ) -> Comparisons:
        """Test if this system and another differ (`capeval.scoring.significance.compare`).

        Args:
            other: The report of the other system, with the same references, metrics and options.
            method: `randomization` or `bootstrap`.
            samples: The number of resamples.
            level: The confidence level of the intervals, between 0 and 1.
            seed: The seed of the resamples; the same seed gives the same numbers.
            images: The images to compare, such as a subset; all by default.

        Raises:
            MismatchError: The two reports differ in images, references, metrics or options, or have no scores
                for one of the images.
            OptionError: An option has an invalid value.
        """
        from capeval.scoring.significance import compare

        return compare(self, other, method=method, samples=samples, level=level, seed=seed, images=images)

    def cite(self) -> str:
        """Return BibTeX of capeval and of the papers of the report's metrics.

        Example:
            >>> from capeval import evaluate
            >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
            >>> [line for line in report.cite().splitlines() if line.startswith("@")]
            ['@software{capeval,', '@inproceedings{lin2004rouge,']
        """
        return cite_metrics(metric for metric, _ in self.scores)

    def to_dict(self, *, per_image: bool = False) -> dict[str, Any]:
        """Return the report as the JSON-compatible dictionary that `save` writes.

        A score that is NaN becomes None.

        Args:
            per_image: Whether to include the scores of each image.
        """
        images = report_contents.count_images(self.signatures, self.image_ids)
        report: dict[str, Any] = {"images": images, "metrics": report_contents.replace_all_nan(self.corpus)}
        if self.matching is not None and self.matching.notes:
            report["matching"] = self.matching.to_dict()
        if self.subsets:
            report["subsets"] = {
                name: report_contents.replace_all_nan(scores) for name, scores in self.subsets.items()
            }
        if self.subset_images:
            report["subset_images"] = {
                name: asdict(SubsetImages.of(images)) for name, images in self.subset_images.items()
            }
        if self.intervals:
            report["intervals"] = report_contents.intervals_to_dict(self.intervals)
        if self.replay is not None:
            report["replay"] = self.replay.to_dict(per_image=per_image)
        if self.unscored:
            report["unscored"] = report_contents.unscored_to_dict(self.unscored)
        if self.omitted:
            report["omitted"] = dict(self.omitted)
        report["signatures"] = report_contents.signatures_to_dict(self.signatures)
        if self.candidates_digest is not None:
            report["candidates_digest"] = str(self.candidates_digest)
        if resources := find_fingerprints([metric for metric, _ in self.scores]):
            report["resources"] = resources
        if per_image:
            report["per_image"] = report_contents.list_image_rows(self.image_ids, self.per_image)
        return report

    def to_latex(self, name: str = "Scores", *, scale: Literal[1, 100] = 1) -> str:
        r"""Return the corpus scores, and any intervals and subsets, as a LaTeX `booktabs` table.

        Args:
            name: The name of the system.
            scale: 100 to show scores times 100, as papers often do.

        Raises:
            OptionError: `scale` is neither 1 nor 100.

        Example:
            >>> from capeval import evaluate
            >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
            >>> print(report.to_latex("Ours", scale=100))
            % \usepackage{booktabs}
            \begin{tabular}{lr}
            \toprule
            System & ROUGE-1 \\
            \midrule
            Ours & 75.0 \\
            \bottomrule
            \end{tabular}
            ...
        """
        return to_latex(self._create_table(name, scale))

    def to_markdown(self, name: str = "Scores", *, scale: Literal[1, 100] = 1) -> str:
        """Return the corpus scores, and any intervals and subsets, as a Markdown table.

        Args:
            name: The name of the system.
            scale: 100 to show scores times 100, as papers often do.

        Raises:
            OptionError: `scale` is neither 1 nor 100.

        Example:
            >>> from capeval import evaluate
            >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
            >>> print(report.to_markdown("Ours"))
            | System | ROUGE-1 |
            | --- | ---: |
            | Ours | 0.750 |
            ...
        """
        return to_markdown(self._create_table(name, scale))

    def _create_table(self, name: str, scale: int) -> Grid:
        if scale not in (1, 100):
            raise OptionError(f"'scale' must be 1 or 100 (got {scale!r})")
        notes = (*self.notes(), *dict.fromkeys(interval.note for interval in self.intervals.values()))
        grid = report_tables.create_report_table(name, self.corpus, self.intervals, self.subsets, notes)
        return scale_table(grid) if scale == 100 else grid

    def to_pandas(self) -> pd.DataFrame:
        """Return the scores per image, with one row per image and one column per score.

        Raises:
            DependencyError: pandas is not installed.
        """
        return report_tables.to_pandas(self.image_ids, self.per_image)

    def to_polars(self) -> pl.DataFrame:
        """Return the scores per image, with one row per image.

        The columns are `image_id` and one per score.

        Raises:
            DependencyError: polars is not installed.
        """
        return report_tables.to_polars(self.image_ids, self.per_image)

    def to_arrow(self) -> pa.Table:
        """Return the scores per image, with one row per image.

        The columns are `image_id` and one per score.

        Raises:
            DependencyError: pyarrow is not installed.
        """
        return report_tables.to_arrow(self.image_ids, self.per_image)

    def save(self, path: str | Path, *, per_image: bool = True) -> None:
        """Write the report to a JSON file atomically.

        Args:
            path: The file to write.
            per_image: Whether to include the scores of each image.

        Raises:
            OSError: The file can't be written.
        """
        text = json.dumps(self.to_dict(per_image=per_image), indent=2, ensure_ascii=False, allow_nan=False)
        with atomic_write(path) as file:
            file.write(text.encode() + b"\n")


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    r"""The scores of the reference implementation, with the effect of its error after line ends.

    Attributes:
        program: The program, `pycocoevalcap-1.2`.
        report: The scores that the program computes.
        line_ends: The captions with line ends at which the error occurs.
        is_equal: Whether the program computes the same corpus scores as capeval.

    Example:
        >>> from capeval import evaluate
        >>> references, candidates = {1: ["a dog\rruns"], 2: ["a red bus"]}, {1: "a dog", 2: "a red bus"}
        >>> report = evaluate(references, candidates, ["ROUGE-1"], replay="pycocoevalcap-1.2")
        >>> round(report["ROUGE-1"], 3), report.replay.report["ROUGE-1"]
        (0.833, 0.5)
    """

    program: Program
    report: Report
    line_ends: LineEnds
    is_equal: bool

    @property
    def note(self) -> str:
        """Footnote for tables, with the reason for different scores."""
        return describe_replay(self.program, self.line_ends, is_equal=self.is_equal)

    def to_dict(self, *, per_image: bool = False) -> dict[str, Any]:
        """Return the JSON-compatible dictionary that reports contain.

        Args:
            per_image: Whether to include the scores of each image.
        """
        line_ends = {"references": self.line_ends.references, "candidates": self.line_ends.candidates}
        about = {"program": self.program, "note": self.note, "line_ends": line_ends}
        return {**about, **self.report.to_dict(per_image=per_image)}


def create_report(
    image_ids: tuple[ImageId, ...],
    scores: tuple[tuple[Metric, Scores], ...],
    subsets: Mapping[str, Mapping[str, float]] | None = None,
) -> Report:
    """Create a report from the scores of each metric."""
    keys = list_metric_keys([metric for metric, _ in scores])
    unscored = {
        key: get_unscored_warning(metric, part.statistics, image_ids)
        for key, (metric, part) in zip(keys, scores, strict=True)
    }
    return Report(
        image_ids=image_ids,
        corpus=ScoresByName({name: score for _, part in scores for name, score in part.corpus.items()}),
        per_image=ScoresByName(
            {name: values for _, part in scores for name, values in part.per_image.items()}
        ),
        subsets={name: ScoresByName(values) for name, values in (subsets or {}).items()},
        signatures=ScoresByName({key: part.signature for key, (_, part) in zip(keys, scores, strict=True)}),
        scores=scores,
        unscored={key: each for key, each in unscored.items() if each is not None},
    )
