"""Tables and figure of the diversity of corpora."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from capeval.datasets.published import UNIQUE_NGRAMS
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.diversity import COLLECTED, ORDERS, Diversity, ObjectCounts
from capeval.studies.diversity.images import ImageDiversity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["histograms", "image_report", "ngram_table", "object_table", "report"]


def report(corpora: Mapping[str, Diversity], objects: Mapping[str, ObjectCounts]) -> StudyReport:
    """Return unique n-grams, object counts if annotations are given, and histograms."""
    tables = {"unique-ngrams": ngram_table(corpora)}
    if objects:
        tables["objects"] = object_table(objects)
    return StudyReport(tables=tables, figures={"diversity": lambda: histograms(corpora, objects)})


def image_report(systems: Mapping[str, ImageDiversity]) -> StudyReport:
    """Return the diversity of the captions of an image, one row per system, and a figure."""
    rows = tuple(
        (
            Cell(value=name),
            Cell(value=len(each.image_ids)),
            Cell(value=each.captions),
            *(Cell(value=float(mean)) for mean in each.div.mean(axis=0)[:2]),
            *(Cell(value=float(score)) for score in each.mbleu),
            Cell(value=float(each.image_mbleu[:, -1].mean())),
            Cell(value=float(each.self_cider.mean())),
            Cell(value=each.words),
            Cell(value=each.distinct),
            Cell(value=each.novel),
        )
        for name, each in systems.items()
    )
    columns = (
        *("System", "Images", "Captions", "Div-1", "Div-2"),
        *(f"mBLEU-{order}" for order in ORDERS),
        *("mBLEU-4 by image", "Self-CIDEr", "Words", "Distinct", "Novel"),
    )
    return StudyReport(
        tables={"diversity-within-images": Grid(columns=columns, rows=rows)},
        figures={"self-cider": lambda: _plot_self_cider(systems)},
    )


def _plot_self_cider(systems: Mapping[str, ImageDiversity]) -> Figure:
    from capeval.report.figures import Curve, plot_lines

    curves = {}
    for name, each in systems.items():
        known = each.self_cider[~np.isnan(each.self_cider)]
        counts, edges = np.histogram(known, bins=20, range=(0, 1))
        shares = 100 * counts / max(len(known), 1)
        curves[name] = Curve(x=((edges[1:] + edges[:-1]) / 2).tolist(), y=shares.tolist())
    return plot_lines(
        curves,
        title="Diversity of the captions of an image",
        x_label="Self-CIDEr (0: equal captions)",
        y_label="Share of images (%)",
    )


def ngram_table(corpora: Mapping[str, Diversity]) -> Grid:
    """Return unique n-grams and words per caption: means over samples with spread.

    If samples have the paper's size, the table includes the paper's counts. The interval ends in the CSV are
    one standard deviation below and above.
    """
    rows = []
    for name, each in corpora.items():
        counts = [each.unique[:, column].astype(np.float64) for column in range(len(ORDERS))]
        cells = (_format_spread(values, digits=0) for values in counts)
        rows.append((Cell(value=name), *cells, _format_spread(each.lengths, digits=2)))
    if all((each.images, each.captions) == COLLECTED for each in corpora.values()):
        for name, published in UNIQUE_NGRAMS.values.items():
            cells = (Cell(value=float(count), digits=0) for count in published)
            rows.append((Cell(value=f"{name} (paper)"), *cells, Cell(value=None)))
    columns = ("Corpus", *(f"{order}-grams" for order in ORDERS), "Words per caption")
    return Grid(columns=columns, rows=tuple(rows))


def object_table(counts: Mapping[str, ObjectCounts]) -> Grid:
    """Return object classes and instances per image, for each set of annotations."""
    rows = tuple(
        (
            Cell(value=name),
            Cell(value=each.images),
            Cell(value=each.mean_classes, digits=2),
            Cell(value=each.mean_instances, digits=2),
            Cell(value=each.single_class),
            Cell(value=each.many_classes),
        )
        for name, each in counts.items()
    )
    columns = ("Annotations", "Images", "Classes", "Instances", "One class", "More than six classes")
    return Grid(columns=columns, rows=rows)


def histograms(corpora: Mapping[str, Diversity], objects: Mapping[str, ObjectCounts]) -> Figure:
    """Plot the shares of captions by length, and of images by classes and instances.

    Images require annotations.
    """
    from capeval.report.figures import get_color, paper_figure

    panels_of: list[tuple[str, str, dict[str, NDArray[np.int64]], int]] = [
        ("Words per caption", "captions", {name: each.histogram for name, each in corpora.items()}, 30)
    ]
    if objects:
        classes = {name: each.classes for name, each in objects.items()}
        instances = {name: each.instances for name, each in objects.items()}
        panels_of += [
            ("Classes per image", "images", classes, 15),
            ("Instances per image", "images", instances, 30),
        ]
    with paper_figure(2.1 * len(panels_of)) as figure:
        panels = figure.subplots(len(panels_of), squeeze=False)[:, 0]
        for panel, (title, what, shown, most) in zip(panels, panels_of, strict=True):
            for place, (name, histogram) in enumerate(shown.items()):
                # The last place also counts everything beyond it.
                heights = np.append(histogram[:most], histogram[most:].sum())
                x = np.arange(len(heights))
                shares = 100 * heights / histogram.sum()
                panel.plot(x, shares, marker=".", color=get_color(place), label=name)
            panel.set_title(title, loc="left")
            panel.set_xlabel(f"{title.split()[0]} (last point: {most} or more)")
            panel.set_ylabel(f"Share of {what} (%)")
            panel.legend(frameon=False)
        return figure


def _format_spread(values: NDArray[np.float64], *, digits: int) -> Cell:
    mean = float(values.mean())
    if len(values) < 2:
        return Cell(value=mean, digits=digits)
    deviation = float(values.std(ddof=1))
    return Cell(value=mean, low=mean - deviation, high=mean + deviation, digits=digits)
