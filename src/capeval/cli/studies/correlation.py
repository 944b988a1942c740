"""`capeval study correlation`: how well metrics agree with people's ratings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import Level, Metrics, Samples, Seed, metric_names
from capeval.cli.studies.output import Folder, show

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "correlation"
EXAMPLES = examples(
    "capeval study correlation references.json ratings.csv",
    "capeval study correlation Flickr8k.token.txt ExpertAnnotations.txt --flickr8k -o figures",
    "capeval study correlation references.json ratings.csv --metrics METEOR,CIDEr-D --against CIDEr-D",
)


class Frequencies(StrEnum):
    """Where document frequencies come from."""

    RATINGS = "ratings"
    REFERENCES = "references"


class Raters(StrEnum):
    """What an observation is."""

    EACH = "each"
    MEAN = "mean"


def run(
    references: Annotated[
        Path, typer.Argument(metavar="REFERENCES", help="File of references.", show_default=False)
    ],
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS",
            help="CSV with columns image_id, caption, rating... and, if known, system.",
            show_default=False,
        ),
    ],
    flickr8k: Annotated[
        bool, typer.Option("--flickr8k", help="The files are those of Flickr8K-Expert, as published.")
    ] = False,
    metrics: Metrics = None,
    frequencies: Annotated[
        Frequencies, typer.Option(help="CIDEr counts documents once a rated caption, or once an image.")
    ] = Frequencies.RATINGS,
    raters: Annotated[
        Raters, typer.Option(help="Each rating is an observation, or the mean of a caption's.")
    ] = Raters.EACH,
    against: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Test every other metric against this one.", show_default=False),
    ] = None,
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Correlates metrics with ratings, caption by caption and, where systems are known, by system."""
    from capeval.cli.needs import prepare_needs
    from capeval.formats import load_references
    from capeval.formats.ratings import load_flickr8k_expert, load_ratings
    from capeval.report.studies.correlation import correlation_table, difference_table, dots
    from capeval.studies.correlation import correlate, score_ratings

    prepare_needs(metric_names(metrics))
    with Steps(4) as steps:
        steps.next("Reading")
        if flickr8k:
            given, rated = load_flickr8k_expert(ratings, references)
        else:
            given, rated = load_references(references), load_ratings(ratings)
        steps.next("Scoring")
        scored = score_ratings(given, rated, metric_names(metrics), frequencies=frequencies.value)
        grids, figures = {}, {}
        for kind in ("segment", "system") if rated.systems else ("segment",):
            steps.next(f"Resampling, {kind} level")
            found = correlate(
                scored, level=kind, raters=raters.value, samples=samples, confidence=level, seed=seed
            )
            grids[f"{kind}-level"] = correlation_table(found)
            title = f"Correlation with ratings, {kind} level ({found.observations:,} observations)"
            figures[f"{kind}-level"] = lambda found=found, title=title: dots(found, title)
            if against is not None:
                pairs = {
                    (name, against): found.compare(name, against) for name in found.values if name != against
                }
                grids[f"{kind}-level-differences"] = difference_table(pairs)
    show(grids, figures, output)
