"""The figure of how two metrics rank the same references."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from capeval.report.figures import STYLE
from capeval.types import FloatArray

__all__ = ["rank_map"]


def rank_map(pairs: Mapping[str, tuple[FloatArray, FloatArray]]) -> Figure:
    """How often references have one rank by one metric and another by the other: a panel for each pair.

    Args:
        pairs: The ranks of all references by two metrics, 0 for the best of an image and 1 for the worst,
            by the title of the panel.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6 * len(pairs), 3.6), layout="constrained")
        panels = figure.subplots(1, len(pairs), squeeze=False)[0]
        for panel, (title, (first, second)) in zip(panels, pairs.items(), strict=True):
            panel.hist2d(first, second, bins=24, range=((0, 1), (0, 1)), cmap="Blues", rasterized=True)
            y_name, _, x_name = title.partition(" against ")
            panel.set_title(title, loc="left")
            panel.set_xlabel(f"Rank by {x_name}: best to worst")
            panel.set_ylabel(f"Rank by {y_name}: best to worst")
            panel.set_aspect("equal")
        return figure
