"""Replay of the reference implementation and its error after line ends in captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Literal, get_args

import numpy as np

from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import CapevalWarning, OptionError
from capeval.errors.messages import shorten
from capeval.tokenizers import Tokenizer

__all__ = [
    "LineEnds",
    "Program",
    "are_equal",
    "check_replay",
    "describe_replay",
    "find_line_ends",
    "shifts_later_captions",
    "warn_about_line_ends",
]

Program = Literal["pycocoevalcap-1.2"]
"""The programs with a replay."""

_LINE_END = "a line end other than \\n, such as \\r"
# `\r` at the end of a caption and the `\n` after it are one line end, which shifts nothing.
_SHIFTING = re.compile("[\x0b\x0c\u2028\u2029]|\r(?!\\Z)")


@dataclass(frozen=True, kw_only=True)
class LineEnds:
    r"""Captions with a line end other than `\n`, which shifts later captions in pycocoevalcap 1.2.

    Attributes:
        references: The number of these references.
        candidates: The number of these candidates.
        example: The image of the first of them; None if there are none.
    """

    references: int = 0
    candidates: int = 0
    example: ImageId | None = None

    @property
    def description(self) -> str:
        """The numbers of captions and an example, as a main clause."""
        sides = {"reference": self.references, "candidate": self.candidates}
        counts = [f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in sides.items() if count]
        if self.example is None:
            return "no caption contains a line end that shifts later captions"
        is_single = self.references + self.candidates == 1
        example = f"{'' if is_single else 'first: '}image {shorten(self.example)}"
        return f"{' and '.join(counts)} ({example}) {'contains' if is_single else 'contain'} {_LINE_END}"


def describe_replay(program: Program, line_ends: LineEnds, *, is_equal: bool) -> str:
    """Return the footnote for tables: the reason for different scores, or for equal ones."""
    found = f"Replay of {program}: {line_ends.description}"
    if is_equal:
        return f"{found}; the scores are equal."
    if line_ends.example is None:
        return (
            f"{found}, but its tokenizer reads a tag with an open quote across several captions; capeval ends"
            " every token with its caption."
        )
    return (
        f"{found}, so later captions are scored with the tokens of other captions; capeval reads such a line"
        " end as a space."
    )


def check_replay(program: str, tokenizer: Tokenizer) -> Program:
    """Return the program; check that the tokenizer is the reference's.

    Raises:
        OptionError: The program is unknown, or the tokenizer is a different one.
    """
    validate_choice("replay", program, get_args(Program))
    if tokenizer != Tokenizer():
        raise OptionError(
            f"a replay requires the tokenizer of the reference, {Tokenizer()} (got {tokenizer}); omit the"
            " tokenizer and its options, or the replay"
        )
    return "pycocoevalcap-1.2"


def find_line_ends(references: References | None, candidates: Candidates) -> LineEnds:
    r"""Find the captions with a line end that shifts later ones: all except `\n`, and `\r` at the end."""
    found = [_find(captions) for captions in (references, candidates) if captions is not None]
    example = next((image for _, image in found if image is not None), None)
    count = found[0][0] if references is not None else 0
    return LineEnds(references=count, candidates=found[-1][0], example=example)


def shifts_later_captions(text: str) -> bool:
    """Return whether a caption has a line end that shifts later captions in pycocoevalcap 1.2."""
    return _SHIFTING.search(text) is not None


def _find(captions: References | Candidates) -> tuple[int, ImageId | None]:
    rows = captions.native.line_ends()
    ends = np.cumsum(captions.counts)
    images = np.searchsorted(ends, rows, side="right")
    # Counted from the end of the image's captions, so that the position is negative.
    positions = zip(images.tolist(), (rows - ends[images]).tolist(), strict=True)
    found = [image for image, place in positions if shifts_later_captions(captions.native.of(image)[place])]
    return len(found), captions.image_ids[found[0]] if found else None


def warn_about_line_ends(line_ends: LineEnds, tokenizer: Tokenizer) -> None:
    """Warn that pycocoevalcap would compute different scores, if the scores are meant to equal its scores."""
    if line_ends.example is None or tokenizer != Tokenizer():
        return
    warnings.warn(
        f"{line_ends.description}, which is read as a space;"
        " pycocoevalcap 1.2 gives later captions the tokens of other captions; to show its scores too, use"
        " replay='pycocoevalcap-1.2' (on the command line: capeval score --replay pycocoevalcap-1.2)",
        CapevalWarning,
        stacklevel=3,
    )


def are_equal(scores: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return whether all scores are equal; two missing scores (NaN) are."""
    pairs = [(score, others[name]) for name, score in scores.items()]
    return all(one == other or (isnan(one) and isnan(other)) for one, other in pairs)
