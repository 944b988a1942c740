"""Tables and figure of the images chosen for a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.data.captions import ImageId
from capeval.datasets.selection import ChoiceStudy, Selection
from capeval.formats.images import ImageInfo
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]

# The largest number of classes with its own column.
_MAX_CLASSES = 6


def report(
    study: ChoiceStudy,
    images: Sequence[ImageInfo] = (),
    domains: Mapping[str, Sequence[ImageId]] | None = None,
) -> StudyReport:
    """Return statistics of each set, exclusions, domains, images, class counts, and a figure.

    Args:
        study: The chosen images.
        images: The addresses and licenses of the chosen images, if known.
        domains: The images of each domain, if known.
    """
    return StudyReport(
        tables={
            "statistics": _build_statistics_table(study),
            "excluded": _build_exclusion_table(study.chosen),
            **({"domains": _build_domain_table(domains)} if domains else {}),
        },
        long_tables={
            "images": lambda: _build_image_table(study, images),
            "classes": lambda: _build_class_table(study),
        },
        figures={"classes": lambda: _plot_classes(study)},
    )


def _build_statistics_table(study: ChoiceStudy) -> Grid:
    sizes = sorted({size for each in study.statistics.values() for size in each.by_classes})
    sizes = [size for size in sizes if size <= _MAX_CLASSES]
    rows = []
    for name, each in study.statistics.items():
        images = [each.by_classes.get(size, 0) for size in sizes]
        rows.append(
            (
                Cell(value=name),
                Cell(value=each.images),
                Cell(value=each.entropy),
                Cell(value=each.classes),
                Cell(value=each.classes_per_image, digits=2),
                Cell(value=each.instances_per_image, digits=2),
                Cell(value=each.largest_share),
                *(Cell(value=count) for count in images),
                Cell(value=each.images - sum(images)),
            )
        )
    counted = (f"{size} classes" for size in sizes)
    head = ("Set", "Images", "Entropy (bits)", "Classes", "Classes/image", "Boxes/image", "Largest class")
    return Grid(columns=(*head, *counted, "More"), rows=tuple(rows))


def _build_exclusion_table(chosen: Selection) -> Grid:
    rows = [(Cell(value=reason), Cell(value=images)) for reason, images in chosen.excluded.items()]
    rows.append((Cell(value="candidates"), Cell(value=len(chosen.candidates))))
    rows.append((Cell(value="chosen for more than six classes"), Cell(value=chosen.complex_images)))
    return Grid(columns=("Reason", "Images"), rows=tuple(rows))


def _build_domain_table(domains: Mapping[str, Sequence[ImageId]]) -> Grid:
    rows = tuple((Cell(value=name), Cell(value=len(images))) for name, images in domains.items())
    return Grid(columns=("Domain", "Images"), rows=rows)


def _build_image_table(study: ChoiceStudy, images: Sequence[ImageInfo]) -> Grid:
    if images:
        rows = tuple(
            tuple(Cell(value=text) for text in (one.id, one.url, one.license, one.author)) for one in images
        )
        return Grid(columns=("ImageID", "OriginalURL", "License", "Author"), rows=rows)
    ids = study.annotations.image_ids
    return Grid(
        columns=("ImageID",),
        rows=tuple((Cell(value=ids[position]),) for position in study.chosen.positions.tolist()),
    )


def _build_class_table(study: ChoiceStudy) -> Grid:
    counts = [study.class_counts(name).tolist() for name in study.positions]
    rows = tuple(
        (Cell(value=name), *(Cell(value=each[place]) for each in counts))
        for place, name in enumerate(study.annotations.classes)
    )
    return Grid(columns=("Class", *study.positions), rows=rows)


def _plot_classes(study: ChoiceStudy) -> Figure:
    from capeval.report.figures import Curve, plot_lines

    curves = {}
    for name in study.positions:
        counts = np.sort(study.class_counts(name))[::-1]
        shares = np.cumsum(counts / counts.sum())
        curves[name] = Curve(x=list(range(1, len(shares) + 1)), y=shares.tolist())
    return plot_lines(
        curves,
        title="Distribution of classes",
        x_label="Classes, most frequent first",
        y_label="Cumulative share of counts",
    )
