"""Tables and figure of captions collected with and without keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.scoring.significance import format_p_value
from capeval.studies.diversity.report import ngram_table
from capeval.studies.priming import PLAIN, PRIMED, PrimingStudy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]


def report(study: PrimingStudy) -> StudyReport:
    """Return the differences, unique n-grams, mentions of each keyword, each image's values, and a figure."""
    return StudyReport(
        tables={"priming": _build_difference_table(study), "unique-ngrams": ngram_table(study.diversity)},
        long_tables={
            "keywords": lambda: _build_keyword_table(study),
            "images": lambda: _build_image_table(study),
        },
        figures={"priming": lambda: _plot_measures(study)},
    )


def _build_difference_table(study: PrimingStudy) -> Grid:
    rows = [
        (
            Cell(value=name),
            *(_build_cell(one.score, one.low, one.high) for one in (each.plain, each.primed)),
            _build_cell(each.comparison.difference, each.comparison.low, each.comparison.high),
            Cell(value=each.comparison.p_value, digits=4, text=format_p_value(each.comparison)),
        )
        for name, each in study.measures.items()
    ]
    plain, primed = (
        sum(getattr(each, which) > 0 for each in study.classes.values()) for which in ("plain", "primed")
    )
    counts = tuple(Cell(value=value) for value in ("Named classes", plain, primed, primed - plain, None))
    first = next(iter(study.measures.values()))
    others = f"; other images left out: {study.left_out:,}" if study.left_out else ""
    notes = (
        f"{len(study.image_ids):,} images, {study.captions:,} captions per set{others}.",
        first.plain.note,
        "P-values: paired bootstrap over images, not corrected for the number of measures.",
        f"Named classes: of {len(study.classes):,} keywords.",
        "A value that is the same for all images has no interval.",
    )
    columns = ("Mean over images", PLAIN, PRIMED, "Difference", "p-value")
    return Grid(columns=columns, rows=(*rows, counts), notes=notes)


def _build_cell(value: float, low: float, high: float) -> Cell:
    """Return the cell of a mean; resamples of equal values don't show how certain it is."""
    if low == high:
        return Cell(value=value, digits=2)
    return Cell(value=value, low=low, high=high, digits=2)


def _build_keyword_table(study: PrimingStudy) -> Grid:
    rows = tuple(
        tuple(Cell(value=value) for value in (name, each.images, each.plain, each.primed))
        for name, each in study.classes.items()
    )
    return Grid(columns=("Keyword", "Images", PLAIN, PRIMED), rows=rows)


def _build_image_table(study: PrimingStudy) -> Grid:
    values = [each.values for each in study.measures.values()]
    rows = tuple(
        (Cell(value=str(image)), *(Cell(value=float(number)) for each in values for number in each[place]))
        for place, image in enumerate(study.image_ids)
    )
    columns = (f"{name}, {which.lower()}" for name in study.measures for which in (PLAIN, PRIMED))
    return Grid(columns=("Image", *columns), rows=rows)


def _plot_measures(study: PrimingStudy) -> Figure:
    from capeval.report.figures import plot_intervals

    panels = {
        name: {
            which: (each.score, each.low, each.high)
            for which, each in (("without", compared.plain), ("with", compared.primed))
        }
        for name, compared in study.measures.items()
    }
    level = next(iter(study.measures.values())).plain.level
    return plot_intervals(
        panels, title=f"Captions without and with keywords, with {100 * level:g}% intervals over images"
    )
