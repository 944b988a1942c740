"""From captions to tokens: the Penn Treebank tokenizer of the reference, without Java."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from capeval import _native
from capeval.errors import CaptionError, MismatchError, OptionError
from capeval.types import Candidates, ImageId, References

__all__ = ["TokenizedCandidates", "TokenizedReferences", "Tokenizer", "tokenize"]

Kind = Literal["ptb", "none"]
Punctuation = Literal["reference", "paper", "keep"]


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """How captions become tokens.

    Args:
        kind: `ptb` is the Penn Treebank tokenizer of Stanford CoreNLP 3.4.1, which the reference runs;
            `none` takes captions that already are tokens joined by single spaces.
        lowercase: Whether tokens are lower-cased (`ptb` only).
        punctuation: What happens to punctuation (`ptb` only). `reference` removes what the reference
            removes after lower-casing, which leaves brackets such as `-lrb-` in; `paper` removes the
            brackets too, as the paper's list says; `keep` removes nothing.

    Raises:
        OptionError: `kind` or `punctuation` is none of these.
    """

    kind: Kind = "ptb"
    lowercase: bool = True
    punctuation: Punctuation = "reference"

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise OptionError(f"'kind' must be one of {', '.join(get_args(Kind))} (got {self.kind!r})")
        if self.punctuation not in get_args(Punctuation):
            raise OptionError(
                f"'punctuation' must be one of {', '.join(get_args(Punctuation))} (got {self.punctuation!r})"
            )

    @property
    def native(self) -> _native.TokenizerOptions:
        """The options as the kernels take them."""
        return _native.TokenizerOptions(
            penn_treebank=self.kind == "ptb", lowercase=self.lowercase, punctuation=self.punctuation
        )

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        case = "lower" if self.lowercase else "cased"
        return f"ptb-3.4.1-{case}-punctuation:{self.punctuation}"


def tokenize(captions: Sequence[str], tokenizer: Tokenizer | None = None) -> list[list[str]]:
    """The tokens of each caption.

    A line end inside a caption counts as one space, as in the reference.

    Raises:
        CaptionError: A caption is not a string of Unicode characters.
    """
    if isinstance(captions, str):
        raise CaptionError("captions must be a list of strings (got one string)")
    texts = list(captions)
    for position, caption in enumerate(texts):
        if not isinstance(caption, str):
            raise CaptionError(f"caption {position} must be a string (got {type(caption).__name__})")
    try:
        return _native.tokenize(texts, (tokenizer or Tokenizer()).native)
    except UnicodeEncodeError as error:
        raise CaptionError(f"a caption holds a lone surrogate, which is no character ({error})") from None


class TokenizedReferences:
    """References tokenised once, for any number of metrics and candidates."""

    def __init__(self, references: References, tokenizer: Tokenizer | None = None) -> None:
        self.references = references
        self.tokenizer = tokenizer or Tokenizer()
        self.native = _native.TokenizedReferences(references.native, self.tokenizer.native)

    def __len__(self) -> int:
        return len(self.native)

    def texts(self, image: ImageId) -> list[str]:
        """The references of an image as tokens joined by single spaces."""
        return self.native.of(self.references.image_ids.index(image))

    def candidates(self, candidates: Candidates) -> TokenizedCandidates:
        """Tokenises candidates of some or all of the images.

        Raises:
            MismatchError: A candidate's image has no references.
        """
        return TokenizedCandidates(self, candidates)


class TokenizedCandidates:
    """Candidates in the words of their references: a row a caption, in the order given."""

    def __init__(self, references: TokenizedReferences, candidates: Candidates) -> None:
        positions = candidates.native.positions_in(references.references.native)
        unknown = np.flatnonzero(positions < 0)
        if unknown.size:
            raise MismatchError(unknown_images(candidates, references.references, unknown.tolist()))
        self.references = references
        self.native = _native.TokenizedCandidates(
            references.native, candidates.native, positions, references.tokenizer.native
        )
        self.candidates = candidates

    def __len__(self) -> int:
        return len(self.native)

    @property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The image of each row."""
        ids, counts = self.candidates.image_ids, self.candidates.counts
        if len(ids) == len(self):
            return ids
        return tuple(image for image, count in zip(ids, counts, strict=True) for _ in range(count))

    def texts(self) -> list[str]:
        """The candidates as tokens joined by single spaces."""
        return self.native.texts()


def unknown_images(candidates: Candidates, references: References, positions: list[int]) -> str:
    """A message about candidates' images, at `positions`, that have no references."""
    named = [candidates.image_ids[position] for position in positions]
    hint = ""
    ours, theirs = type(candidates.image_ids[0]), type(references.image_ids[0])
    if ours is not theirs:
        kinds = {int: "integers", str: "strings"}
        hint = f"; the candidates' image ids are {kinds[ours]}, the references' are {kinds[theirs]}"
    return f"{first_few(named)} among the candidates but not among the references{hint}"


def first_few(images: Sequence[ImageId]) -> str:
    """`image 7 is`, or `12 images are`, with the first few named."""
    if len(images) == 1:
        return f"image {images[0]!r} is"
    named = ", ".join(repr(image) for image in images[:5])
    more = ", ..." if len(images) > 5 else ""
    return f"{len(images):,} images ({named}{more}) are"
