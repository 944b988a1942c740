"""Correlation of metrics with the human judgments of COCO's captioning challenge of 2015."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.datasets.published.tables import (
    CocoReferences,
    CocoRow,
    load_coco_2015,
    load_coco_2015_judgments,
)
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.studies.shared.coefficients import coefficients
from capeval.studies.shared.system_intervals import compute_system_interval, list_interval_notes

__all__ = ["correlate_challenge"]


def correlate_challenge(references: CocoReferences = "c40", *, with_people: bool = True) -> Grid:
    """Return Kendall's tau-b of each metric with the judgments M1 to M5, over the published systems.

    The judgments are of the challenge in 2015. Teams could replace their submission on the leaderboard later.
    The scores of such teams are left out, because they belong to other captions.

    Args:
        references: The leaderboard with the scores.
        with_people: Whether human captions are one of the systems.

    Returns:
        One row per metric, one column per question. Intervals are over the systems.

    Example:
        >>> from capeval.studies.coco_paper.judgments import correlate_challenge
        >>> grid = correlate_challenge()
        >>> grid.columns
        ('Metric', 'M1', 'M2', 'M3', 'M4', 'M5')
    """
    board = {(row.team, row.date): row for row in load_coco_2015(references)}
    judged = [row for row in load_coco_2015_judgments() if with_people or row.team not in ("Human", "Random")]
    both = [(row, board[row.team, row.date]) for row in judged if (row.team, row.date) in board]
    cells, intervals = [], []
    for metric in both[0][1].scores:
        row = [Cell(value=metric)]
        for question in judged[0].scores:
            values = np.array([people.scores[question] for people, _ in both])
            scores = np.array([system.scores[metric] for _, system in both])
            value = coefficients(scores, values)["tau-b"]
            intervals.append(compute_system_interval("tau-b", value, len(both)))
            row.append(create_score_cell(value, intervals[-1]))
        cells.append(tuple(row))
    return Grid(
        columns=("Metric", *judged[0].scores),
        rows=tuple(cells),
        notes=(
            *list_interval_notes(intervals),
            *_describe_rows(references, judged, [one for one, _ in both]),
        ),
    )


def _describe_rows(
    references: CocoReferences, judged: Sequence[CocoRow], used: Sequence[CocoRow]
) -> tuple[str, ...]:
    missing = [row.team for row in judged if row not in used]
    return (
        f"Kendall's tau-b with the scores of the {references} leaderboard, {len(used)} rows.",
        f"Without the judged scores on the leaderboard: {', '.join(missing)}.",
    )
