"""Figure of word prediction agreement (Chen et al. 2015, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from capeval.report.figures import COLUMN, get_color, paper_figure
from capeval.report.point_labels import PointLabel, label_points
from capeval.studies.words import WordAgreement, WordStudy, model_precision

__all__ = ["word_agreement"]

# The width and height of the figure in inches, for two columns of a paper and for one.
_WIDE, _NARROW = (7.0, 4.4), (COLUMN, 4.6)
# The number of labels that are tried in a panel of one class.
_MAX_LABELS = 24
_LABEL_SIZE = 6
_MARKERS = ("^", "s", "D", "v", "P", "X")


def word_agreement(study: WordStudy, labels: Sequence[str] = (), *, wide: bool = False) -> Figure:
    """Plot precision and recall by word class, with the model and systems, and by references.

    The panels show nouns, adjectives, verbs, all words with the model and the systems with captions, and all
    words by number of references.

    Args:
        study: The study.
        labels: Words to label; by default, frequent words spread over recall.
        wide: Whether the figure has the width of two columns of a paper instead of one.
    """
    people = study.people[-1]
    width, height = _WIDE if wide else _NARROW
    with paper_figure(height, width=width) as figure:
        panels = figure.subplots(*((2, 3) if wide else (3, 2)), sharex=True, sharey=True).flat
        rows_of = {}
        for place, (panel, name) in enumerate(zip(panels, ("noun", "adjective", "verb"), strict=False)):
            rows = [row for row, word in enumerate(people.words) if study.classes.get(word) == name]
            rows_of[panel] = rows
            _draw_words(panel, people, rows, get_color(place))
            panel.set_title(f"{name.capitalize()}s ({len(rows)})", loc="left")
        _draw_systems(panels[3], study)
        _draw_references(panels[4], study)
        _draw_legend(panels[5], panels[3], panels[4])
        for panel in panels[:5]:
            panel.set(xlim=(0, 1.04), ylim=(0, 1.04))
            panel.label_outer()
        figure.supxlabel("Recall", fontsize=7)
        figure.supylabel("Precision", fontsize=7)
        # Labels are placed when the panels have their final sizes.
        figure.draw_without_rendering()
        for panel, rows in rows_of.items():
            chosen = [row for row in rows if people.words[row] in labels]
            others = [] if labels else _spread(people, rows)
            label_points(panel, _get_points(people, chosen), _get_points(people, others), size=_LABEL_SIZE)
        return figure


def _draw_words(panel: Axes, agreement: WordAgreement, rows: Sequence[int], color: str) -> None:
    recall, precision = agreement.recall[list(rows)], agreement.precision[list(rows)]
    panel.plot(recall, precision, ".", color=color, markersize=2.5, markeredgewidth=0, rasterized=True)


def _draw_systems(panel: Axes, study: WordStudy) -> None:
    people = study.people[-1]
    panel.set_title(f"All {len(people.words):,} words, k = {people.references}", loc="left")
    panel.plot(
        people.recall,
        people.precision,
        ".",
        color=get_color(0),
        markersize=2.5,
        markeredgewidth=0,
        # Above the many points of systems.
        zorder=3,
        label="people",
        rasterized=True,
    )
    captions = {name: each.captions for name, each in study.systems.items() if each.captions is not None}
    for place, (name, system) in enumerate(captions.items()):
        panel.plot(
            system.recall,
            system.precision,
            _MARKERS[place % len(_MARKERS)],
            color=get_color((5, 3, 1, 2)[place % 4]),
            markersize=2,
            markeredgewidth=0,
            alpha=0.5,
            label=name,
            rasterized=True,
        )
    _draw_model(panel, people.references, get_color(7), "model")


def _draw_references(panel: Axes, study: WordStudy) -> None:
    panel.set_title("By number of others", loc="left")
    for place, people in enumerate(study.people):
        color = get_color(place)
        panel.plot(
            people.recall,
            people.precision,
            ".",
            color=color,
            markersize=1.5,
            markeredgewidth=0,
            rasterized=True,
        )
        _draw_model(panel, people.references, color, f"k = {people.references}")


def _draw_model(panel: Axes, references: int, color: str, label: str) -> None:
    p = np.linspace(0, 1, 201)
    panel.plot(p, model_precision(p, references), color=color, linewidth=0.9, label=label)


def _draw_legend(panel: Axes, *sources: Axes) -> None:
    """Draw the legends of other panels in an empty panel."""
    panel.set_axis_off()
    handles, names = [], []
    for source in sources:
        own_handles, own_names = source.get_legend_handles_labels()
        handles += own_handles
        names += own_names
    panel.legend(handles, names, frameon=False, loc="center", ncols=1, markerscale=2)


def _spread(agreement: WordAgreement, rows: Sequence[int]) -> list[int]:
    """Return the most frequent word of each of several equal parts of the range of recall."""
    recall = agreement.recall[list(rows)]
    if not rows:
        return []
    parts = np.digitize(recall, np.linspace(recall.min(), recall.max(), _MAX_LABELS))
    # Words are in the order of their frequencies.
    first = dict(zip(reversed(parts.tolist()), reversed(rows), strict=True))
    return [first[part] for part in sorted(first)]


def _get_points(agreement: WordAgreement, rows: Sequence[int]) -> list[PointLabel]:
    return [
        (agreement.words[row], float(agreement.recall[row]), float(agreement.precision[row])) for row in rows
    ]
