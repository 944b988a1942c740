"""The figure of human performance by number of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from capeval.report.figures import COLOURS, STYLE
from capeval.studies.human import HumanPerformance

__all__ = ["human_curves"]


def human_curves(results: Sequence[HumanPerformance], published: Mapping[str, float]) -> Figure:
    """A curve for each score, over the numbers of references, with the lowest and highest draw.

    Args:
        results: The scores for each number of references; those against all other captions have no place.
        published: What people score with five references elsewhere, by name: a cross each.
    """
    counted = [result for result in results if result.references is not None]
    x = [result.references or 0 for result in counted]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 4.2), layout="constrained")
        panel = figure.subplots()
        for column, name in enumerate(results[0].names):
            colour = COLOURS[column % len(COLOURS)]
            y = [result.mean[column] for result in counted]
            low, high = ([end(result.draws[:, column]) for result in counted] for end in (np.min, np.max))
            panel.plot(x, y, marker=".", color=colour, label=name)
            panel.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
            if name in published:
                panel.plot([5], [published[name]], marker="x", color=colour)
        panel.set_title(
            f"People against people{' (crosses: the paper, c5)' if published else ''}", loc="left"
        )
        panel.set(xlabel="References per image", ylabel="Corpus score")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(frameon=False, loc="outside right center")
        return figure
