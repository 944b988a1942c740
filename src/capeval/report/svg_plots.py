"""SVG plots for HTML pages, in the colors of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from capeval.data.scores import FloatArray
from capeval.report.figures import COLORS, STYLE, to_svg
from capeval.report.tables import System

__all__ = ["list_colors", "plot_bars", "plot_distributions"]

_PUBLISHED = "#9a9a9a"
_BINS = 25
# Inches. A page shows as many panels in a row as its width allows.
_WIDTH = 2.5
# Colors of the plots that depend on the page's theme.
_THEMED = {"#000000": "var(--ink)", "#888888": "var(--line)", "#555555": "var(--soft)"}


def list_colors(
    systems: Sequence[System], published: Mapping[str, Mapping[str, float]]
) -> list[tuple[str, str]]:
    """Return the name and the CSS color of each system, followed by those of the published scores."""
    colors = [(system.name, _get_color(place)) for place, system in enumerate(systems)]
    colors += [(name, _PUBLISHED) for name in published]
    return [(name, _THEMED.get(color, color)) for name, color in colors]


def plot_bars(systems: Sequence[System], published: Mapping[str, Mapping[str, float]]) -> list[Markup]:
    """Plot the corpus scores: one panel per score, one bar per system with interval."""
    height = 0.6 + 0.22 * (len(systems) + len(published))
    panels = []
    with mpl.rc_context(STYLE):
        for number, name in enumerate(systems[0].report.corpus):
            figure, panel = _create_panel(name, height)
            _draw_bars(panel, name, systems, published)
            panels.append(_render_svg(figure, f"bars-{number}", f"Bars of {name}"))
    return panels


def _draw_bars(
    panel: Axes, name: str, systems: Sequence[System], published: Mapping[str, Mapping[str, float]]
) -> None:
    for place, system in enumerate(systems):
        score, interval = system.report.corpus[name], system.intervals.get(name)
        if np.isnan(score):
            panel.barh(place, 0.0, height=0.72, color=_get_color(place))
            _annotate(panel, "no score", 0.0, place)
            continue
        ends = None if interval is None else [[score - interval.low], [interval.high - score]]
        panel.barh(
            place,
            score,
            xerr=ends,
            height=0.72,
            color=_get_color(place),
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#000000"},
        )
        _annotate(panel, f"{score:.3f}", score if interval is None else interval.high, place)
    for place, values in enumerate(published.values(), start=len(systems)):
        score = values.get(name, 0.0)
        panel.barh(place, score, height=0.72, color=_PUBLISHED)
        _annotate(panel, f"{score:.3f}" if name in values else "not reported", score, place)
    panel.set_yticks([])
    panel.margins(x=0.28)
    panel.set_xlim(left=0)
    panel.invert_yaxis()


def _annotate(panel: Axes, text: str, x: float, place: int) -> None:
    panel.annotate(text, (x, place), (3, 0), textcoords="offset points", va="center")


def plot_distributions(systems: Sequence[System]) -> list[Markup]:
    """Plot the distribution of image scores: one panel per score, one line per system."""
    panels = []
    with mpl.rc_context(STYLE):
        for number, name in enumerate(systems[0].report.corpus):
            figure, panel = _create_panel(name, 1.6)
            values = [_get_scores(system, name) for system in systems]
            highest = max((float(each.max()) for each in values if each.size), default=0.0)
            edges = np.linspace(0.0, highest if highest > 0 else 1.0, _BINS + 1)
            for place, each in enumerate(values):
                counts, _ = np.histogram(each, edges)
                shares = counts / max(int(counts.sum()), 1)
                color = _get_color(place)
                panel.stairs(shares, edges, color=color, linewidth=1.2)
                if len(systems) == 1:
                    panel.stairs(shares, edges, color=color, alpha=0.12, fill=True)
            panel.set_xlim(edges[0], edges[-1])
            panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
            panels.append(_render_svg(figure, f"spread-{number}", f"Histogram of {name} per image"))
    return panels


def _get_scores(system: System, name: str) -> FloatArray:
    """Return the scores of the scored images."""
    values = system.report.per_image[name]
    return values[~np.isnan(values)]


def _get_color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def _create_panel(title: str, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    panel = figure.subplots()
    panel.set_title(title, loc="left")
    return figure, panel


def _render_svg(figure: Figure, salt: str, label: str) -> Markup:
    svg = to_svg(figure, salt, transparent=True).decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Ids include the plot's name, so that they are unique in a page with several plots.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{salt}-", svg)
    svg = re.sub(r"#(?:000000|888888|555555)\b", lambda match: _THEMED[match[0]], svg)
    named = f'role="img" aria-label="{escape(label)}"'
    return Markup(re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', named, svg, count=1))  # noqa: S704
