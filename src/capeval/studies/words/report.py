"""Tables and figure of word prediction agreement (Chen et al. 2015, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.words import (
    SystemAgreement,
    WordAgreement,
    WordStudy,
    class_means,
    model_precision,
    system_means,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["report", "word_agreement"]

# The number of labeled words in a panel of one class.
_MAX_LABELS = 16


def report(study: WordStudy) -> StudyReport:
    """Return means by class, each word's numbers, a figure, and a system's tables."""
    tables = {"agreement": _build_agreement_table(study)}
    if study.system is not None:
        people = study.people[-1]
        tables["words-with-scores"] = _build_coverage_table(study.system, len(people.words))
        tables["precision-at-human-recall"] = _build_system_table(study.system, people, study.classes)
    return StudyReport(
        tables=tables,
        long_tables={"words": lambda: _build_word_table(study)},
        figures={"word-agreement": lambda: word_agreement(study.people, study.classes)},
    )


def _build_agreement_table(study: WordStudy) -> Grid:
    rows = tuple(
        (
            Cell(value=people.references),
            Cell(value=name),
            Cell(value=means.words, digits=0),
            Cell(value=means.recall),
            Cell(value=means.precision),
            Cell(value=means.model_precision),
            Cell(value=means.distance),
        )
        for people in study.people
        for name, means in class_means(people, study.classes).items()
    )
    columns = ("References", "Class", "Words", "Recall", "Precision", "Model precision", "Distance")
    return Grid(columns=columns, rows=rows)


def _build_word_table(study: WordStudy) -> Grid:
    precision = {} if study.system is None else study.system.precision
    last = study.people[-1]
    rows = tuple(
        (
            Cell(value=word),
            Cell(value=study.classes.get(word, "")),
            Cell(value=float(last.recall[row]), digits=4),
            *(Cell(value=float(people.precision[row]), digits=4) for people in study.people),
            *([Cell(value=precision.get(word), digits=4)] if precision else []),
        )
        for row, word in enumerate(last.words)
    )
    precisions = (f"Precision (k={people.references})" for people in study.people)
    system = ("System precision",) if precision else ()
    return Grid(columns=("Word", "Class", "Recall", *precisions, *system), rows=rows)


def _build_coverage_table(system: SystemAgreement, counted: int) -> Grid:
    """Return the number of compared words, and of the others by reason."""
    compared, ignored = len(system.precision), len(system.ignored)
    values = (compared + ignored, compared, ignored, counted - compared)
    columns = ("Scored", "Compared", "Ignored (too rare)", "Counted, not scored")
    return Grid(columns=columns, rows=(tuple(Cell(value=value) for value in values),))


def _build_system_table(system: SystemAgreement, people: WordAgreement, classes: Mapping[str, str]) -> Grid:
    rows = tuple(
        (
            Cell(value=name),
            Cell(value=means.words, digits=0),
            Cell(value=means.system),
            Cell(value=means.people),
        )
        for name, means in system_means(system, people, classes).items()
    )
    return Grid(columns=("Class", "Words", "System precision", "Human precision"), rows=rows)


def word_agreement(agreements: Sequence[WordAgreement], classes: Mapping[str, str]) -> Figure:
    """Plot precision and recall by word class, with the model, and by references.

    The panels show nouns, adjectives, verbs, all words with the model, and all words by number of references.

    Args:
        agreements: The human agreement for each number of references, the largest last.
        classes: The class of each classified word.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from capeval.report.figures import COLORS, STYLE

    full = agreements[-1]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.9), layout="constrained")
        grid = figure.add_gridspec(2, 6)
        for place, name in enumerate(("noun", "adjective", "verb")):
            panel = figure.add_subplot(grid[0, 2 * place : 2 * place + 2])
            rows = [row for row, word in enumerate(full.words) if classes.get(word) == name]
            _draw_class_panel(panel, full, rows, f"{name.capitalize()}s ({len(rows)})", COLORS[place])
        panel = figure.add_subplot(grid[1, :3])
        panel.set_title(f"All {len(full.words):,} words and the model, k = {full.references}", loc="left")
        panel.plot(
            full.recall, full.precision, ".", color=COLORS[1], markersize=3, label="people", rasterized=True
        )
        _draw_model(panel, full.references, COLORS[0], f"model, k = {full.references}")
        _format_axes(panel)
        panel.legend(frameon=False, loc="lower right")
        panel = figure.add_subplot(grid[1, 3:])
        panel.set_title("By number of references, k", loc="left")
        for place, each in enumerate(agreements):
            color = COLORS[place % len(COLORS)]
            panel.plot(each.recall, each.precision, ".", color=color, markersize=1.5, rasterized=True)
            _draw_model(panel, each.references, color, f"k = {each.references}")
        _format_axes(panel)
        panel.legend(frameon=False, loc="lower right")
        return figure


def _draw_class_panel(panel: Axes, agreement: WordAgreement, rows: list[int], title: str, color: str) -> None:
    panel.set_title(title, loc="left")
    recall, precision = agreement.recall[rows], agreement.precision[rows]
    panel.plot(recall, precision, ".", color=color, markersize=3, rasterized=True)
    # Labels are spread evenly along recall, so that they don't overlap.
    if rows:
        targets = np.linspace(recall.min(), recall.max(), _MAX_LABELS)
        last = (-1.0, -1.0)
        for nearest in sorted({int(np.abs(recall - target).argmin()) for target in targets}, key=recall.item):
            point = (float(recall[nearest]), float(precision[nearest]))
            if point[0] - last[0] < 0.25 and point[1] - last[1] < 0.06:
                continue
            last = point
            panel.annotate(
                agreement.words[rows[nearest]], point, (5, -4), textcoords="offset points", fontsize=7
            )
    _format_axes(panel)


def _draw_model(panel: Axes, references: int, color: str, label: str) -> None:
    p = np.linspace(0, 1, 201)
    panel.plot(p, model_precision(p, references), color=color, linewidth=1.2, label=label)


def _format_axes(panel: Axes) -> None:
    panel.set(xlim=(0, 1.08), ylim=(0, 1.04), xlabel="Human recall", ylabel="Human precision")
