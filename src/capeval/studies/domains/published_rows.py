"""Published rows for tables of scores by domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from capeval.datasets.nocaps_partitions import count_domains, describe_partition
from capeval.datasets.published.tables import NocapsRow, NocapsSplit, load_nocaps
from capeval.studies.domains import COCO, OVERALL, DomainScores

__all__ = ["PublishedRows", "select_published"]

# Training data of rows with captions by people.
_PEOPLE = "people"


@dataclass(frozen=True, kw_only=True)
class PublishedRows:
    """Published rows that are comparable with the scores of systems, and those that are not.

    Attributes:
        rows: The rows of the same partition into domains, without scores that depend on other document
            frequencies.
        left_out: The rows of another partition.
        omitted: The names of scores by domain that were removed from the rows, because the systems' document
            frequencies are those of the domain.
    """

    rows: tuple[NocapsRow, ...] = ()
    left_out: tuple[NocapsRow, ...] = ()
    omitted: tuple[str, ...] = ()

    @property
    def people(self) -> Mapping[str, Mapping[str, float]]:
        """The published human scores, by domain and metric, in percent; empty if there are none."""
        return next((row.scores for row in self.rows if row.training == _PEOPLE), {})

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes about the rows that were left out, in full sentences."""
        systems: dict[str, dict[str, list[str]]] = {}
        for row in self.left_out:
            by_source = systems.setdefault(describe_partition(row.partition), {})
            by_source.setdefault(row.source, []).append(row.system)
        notes = []
        for partition, by_source in systems.items():
            listed = "; ".join(f"{', '.join(names)} ({source})" for source, names in by_source.items())
            notes.append(f"Published rows of the {partition} are left out: {listed}.")
        if self.omitted and self.rows:
            names = ", ".join(self.omitted)
            notes.append(f"Published {names} by domain is left out, since it uses all images.")
        return tuple(notes)


def select_published(scores: DomainScores, split: NocapsSplit | None) -> PublishedRows:
    """Return the published rows of a split that are comparable with a system's scores.

    Args:
        scores: The scores of any system.
        split: The split of the published rows; None for no rows.

    Example:
        >>> from capeval.studies.domains import DomainEvaluator
        >>> from capeval.studies.domains.published_rows import select_published
        >>> evaluator = DomainEvaluator({1: ["a dog"]}, {"in-domain": [1]}, ["BLEU-1"])
        >>> published = select_published(evaluator.evaluate({1: "a dog"}), "test")
        >>> len(published.rows), len(published.left_out)
        (0, 5)
    """
    if split is None:
        return PublishedRows()
    sizes = count_domains(scores.images)
    every = load_nocaps(split)
    omitted = scores.weighted if scores.frequencies == "domain" else ()
    return PublishedRows(
        rows=tuple(_omit(row, omitted) for row in every if row.partition == sizes),
        left_out=tuple(row for row in every if row.partition != sizes),
        omitted=omitted,
    )


def _omit(row: NocapsRow, names: tuple[str, ...]) -> NocapsRow:
    """Return a row without these scores by domain."""
    kept = {
        domain: {
            name: score for name, score in scores.items() if domain in (OVERALL, COCO) or name not in names
        }
        for domain, scores in row.scores.items()
    }
    return replace(row, scores=kept)
