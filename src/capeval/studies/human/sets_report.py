"""Table of captions with several reference sets, as in Table 1 of Chen et al. 2015."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from capeval.data.captions import References
from capeval.datasets.building import name_references
from capeval.datasets.published.tables import CocoReferences, load_coco_2015
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid

__all__ = ["report_sets"]

_HUMAN = "Human"


def report_sets(
    sets: Sequence[References], scores: Sequence[Mapping[str, Mapping[str, float]]]
) -> StudyReport:
    """Return the scores of each system with each reference set, one row per score.

    For sets of 5 and of 40 references, further columns show the published human scores on COCO's test set.

    Args:
        sets: The reference sets.
        scores: For each set, the scores by system and name of the score.
    """
    labels = _label_sets(sets)
    columns = {
        f"{system} {label}": found[system]
        for system in scores[0]
        for label, found in zip(labels, scores, strict=True)
    }
    published = {label: _load_human(label) for label in get_args(CocoReferences) if label in labels}
    columns |= {f"COCO human {label}": found for label, found in published.items()}
    rows = tuple(
        (Cell(value=name), *(Cell(value=column.get(name)) for column in columns.values()))
        for name in next(iter(scores[0].values()))
    )
    numbers = (
        f"{label}: {len(references):,} {'image' if len(references) == 1 else 'images'}."
        for label, references in zip(labels, sets, strict=True)
    )
    source = "COCO human: scores on COCO's test set (Chen et al. 2015, Table 1; SPICE: COCO's leaderboard)."
    notes = (" ".join(numbers), *([source] if published else []))
    return StudyReport(
        tables={"human-and-systems": Grid(columns=("Score", *columns), rows=rows, notes=notes)}
    )


def _label_sets(sets: Sequence[References]) -> list[str]:
    labels = [name_references(references) for references in sets]
    return labels if len(set(labels)) == len(labels) else [f"set {place + 1}" for place in range(len(sets))]


def _load_human(label: CocoReferences) -> Mapping[str, float]:
    return next(row.scores for row in load_coco_2015(label) if row.team == _HUMAN)
