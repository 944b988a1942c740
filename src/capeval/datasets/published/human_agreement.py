"""Published agreement of metrics with human judgments, by benchmark (`SOURCES.md`)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from capeval.datasets.published.cider import load_cider_accuracy

__all__ = ["PublishedAgreement", "load_human_agreement"]

# The number of references in Table 1 of the CIDEr paper, by benchmark; None for the benchmark's default.
_CIDER_TABLES = {"pascal-50s": ("PASCAL-50S", 48), "abstract-50s": ("ABSTRACT-50S", None)}


@dataclass(frozen=True, kw_only=True)
class PublishedAgreement:
    """A published number.

    Attributes:
        metric: The metric, as capeval names it.
        measure: The measure, such as `tau-c` or the class of pairs `HC`.
        references: The number of references; None for the default of the benchmark.
        value: The number, times 100.
        source: The paper; `SOURCES.md` has the table.
    """

    metric: str
    measure: str
    references: int | None
    value: float
    source: str


def load_human_agreement(benchmark: str) -> tuple[PublishedAgreement, ...]:
    """Return the published agreement of metrics with people; empty if none is known.

    Args:
        benchmark: The name of a benchmark of `capeval.studies.metric`.

    Example:
        >>> from capeval.datasets.published.human_agreement import load_human_agreement
        >>> rows = load_human_agreement("flickr8k-expert")
        >>> {row.metric: row.value for row in rows if row.measure == "tau-c"}["SPICE"]
        44.9
    """
    with Path(__file__).with_name("human-agreement.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            PublishedAgreement(
                metric=row["metric"],
                measure=row["measure"],
                references=int(row["references"]) if row["references"] else None,
                value=float(row["value"]),
                source=row["source"],
            )
            for row in csv.DictReader(file)
            if row["benchmark"] == benchmark
        ]
    if benchmark in _CIDER_TABLES:
        dataset, count = _CIDER_TABLES[benchmark]
        rows += [
            PublishedAgreement(
                metric=metric, measure=kind, references=count, value=value, source="Vedantam et al. 2015"
            )
            for metric, values in load_cider_accuracy(dataset).items()
            for kind, value in values.items()
        ]
    return tuple(rows)
