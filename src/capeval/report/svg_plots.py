"""SVG plots for HTML pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from capeval.data.scores import FloatArray
from capeval.report.figures import COLORS, STYLE, to_svg
from capeval.report.tables import System

__all__ = ["plot_bars", "plot_distributions"]

_PUBLISHED = "#9a9a9a"
_BINS = 25


def plot_bars(systems: Sequence[System], published: Mapping[str, Mapping[str, float]]) -> Markup:
    """Plot the corpus scores: one panel per score, one bar per system with interval."""
    with mpl.rc_context(STYLE):
        names = tuple(systems[0].report.corpus)
        count = len(systems) + len(published)
        figure, panels = _create_panels(len(names), 0.9 + 0.24 * count)
        for name, panel in zip(names, panels, strict=True):
            _plot_panel(panel, name, systems, published)
        _add_legend(figure, panels[0], [*(system.name for system in systems), *published])
        return _render_svg(figure, "bars", "Bar charts of the corpus scores")


def _plot_panel(
    panel: Axes, name: str, systems: Sequence[System], published: Mapping[str, Mapping[str, float]]
) -> None:
    for place, system in enumerate(systems):
        score, interval = system.report.corpus[name], system.intervals.get(name)
        if np.isnan(score):
            panel.barh(place, 0.0, height=0.72, color=COLORS[place % len(COLORS)])
            panel.annotate("no score", (0.0, place), (3, 0), textcoords="offset points", va="center")
            continue
        ends = None if interval is None else [[score - interval.low], [interval.high - score]]
        panel.barh(
            place,
            score,
            xerr=ends,
            height=0.72,
            color=COLORS[place % len(COLORS)],
            error_kw={"elinewidth": 1, "capsize": 2},
        )
        panel.annotate(
            f"{score:.3f}",
            (score if interval is None else interval.high, place),
            (3, 0),
            textcoords="offset points",
            va="center",
        )
    for place, values in enumerate(published.values(), start=len(systems)):
        score = values.get(name, 0.0)
        panel.barh(place, score, height=0.72, color=_PUBLISHED)
        label = f"{score:.3f}" if name in values else "not reported"
        panel.annotate(label, (score, place), (3, 0), textcoords="offset points", va="center")
    panel.set_title(name, loc="left")
    panel.set_yticks([])
    panel.margins(x=0.28)
    panel.set_xlim(left=0)
    panel.invert_yaxis()


def plot_distributions(systems: Sequence[System]) -> Markup:
    """Plot the distribution of image scores: one panel per score, one line per system."""
    with mpl.rc_context(STYLE):
        names = tuple(systems[0].report.corpus)
        figure, panels = _create_panels(len(names), 1.8)
        for name, panel in zip(names, panels, strict=True):
            values = [_get_scores(system, name) for system in systems]
            highest = max((float(each.max()) for each in values if each.size), default=0.0)
            edges = np.linspace(0.0, highest if highest > 0 else 1.0, _BINS + 1)
            for place, each in enumerate(values):
                counts, _ = np.histogram(each, edges)
                shares = counts / max(int(counts.sum()), 1)
                color = COLORS[place % len(COLORS)]
                panel.stairs(shares, edges, color=color, linewidth=1.2)
                if len(systems) == 1:
                    panel.stairs(shares, edges, color=color, alpha=0.12, fill=True)
            panel.set_title(name, loc="left")
            panel.set_xlim(edges[0], edges[-1])
            panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
        if len(systems) > 1:
            _add_legend(figure, panels[0], [system.name for system in systems])
        return _render_svg(figure, "spread", "Histograms of the scores per image")


def _get_scores(system: System, name: str) -> FloatArray:
    """Return the scores of the scored images."""
    values = system.report.per_image[name]
    return values[~np.isnan(values)]


def _create_panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    # Three per row if four would leave half of the last row empty.
    columns = 3 if count in (5, 6, 9) else min(4, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(10, 0.5 + height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def _add_legend(figure: Figure, panel: Axes, names: Sequence[str]) -> None:
    handles = panel.patches
    # A dollar sign would start a formula, and a leading underscore would hide the name.
    labels = [name.replace("$", r"\$") for name in names]
    figure.legend(handles, labels, loc="outside upper left", ncols=min(4, len(names)), frameon=False)


def _render_svg(figure: Figure, salt: str, label: str) -> Markup:
    svg = to_svg(figure, salt).decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Ids include the plot's name, so that they are unique in a page with two plots.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{salt}-", svg)
    named = f'role="img" aria-label="{label}"'
    return Markup(re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', named, svg, count=1))  # noqa: S704
