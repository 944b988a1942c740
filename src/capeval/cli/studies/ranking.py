"""`capeval study ranking`: each reference ranked against the others of its image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import ReferencesFile
from capeval.cli.studies.output import Folder, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.report import Grid
    from capeval.studies.ranking import Ranking
    from capeval.types import ImageId, References

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "ranking"
EXAMPLES = examples(
    "capeval study ranking references.json",
    "capeval study ranking data/abstract50s/abstract48S.json.gz --image US_41_2.png --output study",
)
_PAPER = {("CIDEr", "CIDEr-D"): 0.94}


def run(
    references: ReferencesFile,
    image: Annotated[
        str | None,
        typer.Option(help="The image whose ranked references are shown.", show_default="the first"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of them to show.")] = 10,
    output: Folder = None,
) -> None:
    """Ranks each reference against the rest of its image, by each metric (CIDEr paper, section 8).

    Shows how alike metrics rank (Spearman's rho, mean over images), and the ranked references of one image.
    """
    from capeval.formats import load_references

    given = load_references(references)
    shown = _image(given, image)
    made = _ranked(given)
    grids = {"rank-correlation": _correlations(made), "ranked-references": _table(made, shown, top)}
    figures: dict[str, Callable[[], Figure]] = {"cider-and-cider-d": lambda: _figure(made)}
    show(grids, figures, output)


def _image(references: References, wanted: str | None) -> ImageId:
    from capeval.errors import MismatchError

    if wanted is None:
        return references.image_ids[0]
    for image in references.image_ids:
        if str(image) == wanted:
            return image
    raise MismatchError(f"image {wanted!r} is not among the {len(references):,} images with references")


def _ranked(references: References) -> Ranking:
    from capeval.studies.ranking import BATCH, rank_references

    with Steps(1 + int(references.counts.sum()) // BATCH) as steps:
        steps.next("Tokenising")
        return rank_references(references, done=lambda images: steps.next(f"{images:,} images ranked"))


def _correlations(made: Ranking) -> Grid:
    """How alike each metric ranks to CIDEr, and the unigram pair of Figure 6."""
    from capeval.report.grids import Cell, Grid
    from capeval.studies.ranking import rank_correlation

    others = [name for name in made.scores if name not in ("CIDEr", "CIDEr-1", "CIDEr-D-1")]
    rows = []
    for first, second in (*(("CIDEr", name) for name in others), ("CIDEr-1", "CIDEr-D-1")):
        found = rank_correlation(made.scores[first], made.scores[second])
        rows.append(
            (
                Cell(value=f"{first}, {second}"),
                Cell(value=found.mean, low=found.low, high=found.high),
                Cell(value=found.all_references),
                Cell(value=_PAPER.get((first, second)), digits=2),
            )
        )
    columns = ("Metrics", "Rho, mean over images", "Rho, all references", "Paper")
    return Grid(columns=columns, rows=tuple(rows))


def _table(made: Ranking, image: ImageId, top: int) -> Grid:
    from capeval.report.grids import Cell, Grid
    from capeval.studies.ranking import ranked

    rows = []
    for name in made.scores:
        order = ranked(made, image, name)
        for place, (score, text) in enumerate(order[:top], start=1):
            rows.append((Cell(value=name), Cell(value=place), Cell(value=score), Cell(value=text)))
    return Grid(columns=("Metric", "Rank", "Score", "Reference"), rows=tuple(rows))


def _figure(made: Ranking) -> Figure:
    from capeval.report.studies.ranking import rank_map
    from capeval.studies.ranking import ranks

    pairs = {"CIDEr-D": "CIDEr", "CIDEr-D-1": "CIDEr-1"}
    return rank_map(
        {f"{y} against {x}": (ranks(made.scores[x]), ranks(made.scores[y])) for y, x in pairs.items()}
    )
