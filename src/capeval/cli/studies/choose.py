"""`capeval study choose`: the images of a benchmark, as nocaps chose them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import Seed
from capeval.cli.studies.output import Folder, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from capeval.benchmarks.choosing import ChoiceStatistics, Chosen
    from capeval.formats.open_images import ObjectAnnotations
    from capeval.report import Grid

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "choose"
EXAMPLES = examples(
    "capeval study choose test-annotations-bbox.csv -n 10600 --rotations test-images-with-rotation.csv",
    "capeval study choose validation-annotations-bbox.csv -n 4500 --sample 1000 --seed 7 -o chosen",
)


def run(
    boxes: Annotated[
        Path, typer.Argument(metavar="BOXES", help="Open Images CSV of boxes.", show_default=False)
    ],
    images: Annotated[
        int, typer.Option("--images", "-n", min=1, help="How many to choose.", show_default=False)
    ],
    rotations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Open Images CSV of images and their rotations.",
            show_default="none excluded for rotation",
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Open Images CSV of class names.", show_default="labels"),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Images drawn for each choice.")] = 100,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Chooses images that hold many classes, and all classes evenly (nocaps, section 3.1).

    Beside what was chosen stands a random choice of as many, and all candidates.
    """
    from capeval.benchmarks import choosing
    from capeval.formats import open_images

    with Steps(3 + images // 1000) as steps:
        steps.next("Reading boxes")
        called = None if names is None else open_images.load_class_names(names)
        annotations = open_images.load_boxes(boxes, called)
        steps.next("Reading rotations")
        degrees = None if rotations is None else open_images.load_rotations(rotations)
        steps.next("Choosing")
        chosen = choosing.choose_images(
            annotations, images, rotations=degrees, sample=sample, seed=seed, progress=steps.next
        )
        sets = {
            "chosen": chosen.positions,
            "random": choosing.choose_randomly(chosen, seed=seed),
            "candidates": chosen.candidates,
        }
        statistics = {
            name: choosing.choice_statistics(annotations, positions) for name, positions in sets.items()
        }
    grids = {"statistics": _statistics(statistics), "excluded": _excluded(chosen)}
    files = {
        "images": lambda: _images(annotations, chosen),
        "classes": lambda: _classes(annotations, sets),
    }
    show(grids, {"classes": lambda: _figure(annotations, sets)}, output, files=files)


def _statistics(statistics: Mapping[str, ChoiceStatistics]) -> Grid:
    from capeval.report import Cell, Grid

    sizes = sorted({size for each in statistics.values() for size in each.by_classes if size <= 6})
    rows = []
    for name, each in statistics.items():
        shares = [each.by_classes.get(size, 0) for size in sizes]
        shares.append(each.images - sum(shares))
        rows.append(
            (
                Cell(value=name),
                Cell(value=each.images),
                Cell(value=each.entropy),
                Cell(value=each.classes),
                Cell(value=each.classes_per_image, digits=2),
                Cell(value=each.instances_per_image, digits=2),
                Cell(value=each.largest_share),
                *(Cell(value=share) for share in shares),
            )
        )
    counted = (f"{size} classes" for size in sizes)
    head = ("Set", "Images", "Entropy (bits)", "Classes", "Classes/image", "Boxes/image", "Largest class")
    return Grid(columns=(*head, *counted, "More"), rows=tuple(rows))


def _excluded(chosen: Chosen) -> Grid:
    from capeval.report import Cell, Grid

    rows = [(Cell(value=reason), Cell(value=images)) for reason, images in chosen.excluded.items()]
    rows.append((Cell(value="candidates"), Cell(value=len(chosen.candidates))))
    rows.append((Cell(value="taken for more than six classes"), Cell(value=chosen.complex_images)))
    return Grid(columns=("Reason", "Images"), rows=tuple(rows))


def _images(annotations: ObjectAnnotations, chosen: Chosen) -> Grid:
    from capeval.report import Cell, Grid

    rows = ((Cell(value=annotations.image_ids[position]),) for position in chosen.positions.tolist())
    return Grid(columns=("ImageID",), rows=tuple(rows))


def _counts(annotations: ObjectAnnotations, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    import numpy as np

    pairs = np.isin(annotations.image, positions)
    return np.bincount(annotations.label[pairs], minlength=len(annotations.classes))


def _classes(annotations: ObjectAnnotations, sets: Mapping[str, NDArray[np.int64]]) -> Grid:
    from capeval.report import Cell, Grid

    counts = [_counts(annotations, positions).tolist() for positions in sets.values()]
    rows = tuple(
        (Cell(value=name), *(Cell(value=each[place]) for each in counts))
        for place, name in enumerate(annotations.classes)
    )
    return Grid(columns=("Class", *sets), rows=rows)


def _figure(annotations: ObjectAnnotations, sets: Mapping[str, NDArray[np.int64]]) -> Figure:
    import numpy as np

    from capeval.report.figures import Line, lines

    curves = {}
    for name, positions in sets.items():
        counts = np.sort(_counts(annotations, positions))[::-1]
        shares = np.cumsum(counts / counts.sum())
        curves[name] = Line(x=list(range(1, len(shares) + 1)), y=shares.tolist())
    return lines(
        curves,
        title="How evenly classes are spread",
        x_label="Classes, the most frequent first",
        y_label="Share of all counts",
    )
