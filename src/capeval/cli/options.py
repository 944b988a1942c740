"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click

from capeval.cli.commands import Argument, Option

__all__ = [
    "Format",
    "FormatOption",
    "Frequencies",
    "FrequenciesImages",
    "Level",
    "Metrics",
    "Output",
    "ReferencesFile",
    "Samples",
    "Seed",
    "metric_names",
]


class Format(StrEnum):
    """The formats of a result."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def _inside(level: float) -> float:
    # Typer's own limits include both ends, and there is no interval for a level of 0 or 1.
    if not 0 < level < 1:
        raise click.BadParameter(f"{level} is not between 0 and 1.")
    return level


ReferencesFile = Annotated[
    Path, Argument(metavar="REFERENCES", help="File of references.", show_default=False)
]
Metrics = Annotated[
    list[str] | None,
    Option(
        "--metrics",
        "-m",
        metavar="NAME,...",
        help="Metrics, separated by commas or repeated; 'capeval metrics' lists them.",
        show_default="those of the COCO server",
    ),
]
Output = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write to this file.", show_default=False),
]
FormatOption = Annotated[Format, Option("--format", "-f", help="Format of the result.")]
Frequencies = Annotated[
    Path | None,
    Option(
        "--frequencies",
        metavar="FILE",
        help="Document frequencies for CIDEr and CIDEr-D: captions to count, .npz, or a pickle.",
        show_default="the references",
    ),
]
FrequenciesImages = Annotated[
    int | None,
    Option(
        min=1, metavar="N", help="The images counted, for a pickle that doesn't say it.", show_default=False
    ),
]
Samples = Annotated[int, Option(min=1, help="Resamples of the images.")]
Level = Annotated[float, Option(callback=_inside, help="Confidence level of intervals, between 0 and 1.")]
Seed = Annotated[int, Option(min=0, help="Seed of random draws.")]


def metric_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """The names in `--metrics`.

    Raises:
        OptionError: A name is not known, or two give scores of the same name.
    """
    from capeval.metrics.registry import DEFAULT, resolve

    names = tuple(name.strip() for value in values or DEFAULT for name in value.split(","))
    resolve(names)
    return names
