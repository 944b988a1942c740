"""From captions to tokens: the Penn Treebank tokenizer of the reference, without Java."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval.checks import checked_choice, checked_flag
from capeval.errors import CaptionError, MismatchError, OptionError
from capeval.messages import first_few, id_types
from capeval.types import Candidates, Digest, ImageId, References, ReferencesLike

__all__ = ["TokenizedCandidates", "TokenizedReferences", "Tokenizer", "tokenize", "tokenized"]

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
        OptionError: An option has another value.
    """

    kind: Kind = "ptb"
    lowercase: bool = True
    punctuation: Punctuation = "reference"

    def __post_init__(self) -> None:
        checked_choice("kind", self.kind, get_args(Kind))
        checked_choice("punctuation", self.punctuation, get_args(Punctuation))
        checked_flag("lowercase", self.lowercase)

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
        OptionError: `tokenizer` is not a `Tokenizer`.
    """
    if isinstance(captions, str):
        raise CaptionError("captions must be a list of strings (got one string)")
    if isinstance(captions, bytes | Mapping | Set) or not isinstance(captions, Iterable):
        raise CaptionError(f"captions must be a list of strings (got {type(captions).__name__})")
    texts = list(captions)
    for position, caption in enumerate(texts):
        if not isinstance(caption, str):
            raise CaptionError(f"caption {position} must be a string (got {type(caption).__name__})")
    try:
        return _native.tokenize(texts, _checked(tokenizer).native)
    except UnicodeEncodeError as error:
        raise CaptionError(f"a caption holds a lone surrogate, which is no character ({error})") from None


def _checked(tokenizer: Tokenizer | None) -> Tokenizer:
    if tokenizer is None:
        return Tokenizer()
    if not isinstance(tokenizer, Tokenizer):
        raise OptionError(
            f"'tokenizer' must be a Tokenizer, such as Tokenizer(kind='ptb') (got {tokenizer!r})"
        )
    return tokenizer


def tokenized(
    references: ReferencesLike | TokenizedReferences, tokenizer: Tokenizer | None
) -> TokenizedReferences:
    """References as tokens; already tokenised ones are returned unchanged.

    Raises:
        CaptionError: The references are not captions by image.
        OptionError: `tokenizer` is not a `Tokenizer`, or not that of tokenised references.
    """
    if not isinstance(references, TokenizedReferences):
        return TokenizedReferences(References(references), tokenizer)
    if tokenizer is not None and _checked(tokenizer) != references.tokenizer:
        raise OptionError(
            f"'tokenizer' must be the one the references were tokenised with, {references.tokenizer}"
            f" (got {tokenizer})"
        )
    return references


class TokenizedReferences:
    """References tokenised once, for any number of metrics and candidates.

    A pickle of them has the captions, which are tokenised again when it is loaded.
    """

    def __init__(self, references: References, tokenizer: Tokenizer | None = None) -> None:
        self.references = references
        self.tokenizer = _checked(tokenizer)
        # Shared by all signatures, so that it is computed once.
        self.digest = Digest(references)
        self.native = _native.TokenizedReferences(references.native, self.tokenizer.native)

    def __len__(self) -> int:
        return len(self.native)

    def __reduce__(self) -> tuple[type[TokenizedReferences], tuple[References, Tokenizer]]:
        return type(self), (self.references, self.tokenizer)

    def texts(self, image: ImageId) -> list[str]:
        """The references of an image as tokens joined by single spaces; `references` has them as written.

        Raises:
            CaptionError: There is no such image.
        """
        return self.native.of(self.references.position(image))

    def candidates(self, candidates: Candidates) -> TokenizedCandidates:
        """Tokenises candidates of some or all of the images.

        Raises:
            MismatchError: A candidate's image has no references.
        """
        return TokenizedCandidates(self, candidates)


class TokenizedCandidates:
    """Candidates tokenised with the vocabulary of their references: one row for each caption, in order."""

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

    def __reduce__(self) -> tuple[type[TokenizedCandidates], tuple[TokenizedReferences, Candidates]]:
        return type(self), (self.references, self.candidates)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The image of each row."""
        ids, counts = self.candidates.image_ids, self.candidates.counts
        if len(ids) == len(self):
            return ids
        return tuple(image for image, count in zip(ids, counts, strict=True) for _ in range(count))

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row's image among the references."""
        positions = self.candidates.native.positions_in(self.references.references.native)
        return np.repeat(positions, self.candidates.counts)

    def texts(self) -> list[str]:
        """The candidates as tokens joined by single spaces."""
        return self.native.texts()

    def captions(self) -> list[str]:
        """The candidates as they were written."""
        return [caption for captions in self.candidates.values() for caption in captions]


def unknown_images(candidates: Candidates, references: References, positions: list[int]) -> str:
    """The message about images of candidates, at `positions`, that have no references."""
    images = [candidates.image_ids[position] for position in positions]
    types = id_types(images[0], references.image_ids[0])
    return f"{first_few(images)} among the candidates but not among the references{types}"
