"""Tables and figure of the ranking study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.datasets.published.cider import load_cider_text
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.ranking import RankCorrelation, Ranking, ranked, ranks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["rank_map", "report"]

_PAPER_PAIRS = (("CIDEr-2015", "CIDEr-D"), ("CIDEr-2015-1", "CIDEr-D-1"))
_MOST_PANELS = 3


def report(
    ranking: Ranking,
    correlations: Mapping[tuple[str, str], RankCorrelation],
    image: ImageId,
    top: int,
) -> StudyReport:
    """Return rank correlations, the best references of one image, and a figure.

    The figure shows the ranks of all references by CIDEr and CIDEr-D.

    Args:
        ranking: The ranking by `PAPER_RANKERS`.
        correlations: The rank correlations of pairs of metrics.
        image: The image of the table of references.
        top: The number of references in that table.
    """
    return StudyReport(
        tables={
            "rank-correlation": _build_correlation_table(correlations),
            "ranked-references": _build_reference_table(ranking, image, top),
        },
        figures=_list_figures(ranking, correlations),
    )


def _build_correlation_table(correlations: Mapping[tuple[str, str], RankCorrelation]) -> Grid:
    printed = {name: float(value) for (part, name), value in load_cider_text().items() if part == "Section 8"}
    rows = tuple(
        (
            Cell(value=f"{first}, {second}"),
            Cell(value=rho.mean, low=rho.low, high=rho.high) if rho.images > 1 else Cell(value=rho.mean),
            Cell(value=rho.all_references),
            Cell(value=printed.get(f"{first} and {second}"), digits=2),
        )
        for (first, second), rho in correlations.items()
    )
    columns = ("Metrics", "Rho, mean over images", "Rho, all references", "Paper")
    notes = (
        "Rho: Spearman's correlation; equal scores share their mean rank.",
        "In brackets: 95% t intervals over images.",
    )
    return Grid(columns=columns, rows=rows, notes=notes)


def _build_reference_table(ranking: Ranking, image: ImageId, top: int) -> Grid:
    rows = tuple(
        (Cell(value=name), Cell(value=place), Cell(value=score), Cell(value=text))
        for name in ranking.scores
        for place, (score, text) in enumerate(ranked(ranking, image, name)[:top], start=1)
    )
    return Grid(columns=("Metric", "Rank", "Score", "Reference"), rows=rows)


def _list_figures(
    ranking: Ranking, correlations: Mapping[tuple[str, str], RankCorrelation]
) -> dict[str, Callable[[], Figure]]:
    """Return the figure of the paper's pairs of metrics or, with other metrics, of the first pairs."""
    if {name for pair in _PAPER_PAIRS for name in pair} <= set(ranking.scores):
        return {"cider-and-cider-d": partial(_plot_ranks, ranking, _PAPER_PAIRS)}
    pairs = list(correlations)[:_MOST_PANELS]
    return {"ranks": partial(_plot_ranks, ranking, pairs)} if pairs else {}


def _plot_ranks(ranking: Ranking, pairs: Iterable[tuple[str, str]]) -> Figure:
    scores = ranking.scores
    return rank_map({f"{y} against {x}": (ranks(scores[x]), ranks(scores[y])) for x, y in pairs})


def rank_map(pairs: Mapping[str, tuple[FloatArray, FloatArray]]) -> Figure:
    """Plot 2D histograms of ranks by two metrics, one panel per pair of metrics.

    Args:
        pairs: The ranks of all references by two metrics, 0 for the best of an image and 1 for the worst, by
            the names of the metrics: `Y against X`.
    """
    from capeval.report.figures import get_theme, paper_figure, set_title

    columns = min(len(pairs), 2)
    rows = math.ceil(len(pairs) / columns)
    with paper_figure(0.4 + rows * 3.0 / columns) as figure:
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, (title, (first, second)) in zip(panels, pairs.items(), strict=False):
            panel.hist2d(
                first, second, bins=24, range=((0, 1), (0, 1)), cmap=get_theme().map, rasterized=True
            )
            y_name, _, x_name = title.partition(" against ")
            panel.set(xlabel=x_name, ylabel=y_name, aspect="equal")
        for panel in panels[len(pairs) :]:
            panel.set_axis_off()
        set_title(figure, "Ranks of references by two metrics (0: best)")
        return figure
