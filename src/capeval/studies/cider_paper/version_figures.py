"""Figures 11 and 12 of the CIDEr paper: curves of all versions of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capeval.studies.cider_paper.compute import Curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_versions"]

_FAMILIES = ("BLEU", "ROUGE", "CIDEr")
_MARKERS = "os^Dvx*P"


def draw_versions(curves: Curves, counts: Sequence[int]) -> Figure:
    """Plot the accuracy on all pairs of each version, one panel with a legend per family of metrics.

    Args:
        curves: Class to metric to the accuracy for each of `counts`.
        counts: The numbers of references.
    """
    from capeval.report.figures import get_color, paper_figure

    with paper_figure(5.4) as figure:
        panels = figure.subplots(len(_FAMILIES), sharex=True)
        for panel, family in zip(panels, _FAMILIES, strict=True):
            names = [name for name in curves["all"] if name.startswith(family)]
            for place, (name, marker) in enumerate(zip(names, _MARKERS, strict=False)):
                means = [100 * point.mean for point in curves["all"][name]]
                panel.plot(counts, means, color=get_color(place), marker=marker, markersize=3, label=name)
            panel.set_xscale("log")
            panel.set_xticks(counts, [str(count) for count in counts])
            panel.minorticks_off()
            panel.set_title(family, loc="left")
            panel.set_ylabel("Accuracy (%)")
            panel.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        panels[-1].set_xlabel("References")
        return figure
