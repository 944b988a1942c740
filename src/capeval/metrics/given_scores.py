"""Scores computed by other programs, read from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from capeval._internal.file_fingerprints import fingerprint_file
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.errors.messages import format_images
from capeval.formats.io.rows import make_line_error, read_table
from capeval.formats.io.sources import add_path_to_errors
from capeval.metrics.base import NOT_AN_OPTION, Kernel, MeanMetric, Reads
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["GivenScores", "load_given_scores"]

_IMAGE, _CAPTION = "image_id", "caption"


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenScores(MeanMetric):
    """Scores computed by another program, such as CLIPScore or the ratings of a language model.

    The corpus score is the mean over images.

    Args:
        columns: The names of the scores.
        table: The scores by image id (as text) and caption. The caption is None for all scores if they
            belong to one system.
        source: The name of the file and a fingerprint, for signatures.
        file: The path of the file, for messages; by default `source`.
        lower: Whether lower scores are better.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.metrics.given_scores import GivenScores
        >>> table = {("1", "a dog"): (0.8,), ("2", "two cats"): (0.6,)}
        >>> metric = GivenScores(columns=("CLIPScore",), table=table, source="clip.csv")
        >>> evaluate({1: ["A dog."], 2: ["Cats."]}, {1: "a dog", 2: "two cats"}, [metric]).corpus
        {'CLIPScore': 0.7}
    """

    family: ClassVar[str] = "Given scores"
    columns: tuple[str, ...] = field(metadata=NOT_AN_OPTION)
    table: Mapping[tuple[str, str | None], tuple[float, ...]] = field(metadata=NOT_AN_OPTION, repr=False)
    source: str = field(metadata=NOT_AN_OPTION)
    file: str = field(default="", metadata=NOT_AN_OPTION)
    lower: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether higher scores are better."""
        return not self.lower

    def options(self) -> tuple[str, ...]:
        """Return the file and the direction, for the signature."""
        return (f"file={self.source}", *super().options())

    @property
    def input_kind(self) -> Reads:
        """The original captions."""
        return "captions"

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return a function that finds the scores of captions.

        Raises:
            MismatchError: The function is called with captions that have no score.
        """
        by_caption = all(caption is not None for _, caption in self.table)
        captions_of: dict[str, str] = {}

        def find(candidates: TokenizedCandidates) -> FloatArray:
            images = [str(image) for image in candidates.image_ids]
            captions = candidates.captions()
            if not by_caption:
                self._check_one_system(captions_of, images, captions)
            keys = [
                (image, caption if by_caption else None)
                for image, caption in zip(images, captions, strict=True)
            ]
            self._check_complete(keys, candidates.image_ids)
            return np.array([(*self.table[key], 1.0) for key in keys]).reshape(-1, len(self.columns) + 1)

        return find

    def _check_complete(self, keys: Sequence[tuple[str, str | None]], images: Sequence[ImageId]) -> None:
        missing = [image for key, image in zip(keys, images, strict=True) if key not in self.table]
        if missing:
            raise MismatchError(
                f"{self.file or self.source}: {format_images(missing)} without a score of the caption; add a"
                " row for each caption"
            )

    def _check_one_system(
        self, captions_of: dict[str, str], images: Sequence[str], captions: Sequence[str]
    ) -> None:
        for image, caption in zip(images, captions, strict=True):
            if captions_of.setdefault(image, caption) != caption:
                raise MismatchError(
                    f"{self.file or self.source}: scores without a column 'caption' belong to one system, but"
                    f" image {image} has several captions; add the column"
                )


def load_given_scores(file: str | Path, *, lower: bool = False) -> GivenScores:
    r"""Read scores from a CSV file with the columns `image_id`, one or more scores, and usually `caption`.

    With `caption`, the file contains the scores of any number of systems.

    Args:
        file: The path of the file.
        lower: Whether lower scores are better.

    Raises:
        FormatError: A column is missing, a score is not a finite number, or a caption occurs twice with
            different scores.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.metrics.given_scores import load_given_scores
        >>> file = Path("clip.csv")
        >>> _ = file.write_text("image_id,caption,CLIPScore\n1,a dog,0.8\n")
        >>> load_given_scores(file).names
        ('CLIPScore',)
    """
    with add_path_to_errors(file):
        header, body = read_table(file)
        places = {name: place for place, name in enumerate(header)}
        names = tuple(name for name in header if name not in (_IMAGE, _CAPTION))
        if _IMAGE not in places or not names:
            message = f"the columns must be {_IMAGE!r}, {_CAPTION!r} and scores (got {', '.join(header)})"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
        table: dict[tuple[str, str | None], tuple[float, ...]] = {}
        for line, row in body:
            key = (row[places[_IMAGE]], row[places[_CAPTION]] if _CAPTION in places else None)
            scores = tuple(_parse_score(line, name, row[places[name]]) for name in names)
            if table.setdefault(key, scores) != scores:
                expected = "the scores of an earlier line with the same image and caption"
                raise make_line_error(line, expected, f"other scores of image {key[0]}")
        if not table:
            raise FormatError("the file must contain at least one score", kind=FormatErrorKind.WRONG_TYPE)
    source = fingerprint_file(file)
    return GivenScores(columns=names, table=table, source=source, file=str(file), lower=lower)


def _parse_score(line: int, name: str, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise make_line_error(line, f"a finite number as {name}", repr(text))
    return score
