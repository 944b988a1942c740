"""Arguments and options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval._internal.options import Argument, Level, Option, Samples, Seed, check_options
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.metrics.base import Metric
    from capeval.tokenizers import Tokenizer

__all__ = [
    "BenchmarkName",
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
    "ReferencesOrBenchmark",
    "Replayed",
    "Samples",
    "Scale",
    "Seed",
    "SpiceLongest",
    "Tokenized",
    "TokenizerSpec",
    "check_scale",
    "create_tokenizer",
    "metric_names",
]


OutputFormat = Literal["table", "json", "csv", "markdown", "latex"]


Context = Literal["file", "caption"]


Unmatched = Literal["error", "skip"]


ReferencesFile = Annotated[
    Path, Argument(metavar="REFERENCES", help="Reference file (- for standard input).")
]
ReferencesOrBenchmark = Annotated[
    Path | None,
    Argument(
        metavar="REFERENCES",
        help="Reference file (- for standard input).",
        replaced_by="benchmark",
        optional_with="cite",
    ),
]
BenchmarkName = Annotated[
    str | None,
    Option(
        "--benchmark",
        "-t",
        metavar="NAME",
        help="References of a named benchmark, instead of a file; run 'capeval data list' for the names.",
    ),
]
ConstraintsFile = Annotated[
    Path | None,
    Option(help="File of words that captions must mention, from 'capeval baselines constraints'."),
]
Metrics = Annotated[
    Sequence[str] | None,
    Option(
        "--metrics",
        "-m",
        metavar="NAME,...",
        help="Metrics, comma-separated or repeated; run 'capeval metrics' for the list. MODULE:CLASS is your"
        " own metric, and FILE.csv contains scores.",
        show_default="metrics of the benchmark or of the COCO server",
    ),
]
Output = Annotated[Path | None, Option("--output", "-o", help="Write the result to this file.")]
FormatOption = Annotated[OutputFormat, Option("--format", "-f", help="Output format.")]
SpiceLongest = Annotated[
    int | None,
    Option(
        "--spice-longest",
        min=1,
        max=800,
        metavar="N",
        help="Maximum sentence length for SPICE, in tokens, at most 800; time grows with its cube.",
        show_default="400",
    ),
]
Scale = Annotated[
    Literal["1", "100"], Option("--scale", help="Show scores times 100, with one decimal, in tables.")
]
Pictures = Annotated[
    str | None,
    Option(
        "--images",
        metavar="PATTERN|FOLDER",
        help="Pictures to show: URLs or paths with {id} or {file_name}, or a folder.",
    ),
]
TokenizerSpec = Annotated[
    str | None,
    Option(
        "--tokenizer",
        metavar="NAME|MODULE:NAME",
        help="Registered tokenizer, or a function of your own from a caption to its tokens.",
        show_default="reference implementation",
    ),
]
ContextOption = Annotated[
    Context | None,
    Option(
        "--context",
        help="Tokenize captions as consecutive lines of one file, like the reference, or independently.",
        show_default="file; caption for folders of shards",
    ),
]
Replayed = Annotated[
    Literal["pycocoevalcap-1.2"] | None,
    Option("--replay", help="Also show the scores of pycocoevalcap 1.2, with its error after line ends."),
]
Tokenized = Annotated[bool, Option("--tokenized", help="Read captions as tokens separated by single spaces.")]


_PICKLES = (".p", ".pkl", ".pickle")


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Columns of the input files, and splits of the references."""

    id_column: Annotated[
        str | None,
        Option(metavar="NAME", help="Column of image ids in CSV and similar files.", show_default="by name"),
    ] = None
    caption_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of captions.", show_default="by name")
    ] = None
    reference_id_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of image ids in REFERENCES, if different.")
    ] = None
    reference_caption_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of captions in REFERENCES, if different.")
    ] = None
    split: Annotated[
        str | None,
        Option(metavar="NAME,...", help="Splits of REFERENCES to use, comma-separated; by default all."),
    ] = None
    missing: Annotated[
        Unmatched, Option(help="For images without result: an error, or score the other images only.")
    ] = "error"
    extra: Annotated[
        Unmatched, Option(help="For results without references: an error, or skip these results.")
    ] = "error"

    image_info: Annotated[
        Path | None,
        Option(help="Image list (image_info) with file names, to match results and references by these."),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits; empty for all splits."""
        return () if self.split is None else tuple(part.strip() for part in self.split.split(","))


@dataclass(frozen=True, kw_only=True)
class FrequencyOptions:
    """Options for a file of document frequencies.

    Raises:
        OptionError: The number of images is set, and the file is not a pickle.
    """

    frequencies: Annotated[
        Path | None,
        Option(
            help="Document frequencies for CIDEr-D and other metrics that use them: captions to count,"
            " .npz, or a pickle.",
            show_default="references",
        ),
    ] = None
    frequencies_images: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Number of counted images, if the pickle does not contain it."),
    ] = None

    def __post_init__(self) -> None:
        if self.frequencies_images is not None and not self.is_pickle:
            raise OptionError(
                f"--frequencies-images requires --frequencies with a pickle ({', '.join(_PICKLES)})"
                f" (got {'no file' if self.frequencies is None else self.frequencies})"
            )

    @property
    def is_pickle(self) -> bool:
        """Whether the file is a pickle."""
        return self.frequencies is not None and self.frequencies.name.lower().endswith(_PICKLES)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Options of evaluation: metrics, input files and document frequencies."""

    metrics: Metrics = None
    reading: InputOptions = field(default_factory=InputOptions)
    counts: FrequencyOptions = field(default_factory=FrequencyOptions)
    spice_longest: SpiceLongest = None

    def __post_init__(self) -> None:
        # Checked here, so that an unknown metric is reported before files are read.
        _resolve_metrics(self.metrics)

    @property
    def files(self) -> list[Path]:
        """The input files other than references and results."""
        return [path for path in (self.counts.frequencies,) if path is not None]


def check_scale(scale: str, form: str) -> None:
    """Check that `--scale` applies to the output format.

    Raises:
        OptionError: The format contains scores in full precision.
    """
    if scale != "1" and form in ("json", "csv"):
        raise OptionError(f"--scale applies to the formats table, markdown and latex (got {form})")


def create_tokenizer(
    spec: str | None, *, tokenized: bool = False, context: Context | None = None
) -> Tokenizer:
    """Return the tokenizer for `--tokenizer`, `--tokenized` and `--context`.

    The default is the tokenizer of the reference implementation.

    Raises:
        OptionError: The options can't be combined, or there is no such tokenizer.
    """
    from capeval.tokenizers import Tokenizer

    if context == "caption" and (tokenized or spec is not None):
        other = "--tokenized" if tokenized else "--tokenizer"
        raise OptionError(f"--context is an option of the reference tokenizer; omit it with {other}")
    if spec is None:
        return Tokenizer(kind="none") if tokenized else Tokenizer(context=context or "file")
    if tokenized:
        raise OptionError("--tokenized and --tokenizer can't be combined")
    from capeval.cli.toolkit.imported_tokenizers import load_tokenizer

    return load_tokenizer(spec)


def metric_names(values: Sequence[str] | None) -> tuple[str | Metric, ...]:
    """Return the metrics in `--metrics`, and print a note if a name means a metric with another name.

    Metrics of the user's modules and files of scores are objects, and other metrics are names. Without names,
    these are the default metrics (`DefaultMetrics`).

    Raises:
        OptionError: A name is unknown, or two metrics compute scores with the same name.
        FormatError: A file of scores is invalid.
        OSError: A file of scores can't be read.
    """
    from capeval.metrics.registry import list_alias_notes

    metrics = _resolve_metrics(values)
    for note in list_alias_notes(each for each in metrics if isinstance(each, str)):
        print(f"capeval: note: {note}", file=sys.stderr)
    return metrics


def _resolve_metrics(values: Sequence[str] | None) -> tuple[str | Metric, ...]:
    from capeval.cli.toolkit.imported_metrics import find_metric
    from capeval.metrics.options import split_metrics
    from capeval.metrics.registry import DEFAULT, DefaultMetrics, resolve

    values = values or DEFAULT
    if isinstance(values, DefaultMetrics):
        return values
    names = [name.strip() for value in values for name in split_metrics(value)]
    metrics = tuple(find_metric(name) for name in names)
    resolve(metrics)
    return metrics
