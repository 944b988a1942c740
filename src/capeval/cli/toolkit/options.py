"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval._internal.options import Argument, Level, Option, Samples, Seed
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.tokenizers import Tokenizer

__all__ = [
    "CaptionColumn",
    "ConstraintsFile",
    "Context",
    "ContextOption",
    "FormatOption",
    "Frequencies",
    "FrequenciesImages",
    "IdColumn",
    "Level",
    "Metrics",
    "Output",
    "OutputFormat",
    "ReferenceCaptionColumn",
    "ReferenceIdColumn",
    "ReferencesFile",
    "Samples",
    "Seed",
    "SpiceLongest",
    "Split",
    "Tokenized",
    "TokenizerSpec",
    "metric_names",
    "tokenizer_of",
]


OutputFormat = Literal["table", "json", "csv", "markdown", "latex"]


Context = Literal["file", "caption"]


ReferencesFile = Annotated[
    Path, Argument(metavar="REFERENCES", help="File of references; - is standard input.")
]
ConstraintsFile = Annotated[
    Path | None, Option(help="What captions shall mention, from 'capeval baselines constraints'.")
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
Output = Annotated[Path | None, Option("--output", "-o", help="Write to this file.")]
FormatOption = Annotated[OutputFormat, Option("--format", "-f", help="Format of the result.")]
Frequencies = Annotated[
    Path | None,
    Option(
        "--frequencies",
        help="Document frequencies for CIDEr and CIDEr-D: captions to count, .npz, or a pickle.",
        show_default="the references",
    ),
]
FrequenciesImages = Annotated[
    int | None, Option(min=1, metavar="N", help="The images counted, for a pickle that doesn't say it.")
]
IdColumn = Annotated[
    str | None,
    Option(metavar="NAME", help="Column of image ids, in CSV and the like.", show_default="found by name"),
]
CaptionColumn = Annotated[
    str | None, Option(metavar="NAME", help="Column of captions.", show_default="found by name")
]
ReferenceIdColumn = Annotated[
    str | None, Option(metavar="NAME", help="Column of image ids in REFERENCES, if it is another.")
]
ReferenceCaptionColumn = Annotated[
    str | None, Option(metavar="NAME", help="Column of captions in REFERENCES, if it is another.")
]
SpiceLongest = Annotated[
    int | None,
    Option(
        "--spice-longest",
        min=1,
        max=400,
        metavar="N",
        help="Longest sentence that SPICE parses, in tokens, at most 400; time grows with its cube.",
        show_default="120",
    ),
]
Split = Annotated[str | None, Option(metavar="NAME,...", help="Splits of REFERENCES, if it has several.")]
TokenizerSpec = Annotated[
    str | None,
    Option(
        "--tokenizer",
        metavar="NAME|MODULE:NAME",
        help="A registered tokenizer, or your own: a function from a caption to its tokens.",
        show_default="the reference's",
    ),
]
ContextOption = Annotated[
    Context | None,
    Option(
        "--context",
        help="What a caption is tokenised in: the lines of one file, as by the reference; or alone.",
        show_default="file; caption for folders of shards",
    ),
]
Tokenized = Annotated[
    bool, Option("--tokenized", help="Captions are tokens already, joined by single spaces.")
]


def tokenizer_of(spec: str | None, *, tokenized: bool = False, context: Context | None = None) -> Tokenizer:
    """The tokenizer that `--tokenizer`, `--tokenized` and `--context` ask for; the reference's by default.

    Raises:
        OptionError: Options are given that can't be given together, or there is no such tokenizer.
    """
    from capeval.tokenizers import Tokenizer

    if context == "caption" and (tokenized or spec is not None):
        other = "--tokenized" if tokenized else "--tokenizer"
        raise OptionError(f"--context is of the reference's tokenizer, and can't be given with {other}")
    if spec is None:
        return Tokenizer(kind="none") if tokenized else Tokenizer(context=context or "file")
    if tokenized:
        raise OptionError("--tokenized and --tokenizer can't be given together")
    from capeval.cli.toolkit.imported_tokenizers import load_tokenizer

    return load_tokenizer(spec)


def metric_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """The names in `--metrics`.

    Raises:
        OptionError: A name is not known, or two give scores of the same name.
    """
    from capeval.metrics.options import split_metrics
    from capeval.metrics.registry import DEFAULT, resolve

    names = tuple(name.strip() for value in values or DEFAULT for name in split_metrics(value))
    resolve(names)
    return names
