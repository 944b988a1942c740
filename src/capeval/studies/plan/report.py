"""Table of a plan of pairs and triplets."""

from __future__ import annotations

from collections.abc import Iterable

from capeval.formats.judgments.plans import Plan
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid

__all__ = ["report"]


def report(plan: Plan, classes: Iterable[str]) -> StudyReport:
    """Return the number of pairs, triplets and judgments, by class.

    Args:
        plan: The plan.
        classes: The classes to show, in order.
    """
    rows = []
    for kind in classes:
        pairs = sum(pair.kind == kind for pair in plan.pairs)
        triplets = [triplet for triplet in plan.triplets if plan.pairs[triplet.pair].kind == kind]
        numbers = (pairs, len(triplets), sum(triplet.judgments for triplet in triplets))
        rows.append((Cell(value=kind), *(Cell(value=number) for number in numbers)))
    table = Grid(columns=("Class", "Pairs", "Triplets", "Judgments"), rows=tuple(rows))
    return StudyReport(tables={"plan": table})
