"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval._internal.options import Argument, Level, Option, Samples, Seed
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.tokenizers import Tokenizer

__all__ = [
    "ConstraintsFile",
    "Context",
    "ContextOption",
    "EvaluationOptions",
    "FormatOption",
    "FrequencyOptions",
    "InputOptions",
    "Level",
    "Metrics",
    "Output",
    "OutputFormat",
    "Pictures",
    "ReferencesFile",
    "Samples",
    "Seed",
    "SpiceLongest",
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
    Path | None, Option(help="Words that captions must mention, from 'capeval baselines constraints'.")
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
Pictures = Annotated[
    str | None,
    Option(
        "--images",
        metavar="PATTERN|FOLDER",
        help="Where the report finds pictures: addresses or paths with {id} or {file_name}, or a folder.",
    ),
]
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
        help="What a caption is tokenized in: the lines of one file, as by the reference; or alone.",
        show_default="file; caption for folders of shards",
    ),
]
Tokenized = Annotated[
    bool, Option("--tokenized", help="Captions are tokens already, joined by single spaces.")
]


_PICKLES = (".p", ".pkl", ".pickle")


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Columns of the files, and splits of the references."""

    id_column: Annotated[
        str | None,
        Option(
            metavar="NAME", help="Column of image ids, in CSV and the like.", show_default="found by name"
        ),
    ] = None
    caption_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of captions.", show_default="found by name")
    ] = None
    reference_id_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of image ids in REFERENCES, if it is different.")
    ] = None
    reference_caption_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of captions in REFERENCES, if it is different.")
    ] = None
    split: Annotated[
        str | None, Option(metavar="NAME,...", help="Splits of REFERENCES, if it has several.")
    ] = None

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the names of the splits; none for all."""
        return () if self.split is None else tuple(part.strip() for part in self.split.split(","))


@dataclass(frozen=True, kw_only=True)
class FrequencyOptions:
    """A file of document frequencies.

    Raises:
        OptionError: There is a number of images, and no pickle.
    """

    frequencies: Annotated[
        Path | None,
        Option(
            help="Document frequencies for CIDEr and CIDEr-D: captions to count, .npz, or a pickle.",
            show_default="the references",
        ),
    ] = None
    frequencies_images: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Number of images counted, for a pickle that doesn't contain it."),
    ] = None

    def __post_init__(self) -> None:
        if self.frequencies_images is not None and not self.is_pickle:
            raise OptionError(
                f"--frequencies-images is for a pickle, a file that ends in {', '.join(_PICKLES)}"
                f" (got {'no file' if self.frequencies is None else self.frequencies})"
            )

    @property
    def is_pickle(self) -> bool:
        """Whether the file is a pickle."""
        return self.frequencies is not None and self.frequencies.name.lower().endswith(_PICKLES)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Metrics, and the options of an evaluator."""

    metrics: Metrics = None
    reading: InputOptions = field(default_factory=InputOptions)
    counts: FrequencyOptions = field(default_factory=FrequencyOptions)
    spice_longest: SpiceLongest = None

    def __post_init__(self) -> None:
        # Here, so that an unknown metric is an error before files are read.
        metric_names(self.metrics)

    @property
    def files(self) -> list[Path]:
        """Return the input files that contain no captions."""
        return [path for path in (self.counts.frequencies,) if path is not None]


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
