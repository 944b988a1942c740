"""Input files of commands: references and results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from capeval.cli.toolkit.options import EvaluationOptions, InputOptions
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.columns import Columns, Role
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.errors.messages import RESULTS_AS_REFERENCES, SWAPPED
from capeval.formats import LIMIT, load_candidates, load_references
from capeval.formats.caption_files import read_references
from capeval.formats.images import load_image_names
from capeval.formats.io.sources import File, read_bounded
from capeval.scoring.matching import match_ids

if TYPE_CHECKING:
    from capeval.datasets.benchmark_types import Benchmark

__all__ = [
    "CaptionReader",
    "add_hint",
    "apply_listed_ids",
    "are_folders",
    "candidates_from",
    "get_path",
    "is_standard_input",
    "open_input",
    "place",
    "references_from",
]

_STANDARD_INPUT = "standard input"


def place(path: Path) -> str:
    """Return the name of a file for messages."""
    return _STANDARD_INPUT if is_standard_input(path) else str(path)


def are_folders(references: Path, results: Sequence[Path]) -> bool:
    """Return whether the inputs are folders, not files.

    Raises:
        OptionError: Some inputs are folders and some are files.
    """
    given = [path.is_dir() for path in (references, *results)]
    if any(given) and not all(given):
        folder = next(path for path in (references, *results) if path.is_dir())
        raise OptionError(
            f"references and results must all be files, or all be folders (got the folder {folder})"
        )
    return all(given)


def references_from(path: Path) -> References:
    """Load references from a file; `-` is standard input."""
    file, name = open_input(path)
    return load_references(file, name=name)


def candidates_from(path: Path) -> Candidates:
    """Load candidates from a file; `-` is standard input."""
    file, name = open_input(path)
    return load_candidates(file, name=name)


def get_path(path: Path | None) -> Path:
    """Return the path of a file that is missing only if another option replaces it."""
    assert path is not None  # noqa: S101 - the command line requires the file otherwise.
    return path


class CaptionReader:
    """Reader of references and results.

    Args:
        options: The columns of the files, and the splits of the references.
    """

    def __init__(self, options: InputOptions = InputOptions()) -> None:  # noqa: B008 - it is immutable.
        self.options = options

    @property
    def reference_columns(self) -> Columns:
        """The columns of reference files."""
        return Columns(
            role=Role.REFERENCES,
            id_column=self.options.reference_id_column,
            caption_column=self.options.reference_caption_column,
            # Both files often have the same columns.
            other_id_column=self.options.id_column,
            other_caption_column=self.options.caption_column,
        )

    @property
    def columns(self) -> Columns:
        """The columns of result files."""
        return Columns(
            role=Role.CANDIDATES, id_column=self.options.id_column, caption_column=self.options.caption_column
        )

    def check(self, references: Path | None, results: Sequence[Path]) -> None:
        """Check that the files and the options are consistent.

        Raises:
            OptionError: Two files are standard input, or one file contains references and results, and the
                column of references is not set.
        """
        paths = [*results, *([] if references is None else [references])]
        if sum(map(is_standard_input, paths)) > 1:
            raise OptionError("standard input ('-') can be used for only one file (got it for two)")
        if (
            references is None
            or self.options.caption_column is None
            or self.options.reference_caption_column is not None
        ):
            return
        if any(path.exists() and references.exists() and path.samefile(references) for path in results):
            raise OptionError(
                f"{references} contains references and results; set the column of references with "
                "--reference-caption-column"
            )

    @property
    def benchmark(self) -> Benchmark | None:
        """The benchmark with the references; None if they are in a file."""
        return None

    def get_notes(self, scored: Iterable[ImageId]) -> Sequence[str]:  # noqa: ARG002
        """Return footnotes about the references of the scored images."""
        return ()

    def get_title(self, path: Path | None) -> str:
        """Return a name for the references, for tables: the name of their file."""
        return get_path(path).name

    def get_subsets(self, captions: References) -> dict[str, list[ImageId]]:  # noqa: ARG002
        """Return the subsets that papers report; none for a file."""
        return {}

    def choose_metrics(self, options: EvaluationOptions) -> EvaluationOptions:
        """Return the options with the metrics of a benchmark; unchanged for a file."""
        return options

    def references(self, path: Path | None) -> References:
        """Load references; the error for a result file asks if the files were swapped."""
        path = get_path(path)
        file, name = open_input(path)
        try:
            return self._references(file, name)
        except FormatError as error:
            raise add_hint(error, partial(load_candidates, file, name=name), RESULTS_AS_REFERENCES) from None

    def candidates(self, path: Path, references: References | None = None) -> Candidates:
        """Load candidates; the error for a reference file asks if the files were swapped."""
        return self.candidates_in(*open_input(path), references)

    def candidates_in(self, file: File, name: str, references: References | None = None) -> Candidates:
        """Load candidates like `candidates`, from an opened file."""
        try:
            return load_candidates(
                file, name=name, id_column=self.options.id_column, caption_column=self.options.caption_column
            )
        except FormatError as error:
            if references is None or references.counts.max() > 1:
                raise
            raise add_hint(error, partial(load_references, file, name=name), SWAPPED) from None

    def _references(self, file: File, name: str) -> References:
        found = read_references(file, self.reference_columns, name=name, split=self.options.splits)
        return found if self.options.image_info is None else apply_listed_ids(self.options.image_info, found)


def apply_listed_ids(image_info: Path, references: References) -> References:
    """Return references with the ids of an image list.

    Raises:
        MismatchError: The list doesn't contain all images of the references.
    """
    names = load_image_names(image_info)
    _, ids = match_ids(list(names), references.image_ids, names=lambda: names)
    if not ids:
        listed, known = next(iter(names.items())), references.image_ids[0]
        raise MismatchError(
            f"{image_info}: the list must contain all images of the references; it has ids such as"
            f" {listed[0]!r} or {listed[1]!r}, and the references have ids such as {known!r}"
        )
    return References({ids[image]: captions for image, captions in references.items()})


def add_hint(error: FormatError, otherwise: Callable[[], object], hint: str) -> FormatError:
    """Return the error with a hint if the file can be read as the other kind of file."""
    with suppress(FormatError):
        otherwise()
        return error.with_hint(hint)
    return error


def is_standard_input(path: Path) -> bool:
    """Return whether a path is `-`."""
    return str(path) == "-"


def open_input(path: Path) -> tuple[File, str]:
    """Return the file to read, and its name if it has no path.

    Standard input and named pipes are read completely, since they can be read only once.
    """
    if not is_standard_input(path):
        if path.is_fifo():
            with path.open("rb") as file:
                return read_bounded(file, LIMIT, "the file"), str(path)
        return path, ""
    if sys.stdin is None:
        raise OptionError("standard input is closed (got '-' for a file)")
    return read_bounded(sys.stdin.buffer, LIMIT, "the file"), _STANDARD_INPUT
